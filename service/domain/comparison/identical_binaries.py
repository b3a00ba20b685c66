"""The meaning of a suite's comparisons when both sides are the same program: never a change."""

from __future__ import annotations

from typing import TYPE_CHECKING

from service.domain.inference.reasons import Reason, ReasonKind
from service.domain.inference.verdict import Comparison, Verdict

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable


def treat_as_unchanged(comparisons: Iterable[Comparison], suites: Collection[str]) -> tuple[Comparison, ...]:
    """The comparisons with no difference left in these suites; what was measured stays beside the verdict."""
    return tuple(_as_unchanged(each) if each.row.suite in suites else each for each in comparisons)


def _as_unchanged(found: Comparison) -> Comparison:
    match found.verdict:
        case Verdict.SLOWER | Verdict.FASTER:
            return _same(found)
        case Verdict.UNDECIDED if found.pairs:
            return _same(found)
        case Verdict.BROKEN:
            # The error came in one launch and not in another of the same program.
            return _undecided(found, *found.reasons)
        case Verdict.REMOVED:
            return _undecided(found, Reason(ReasonKind.LISTED_ONCE))
        case _:
            return found


def _undecided(found: Comparison, *reasons: Reason) -> Comparison:
    return found._replace(verdict=Verdict.UNDECIDED, reasons=(Reason(ReasonKind.SAME_PROGRAM), *reasons))


def _same(found: Comparison) -> Comparison:
    reason = Reason(ReasonKind.SAME_PROGRAM, () if found.ratio is None else (found.ratio,))
    return found._replace(verdict=Verdict.SAME, reasons=(reason,), more_pairs=None)
