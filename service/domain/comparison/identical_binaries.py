"""What a suite's comparisons mean when both sides are the same program: never a change."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from service.domain.inference.verdict import Comparison, Verdict
from service.domain.text import change, plain

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

SAME_PROGRAM: Final = "the same program on both sides"


def treat_as_unchanged(comparisons: Iterable[Comparison], suites: Collection[str]) -> tuple[Comparison, ...]:
    """The comparisons with no difference left in these suites; what was measured stays beside the verdict."""
    return tuple(_as_unchanged(each) if each.row.suite in suites else each for each in comparisons)


def same_program_causes(suites: Sequence[str]) -> tuple[str, ...]:
    """The sentence that names these suites; none where there are none."""
    if not suites:
        return ()
    word = "suites" if len(suites) > 1 else "suite"
    return (f"{word} {plain(', '.join(suites))}: {SAME_PROGRAM}",)


def _as_unchanged(found: Comparison) -> Comparison:
    match found.verdict:
        case Verdict.SLOWER | Verdict.FASTER:
            return _same(found)
        case Verdict.UNDECIDED if found.pairs:
            return _same(found)
        case Verdict.BROKEN:
            # The error came in one launch and not in another of the same program.
            return replace(found, verdict=Verdict.UNDECIDED, reason=f"{SAME_PROGRAM}; {found.reason}")
        case Verdict.REMOVED:
            return replace(found, verdict=Verdict.UNDECIDED, reason=f"{SAME_PROGRAM}; listed only once")
        case _:
            return found


def _same(found: Comparison) -> Comparison:
    measured = f"; measured {change(found.ratio)}" if found.ratio is not None else ""
    return replace(found, verdict=Verdict.SAME, reason=SAME_PROGRAM + measured, more_pairs=None)
