"""The meaning of a suite's comparisons when both sides are the same program: never a change."""

from __future__ import annotations

from typing import TYPE_CHECKING

from service.domain.inference.reasons import Reason, ReasonKind, has_kind
from service.domain.inference.verdict import Comparison, Verdict

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable


def treat_as_unchanged(comparisons: Iterable[Comparison], suites: Collection[str]) -> tuple[Comparison, ...]:
    """Leave no difference in the comparisons of these suites; the measured ratio stays in the reason."""
    return tuple(_as_unchanged(each) if each.row.suite in suites else each for each in comparisons)


def _as_unchanged(found: Comparison) -> Comparison:
    reasons = found.reasons
    match found.verdict:
        case Verdict.SAME | Verdict.NEW | Verdict.FAILING:
            return found
        case Verdict.UNDECIDED if not found.pairs and has_kind(found.reasons, {ReasonKind.NO_PAIR}):
            reason = Reason(ReasonKind.SAME_PROGRAM)  # nothing was measured, or needed to be
            return found._replace(verdict=Verdict.SAME, reasons=(reason,))
        case Verdict.UNDECIDED if not found.pairs:
            return found
        case Verdict.SLOWER | Verdict.FASTER | Verdict.UNDECIDED:
            facts = () if found.ratio is None else (found.ratio,)
            reason = Reason(ReasonKind.SAME_PROGRAM, facts)
            return found._replace(verdict=Verdict.SAME, reasons=(reason,), more_pairs=None)
        case Verdict.REMOVED:
            reasons = (Reason(ReasonKind.LISTED_ONCE),)
        case Verdict.BROKEN:  # the error came in one launch and not in another of the same program
            pass
    return found._replace(verdict=Verdict.UNDECIDED, reasons=(Reason(ReasonKind.SAME_PROGRAM), *reasons))
