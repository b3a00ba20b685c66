"""Write the sentences of the typed reasons that explain a verdict."""

from __future__ import annotations

import math
from statistics import median
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from service.domain.project.policy import MOST_PAIRS
from service.domain.values.identity import Side
from service.domain.values.text import change, counted, duration, interval, share, signed_percent
from service.domain.verdict.calibration.evidence import BEYOND_LIMIT, NOISE_LIMIT
from service.domain.verdict.inference.reasons import NOT_BY_PAIRS, OF_PATCH, WITHHOLDING, Reason, ReasonKind
from service.domain.wording.outlook import DOCTOR

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

SAME_PROGRAM: Final = "the program is identical on both sides"
BLIND_COUNTS: Final = "instruction counts show neither contention nor cache misses"
_UNITS: Final = MappingProxyType({"items_per_second": "item", "bytes_per_second": "byte"})


def text_of(reasons: Iterable[Reason]) -> str:
    """Join the sentences of a comparison's reasons on one line; names of programs are not sanitised."""
    return "; ".join(
        f"no vote: {sentence(each)}" if each.kind in WITHHOLDING else sentence(each) for each in reasons
    )


def clause_of(reasons: Sequence[Reason]) -> str:
    """Write the one reason that a reader of an undecided row needs: what forbids a +1, or would decide it."""
    forbidding = (each for each in reasons if each.kind in OF_PATCH | NOT_BY_PAIRS)
    missing = (
        each for each in reasons if each.kind in {ReasonKind.MORE_PAIRS, ReasonKind.NO_NUMBER_OF_PAIRS}
    )
    chosen = next(forbidding, None) or next(missing, None) or reasons[0]
    if chosen.kind is ReasonKind.MORE_PAIRS:
        chosen = Reason(chosen.kind, chosen.facts[:3])  # a quieter machine is on the page
    return text_of([chosen])


def sentence(reason: Reason) -> str:
    """Write the sentence of one reason."""
    form = _SENTENCES[reason.kind]
    return form.format(*reason.facts) if isinstance(form, str) else form(*reason.facts)


def in_message(reason: Reason) -> str:
    """Write the sentence of a reason for a message, with only the ratio of a control: pages have the rest."""
    is_of_control = reason.kind in {ReasonKind.CONTROL, ReasonKind.OWN_DIFFERENCE}
    return sentence(Reason(reason.kind, reason.facts[:1]) if is_of_control else reason)


def side_name(side: str) -> str:
    """Name a side: the base of a comparison is the parent of the patch."""
    return "parent" if side == Side.BASE else "patch"


def _too_few_pairs(pairs: int, least: int) -> str:
    count = "1 pair is" if pairs == 1 else f"{pairs} pairs are"
    return f"{count} too few to tell a change from noise; at least {least} are needed"


def _wide_interval(spread: float, half: float) -> str:
    width = signed_percent(half).replace("+", "±")
    return f"single pairs vary by {share(spread)}, so the result is only known to {width}"


def _more_pairs(more: float, seconds: float = 0.0, machine_time: float = 0.0, quiet: float = 0.0) -> str:
    limit = f"; machine_time is {duration(machine_time)}" if machine_time else ""
    time = f" ({duration(seconds)}{limit})" if seconds else ""
    or_quiet = f", or a machine on which pairs vary by at most {_roughly(quiet)}" if quiet else ""
    return f"about {more:.0f} more pair{'s' if more > 1 else ''}{time} would decide it{or_quiet}"


def _own_time(taken: float, most: float) -> str:
    return f"it took {duration(taken)}, and machine_time_of gives it {duration(most)}"


def _no_number_of_pairs(quiet: float = 0.0) -> str:
    only = f", only a machine on which pairs vary by at most {_roughly(quiet)}" if quiet else ""
    return f"even {MOST_PAIRS} pairs would not decide it{only}"


def _roughly(spread: float) -> str:
    return share(float(f"{spread:.2g}"))


def _work_changed(rate: str, factor: float) -> str:
    unit = _UNITS[rate]
    return f"{unit}s per iteration changed by {change(factor)}, so the time per {unit} is compared"


def _after(text: str) -> str:
    return f": {text}" if text else ""


def _only_patch_fails(failed: int, pairs: int, text: str = "") -> str:
    return f"only the patch gives no result in {failed} of {pairs} pairs, so there is no +1{_after(text)}"


def _only_patch_scatters(times: float) -> str:
    factor = (
        f"{times:.2g} times as much as the parent's" if math.isfinite(times) else "and the parent's do not"
    )
    return f"the patch's own values vary {factor}, so there is no +1"


def _compared_too(is_of_process: int) -> str:
    threads = "all threads of the process, but neither" if is_of_process else "neither other threads nor"
    return f"so it is compared, too; CPU time counts {threads} sleeping nor waiting for locks or I/O"


def _layout_refuted(verdict: str, agreeing: int, *ratios: float) -> str:
    relinks = f"{verdict} on {agreeing} of {len(ratios)} relinked programs ({_range(ratios)})"
    return f"not confirmed: {relinks}, so code placement may explain it"


def _layout_built_again(agreeing: int, *ratios: float) -> str:
    return (
        f"not confirmed: slower on {agreeing} of {len(ratios)} relinked programs ({_range(ratios)}), but the "
        "build commands made these anew, perhaps of other code, so there is neither a −1 nor a +1; "
        "`layout: off` lets it vote"
    )


def _layout_confirmed(*ratios: float) -> str:
    middle = signed_percent(median(ratios))
    return f"confirmed: {middle} in the median of {len(ratios)} relinked programs ({_range(ratios)})"


def _second(verdict: str, pairs: int, ratio: float | None = None) -> str:
    measured = "" if ratio is None else f" {change(ratio)},"
    return f"{verdict},{measured} {pairs:.0f} pairs"


def _control(ratio: float, low: float | None = None, high: float = math.inf, _: int = 0) -> str:
    ends = "" if low is None else f" {interval(low, high, ratio)}"
    return f"the parent against itself: {change(ratio)}{ends}"


def _own_difference(ratio: float, low: float | None = None, high: float = math.inf, pairs: int = 0) -> str:
    counted_pairs = f", {pairs} pairs" if pairs else ""
    return f"{_control(ratio, low, high)}{counted_pairs}, so the machine may explain it"


def _suspended(alarms: int, sessions: int) -> str:
    comparisons = "the only comparison" if sessions == 1 else f"the last {sessions} comparisons"
    return f"suspended: {counted(alarms, 'false alarm')} in {comparisons} of a program with itself"


def _range(ratios: Sequence[float]) -> str:
    ends = dict.fromkeys((signed_percent(min(ratios)), signed_percent(max(ratios))))
    return " to ".join(ends)


def _on_probation(pairs: int, wanted: int, sessions: int, least: int) -> str:
    amount = "too little" if pairs else "no"
    done = f"{pairs} of {wanted} pairs of a program with itself, {sessions} of {least} sessions"
    return f"on probation: this machine has {amount} history for it ({done})"


# No default on purpose: a kind without a sentence is a programming error.
_SENTENCES: Final[Mapping[ReasonKind, str | Callable[..., str]]] = MappingProxyType(
    {
        ReasonKind.NO_PAIR: "no pair has a result on both sides",
        ReasonKind.TOO_FEW_PAIRS: _too_few_pairs,
        ReasonKind.NO_RATIO: "a measured value is zero or negative, so there is no ratio to compare",
        ReasonKind.WIDE_INTERVAL: _wide_interval,
        ReasonKind.MORE_PAIRS: _more_pairs,
        ReasonKind.HARDLY_SLOWER: "measuring ended because a slow-down that votes −1 is improbable",
        ReasonKind.OWN_TIME: _own_time,
        ReasonKind.NO_NUMBER_OF_PAIRS: _no_number_of_pairs,
        ReasonKind.NOT_IN_PATCH: "the patch no longer reports {}",
        ReasonKind.NOT_IN_BASE: "the parent does not report {}",
        ReasonKind.SOMETIMES_IN_BASE: "the parent reports {} in {} of {} launches, the patch in none",
        ReasonKind.UNUSABLE: lambda side, why: f"the result of the {side_name(side)} is unusable: {why}",
        ReasonKind.FAILS: "{}",
        ReasonKind.FAILS_IN_BASE: "it fails in the parent: {}",
        ReasonKind.FAILS_SOMETIMES: lambda side, failed, launches, text="": (
            f"it fails in {failed} of {launches} launches of the {side_name(side)}{_after(text)}"
        ),
        ReasonKind.ONLY_PATCH_FAILS: _only_patch_fails,
        ReasonKind.ONLY_PATCH_ZERO: (
            "the patch reports zero or less in {} of {} pairs, and the parent in none, so there is no +1"
        ),
        ReasonKind.ONLY_PATCH_SCATTERS: _only_patch_scatters,
        ReasonKind.FAILS_ON_BOTH: lambda text="": (
            f"it fails on both sides: {text}" if text else "neither side reports a result"
        ),
        ReasonKind.JUDGED_BY: "the verdict is that of {}",
        ReasonKind.WORK_CHANGED: _work_changed,
        ReasonKind.REAL_TIME_LONGER: lambda factor, is_of_process: (
            f"real time is {factor:.3g} times the CPU time, {_compared_too(is_of_process)}"
        ),
        ReasonKind.REAL_TIME_MOVED: lambda ratio, is_of_process: (
            f"real time changed by {signed_percent(ratio)} relative to CPU time, "
            f"{_compared_too(is_of_process)}"
        ),
        ReasonKind.LAYOUT_NOT_CHECKED: (
            "the slow-down could not be checked on relinked programs, so there is neither a −1 nor a +1; "
            "if the link cannot be varied, set `layout: off`"
        ),
        ReasonKind.LAYOUT_CONFIRMED: _layout_confirmed,
        ReasonKind.LAYOUT_REFUTED: lambda *facts: _layout_refuted("slower", *facts),
        ReasonKind.LAYOUT_BUILT_AGAIN: _layout_built_again,
        ReasonKind.LAYOUT_REFUTED_GAIN: lambda *facts: _layout_refuted("faster", *facts),
        ReasonKind.LAYOUT_POSSIBLE: "code placement may explain it; it was not checked on relinked programs",
        ReasonKind.LAYOUT_AS_TEXT: "{}",
        ReasonKind.SECOND_LIFTS: lambda *facts: f"lifted by the second opinion: {_second(*facts)}",
        ReasonKind.SECOND_STANDS: lambda *facts: f"the second opinion does not lift it: {_second(*facts)}",
        ReasonKind.SAME_PROGRAM: lambda ratio=None: (
            SAME_PROGRAM if ratio is None else f"{SAME_PROGRAM}; measured {change(ratio)}"
        ),
        ReasonKind.LISTED_ONCE: "only one side lists it",
        ReasonKind.ONE_LAUNCH: (
            "one launch per side cannot tell a change from noise; give 12 or more files per side"
        ),
        ReasonKind.ONE_COUNT: (
            "one launch per side cannot show that a counter repeats; give several files per side"
        ),
        ReasonKind.BLOCKS: (
            "by the dates in the files, one side ran completely before the other, so drift of the machine "
            "looks like a change; run the two programs in turn"
        ),
        ReasonKind.BASE_ONLY: "only the base files contain it; perhaps the patch ran with another filter",
        ReasonKind.BLIND_COUNTS: BLIND_COUNTS,
        ReasonKind.NO_INSTRUCTIONS: "one side executes no instructions, so there is no ratio to compare",
        ReasonKind.NOT_COUNTED: lambda why="": f"not counted: {why}" if why else "not counted",
        ReasonKind.NOT_DETERMINISTIC: (
            "not deterministic: two launches of one program executed different numbers of instructions"
        ),
        ReasonKind.ONLY_PATCH_NOT_COUNTED: "the parent can be counted, the patch cannot",
        ReasonKind.CONTROL: _control,
        ReasonKind.OWN_DIFFERENCE: _own_difference,
        ReasonKind.OTHER_CONTROL: (
            "the parent differs from itself at another benchmark, so the machine may explain it"
        ),
        ReasonKind.OPEN_CONTROL: lambda *facts: f"{_control(*facts)}, too wide to exclude the machine",
        ReasonKind.SUSPENDED: _suspended,
        ReasonKind.ON_PROBATION: _on_probation,
        ReasonKind.NO_EVIDENCE: "not measurable: no pairs of a program with itself",
        ReasonKind.NOISY: lambda spread: (
            f"not measurable: pairs of a program with itself vary by {share(spread)} "
            f"(limit {share(NOISE_LIMIT)}); {DOCTOR}"
        ),
        ReasonKind.FAR_OFF: lambda part: (
            f"not measurable: {share(part)} of the pairs of a program with itself differ by more than 3 % "
            f"(limit {share(BEYOND_LIMIT)}); {DOCTOR}"
        ),
    }
)
