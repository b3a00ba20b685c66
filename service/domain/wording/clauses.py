"""Word the reasons of a row in one clause, and explain once what several rows have in common."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from service.domain.measuring.metric import metric_named
from service.domain.values.text import change, duration, plain, shortened, signed_percent
from service.domain.verdict.inference.reasons import WITHHOLDING, Reason, ReasonKind
from service.domain.wording.reasons import sentence, side_name
from service.domain.wording.standing import not_counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

MAX_CLAUSE: Final = 70  # two lines of a narrow column


def clause_of(reasons: Iterable[Reason]) -> str:
    """Return the clause that a reader of a row needs first; empty without a reason.

    What keeps a row from a vote comes first, and what only describes how it was compared comes last.
    """
    found = list(reasons)
    if not found:
        return ""
    first = min(found, key=_rank)
    if first.kind in WITHHOLDING:
        return not_counted([first])
    form = _CLAUSES.get(first.kind) or sentence(first)
    return shortened(form if isinstance(form, str) else form(*first.facts), MAX_CLAUSE)


def explained(reasons: Iterable[Reason]) -> tuple[str, ...]:
    """Return the explanations that rows with such reasons share."""
    notes = (_EXPLANATIONS.get(each.kind, "") for each in reasons)
    return tuple(dict.fromkeys(filter(None, notes)))


def _rank(reason: Reason) -> int:
    if reason.kind in WITHHOLDING:
        return 0
    return 2 if reason.kind in _DESCRIBING else 1


_DESCRIBING: Final = frozenset(
    {
        ReasonKind.WIDE_INTERVAL,
        ReasonKind.JUDGED_BY,
        ReasonKind.WORK_CHANGED,
        ReasonKind.REAL_TIME_LONGER,
        ReasonKind.REAL_TIME_MOVED,
        ReasonKind.LAYOUT_CONFIRMED,
        ReasonKind.LAYOUT_POSSIBLE,
        ReasonKind.CONTROL,
        ReasonKind.BLIND_COUNTS,
    }
)


def _more_pairs(more: float, seconds: float = 0.0, *_: float) -> str:
    time = f" ({duration(seconds)})" if seconds else ""
    return f"about {more:.0f} more pair{'s' if more > 1 else ''}{time} would decide it"


def _known_to(_: float, half: float) -> str:
    return f"only known to {signed_percent(half).replace('+', '±')}"


# The sentence of any other kind is short, or somebody's own words.
_CLAUSES: Final[Mapping[ReasonKind, str | Callable[..., str]]] = MappingProxyType(
    {
        ReasonKind.TOO_FEW_PAIRS: lambda pairs, _: f"{pairs} pair{'' if pairs == 1 else 's'}: too few",
        ReasonKind.NO_RATIO: "a value is zero or negative",
        ReasonKind.WIDE_INTERVAL: _known_to,
        ReasonKind.MORE_PAIRS: _more_pairs,
        ReasonKind.HARDLY_SLOWER: "a slow-down that votes −1 is improbable",
        ReasonKind.OWN_TIME: "its part of the machine time is used up",
        ReasonKind.NO_NUMBER_OF_PAIRS: "no number of pairs would decide it",
        ReasonKind.UNUSABLE: lambda side, _: f"unusable result of the {side_name(side)}",
        ReasonKind.FAILS_SOMETIMES: lambda side, failed, launches, *_: (
            f"fails in {failed} of {launches} launches of the {side_name(side)}"
        ),
        ReasonKind.ONLY_PATCH_FAILS: lambda failed, pairs, *_: (
            f"only the patch fails, in {failed} of {pairs} pairs"
        ),
        ReasonKind.ONLY_PATCH_ZERO: "only the patch reports zero or less",
        ReasonKind.ONLY_PATCH_SCATTERS: "only the patch's own values vary",
        ReasonKind.JUDGED_BY: lambda metric: f"judged by {plain(metric_named(metric).label)}",
        ReasonKind.WORK_CHANGED: "the work changed, too",
        ReasonKind.REAL_TIME_LONGER: "real time is compared, too",
        ReasonKind.REAL_TIME_MOVED: "real time is compared, too",
        ReasonKind.LAYOUT_NOT_CHECKED: "could not be checked on relinked programs",
        ReasonKind.LAYOUT_CONFIRMED: lambda *ratios: f"confirmed on {len(ratios)} relinked programs",
        ReasonKind.LAYOUT_REFUTED: lambda agreeing, *ratios: (
            f"slower on {agreeing} of {len(ratios)} relinked programs"
        ),
        ReasonKind.LAYOUT_REFUTED_GAIN: lambda agreeing, *ratios: (
            f"faster on {agreeing} of {len(ratios)} relinked programs"
        ),
        ReasonKind.LAYOUT_BUILT_AGAIN: "the relinked programs were built anew",
        ReasonKind.LAYOUT_POSSIBLE: "code placement may explain it",
        ReasonKind.SECOND_LIFTS: "lifted by the second opinion",
        ReasonKind.SECOND_STANDS: "the second opinion does not lift it",
        ReasonKind.CONTROL: lambda ratio, *_: f"the parent against itself: {change(ratio)}",
        ReasonKind.SAME_PROGRAM: "identical program",
        ReasonKind.NOT_DETERMINISTIC: "not deterministic",
    }
)
_NEVER_DECIDED: Final = (
    "Undecided for good on this machine: a machine on which pairs vary less may decide it."
)
_UNDECIDED: Final = (
    "Undecided: the pairs vary too much for their number. More pairs decide it, or a machine on which they "
    "vary less."
)
_REAL_TIME: Final = (
    "Real time is compared if it is longer than CPU time or moves apart from it: CPU time counts neither "
    "sleeping nor waiting for locks or I/O."
)
_LAYOUT: Final = (
    "A small difference counts only if programs that are linked in another order show it, too: where code is "
    "placed can change its time."
)
_CONTROL: Final = (
    "Before a slow-down counts, the parent is measured against itself, with as many pairs or more. If it is "
    "slower than itself by half as much, the machine may explain the slow-down, which then does not count."
)
_OTHER_CONTROL: Final = (
    "The parent, measured against itself, differs from itself at another benchmark of this build. While the "
    "machine has little history, its other slower results do not count either."
)
_OPEN_CONTROL: Final = (
    "The parent, measured against itself, varies so much that the machine may explain the slow-down. It "
    "counts after the machine has compared the program with itself (A/A) often enough."
)
_SUSPENDED: Final = (
    "Suspended: this machine called the program slower than itself too often. Its slower results do not "
    "count until that is rare again."
)
_TOO_NOISY: Final = (
    "Not measurable: on this machine, the program differs too much from itself for a slower result to count."
)
_HISTORY: Final = (
    "This build has no complete measurement of the parent against itself for it. Then a slower result counts "
    "after the machine has compared the program with itself (A/A) often enough; the page of machines shows "
    "this history."
)
_EXPLANATIONS: Final[Mapping[ReasonKind, str]] = MappingProxyType(
    {
        ReasonKind.WIDE_INTERVAL: _UNDECIDED,
        ReasonKind.MORE_PAIRS: _UNDECIDED,
        ReasonKind.NO_NUMBER_OF_PAIRS: _NEVER_DECIDED,
        ReasonKind.REAL_TIME_LONGER: _REAL_TIME,
        ReasonKind.REAL_TIME_MOVED: _REAL_TIME,
        ReasonKind.LAYOUT_NOT_CHECKED: _LAYOUT,
        ReasonKind.LAYOUT_CONFIRMED: _LAYOUT,
        ReasonKind.LAYOUT_REFUTED: _LAYOUT,
        ReasonKind.LAYOUT_REFUTED_GAIN: _LAYOUT,
        ReasonKind.LAYOUT_BUILT_AGAIN: _LAYOUT,
        ReasonKind.LAYOUT_POSSIBLE: _LAYOUT,
        ReasonKind.CONTROL: _CONTROL,
        ReasonKind.OWN_DIFFERENCE: _CONTROL,
        ReasonKind.OTHER_CONTROL: _OTHER_CONTROL,
        ReasonKind.OPEN_CONTROL: _OPEN_CONTROL,
        ReasonKind.SUSPENDED: _SUSPENDED,
        ReasonKind.NOISY: _TOO_NOISY,
        ReasonKind.FAR_OFF: _TOO_NOISY,
        ReasonKind.ON_PROBATION: _HISTORY,
        ReasonKind.NO_EVIDENCE: _HISTORY,
    }
)
