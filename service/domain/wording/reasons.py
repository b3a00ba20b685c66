"""Sentences of the typed reasons that complete a verdict."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from service.domain.identity import Side
from service.domain.inference.reasons import WITHHOLDING, Reason, ReasonKind
from service.domain.text import change, duration, share, signed_percent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

SAME_PROGRAM: Final = "the same program on both sides"
BLIND_COUNTS: Final = "instructions do not see contention or cache misses"
_UNITS: Final = MappingProxyType({"items_per_second": "item", "bytes_per_second": "byte"})


def text_of(reasons: Iterable[Reason]) -> str:
    """The sentences of a comparison's reasons on one line; names in them are as a program reported them."""
    return "; ".join(
        f"no vote: {sentence(each)}" if each.kind in WITHHOLDING else sentence(each) for each in reasons
    )


def sentence(reason: Reason) -> str:
    """The sentence of one reason."""
    return _SENTENCES[reason.kind](*reason.facts)


def _too_few_pairs(pairs: int, least: int) -> str:
    count = "one pair" if pairs == 1 else f"{pairs} pairs"
    return f"{count} cannot tell a change from noise; at least {least} are needed"


def _wide_interval(spread: float, half: float) -> str:
    width = signed_percent(half).replace("+", "±")
    return f"pairs spread by {share(spread)}, the interval is {width} wide"


def _more_pairs(more: float, seconds: float = 0.0) -> str:
    time = f" ({duration(seconds)})" if seconds else ""
    return f"about {more:.0f} more pair{'s' if more > 1 else ''}{time} would decide it"


def _fails_sometimes(side: str, failed: int, launches: int, text: str) -> str:
    return f"fails in {failed} of {launches} launches of the {_name(side)}: {text}"


def _name(side: str) -> str:
    return "parent" if side == Side.BASE else side


def _work_changed(rate: str, factor: float) -> str:
    unit = _UNITS[rate]
    return f"{unit}s per iteration changed by {change(factor)}: time per {unit} is compared"


def _real_time_longer(factor: float, is_of_process: int) -> str:
    return f"real time is {factor:.3g} times the CPU time, {_blind_clock(is_of_process)}"


def _real_time_moved(ratio: float, is_of_process: int) -> str:
    return f"real time moved by {signed_percent(ratio)} against the CPU time, {_blind_clock(is_of_process)}"


def _blind_clock(is_of_process: int) -> str:
    if is_of_process:
        return "which sees all threads of the process, but no sleeping and no waiting for locks or I/O"
    return "which sees neither other threads nor sleeping, nor waiting for locks or I/O"


def _layout_refuted(slower: int, *ratios: float) -> str:
    return f"layout: {_list(ratios)} on three relinks, slower in {slower} of them"


def _list(ratios: Iterable[float]) -> str:
    return ", ".join(map(signed_percent, ratios))


def _same_program(ratio: float | None = None) -> str:
    return SAME_PROGRAM if ratio is None else f"{SAME_PROGRAM}; measured {change(ratio)}"


def _on_probation(pairs: int, wanted: int, sessions: int, least: int) -> str:
    return f"on probation: {pairs} of {wanted} A/A pairs in {sessions} of {least} sessions"


# Without a default on purpose: a kind without a sentence is a programming error.
_SENTENCES: Final[Mapping[ReasonKind, Callable[..., str]]] = MappingProxyType(
    {
        ReasonKind.NO_PAIR: lambda: "no complete pair",
        ReasonKind.TOO_FEW_PAIRS: _too_few_pairs,
        ReasonKind.NO_RATIO: lambda: "a measured value is zero or negative, so there is no ratio to judge",
        ReasonKind.WIDE_INTERVAL: _wide_interval,
        ReasonKind.MORE_PAIRS: _more_pairs,
        ReasonKind.NO_NUMBER_OF_PAIRS: lambda: "no reasonable number of pairs would decide it",
        ReasonKind.NOT_IN_PATCH: lambda metric: f"reports no {metric} any more",
        ReasonKind.NOT_IN_BASE: lambda metric: f"reports no {metric} in the parent",
        ReasonKind.SOMETIMES_IN_BASE: lambda metric, found, of: (
            f"the parent reports {metric} in {found} of {of} launches, the patch in none"
        ),
        ReasonKind.UNUSABLE: lambda side, why: f"what the {side} reports cannot be used: {why}",
        ReasonKind.FAILS: lambda text: text,
        ReasonKind.FAILS_IN_BASE: lambda text: f"fails in the parent: {text}",
        ReasonKind.FAILS_SOMETIMES: _fails_sometimes,
        ReasonKind.JUDGED_BY: lambda metric: f"judged by {metric}",
        ReasonKind.WORK_CHANGED: _work_changed,
        ReasonKind.REAL_TIME_LONGER: _real_time_longer,
        ReasonKind.REAL_TIME_MOVED: _real_time_moved,
        ReasonKind.LAYOUT_NOT_CHECKED: lambda: "layout: not checked by relinking",
        ReasonKind.LAYOUT_CONFIRMED: lambda *ratios: f"layout: slower on three relinks too ({_list(ratios)})",
        ReasonKind.LAYOUT_REFUTED: _layout_refuted,
        ReasonKind.LAYOUT_POSSIBLE: lambda: (
            "may come from where the linker put the code; only slow-downs are checked"
        ),
        ReasonKind.LAYOUT_AS_TEXT: lambda text: text,
        ReasonKind.SAME_PROGRAM: _same_program,
        ReasonKind.LISTED_ONCE: lambda: "listed only once",
        ReasonKind.ONE_LAUNCH: lambda: (
            "one launch a side cannot tell a change from noise; give a dozen pairs or more"
        ),
        ReasonKind.ONE_COUNT: lambda: "one launch a side cannot show that a counter repeats",
        ReasonKind.BLOCKS: lambda: (
            "all launches of one side are dated before all of the other, so that a change looks like drift "
            "of the machine; launch the two programs in turn"
        ),
        ReasonKind.BASE_ONLY: lambda: (
            "only the base files have it, which may be another choice of benchmarks"
        ),
        ReasonKind.BLIND_COUNTS: lambda: BLIND_COUNTS,
        ReasonKind.NO_INSTRUCTIONS: lambda: "a side executes no instruction, so there is no ratio to judge",
        ReasonKind.NOT_COUNTED: lambda why="": f"not counted: {why}" if why else "not counted",
        ReasonKind.NOT_DETERMINISTIC: lambda: (
            "not deterministic: two launches of one program did not execute the same"
        ),
        ReasonKind.SUSPENDED: lambda alarms, sessions: (
            f"suspended: {alarms} false alarms in its last {sessions} A/A comparisons"
        ),
        ReasonKind.ON_PROBATION: _on_probation,
        ReasonKind.NO_EVIDENCE: lambda: "not measurable: no pairs",
        ReasonKind.NOISY: lambda spread: f"not measurable: pairs spread by {share(spread)}",
        ReasonKind.FAR_OFF: lambda part: (
            f"not measurable: {share(part)} of the pairs are off by more than 3 %"
        ),
    }
)
