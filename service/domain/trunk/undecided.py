"""Choose the undecided merged commit that an idle pool measures longer.

The choice may look at the results: each sequence of pairs goes on by its fixed looks, so that its verdict
keeps the error rate of a −1 however long somebody looks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from service.domain.project.policy import MOST_PAIRS

if TYPE_CHECKING:
    from collections.abc import Iterable

WITHIN_DAYS: Final = 30  # after that, compilers and machines are seldom the same
MOST_TRIES: Final = 10  # runs of a commit; a build that needs the machine ends one early
LEAST: Final = 0.02  # ln(slow-down): the default of vote_at
_AT_LEAST: Final = 8  # pairs: a run also builds both sides
_AT_ONCE: Final = 128


@dataclass(frozen=True, slots=True)
class UndecidedResult:
    """An undecided result of a merged commit, which looks slower.

    ``build_id`` measured ``pairs`` of it last; ``more`` pairs would decide it, in ``seconds``. Both are 0 if
    its pairs are enough, and only its relinked programs were not measured.
    """

    run_id: int
    build_id: int
    benchmark: str
    pairs: int
    more: float
    seconds: float

    @property
    def pairs_to_add(self) -> int:
        """The pairs that one run adds."""
        return int(min(max(self.more, _AT_LEAST), _AT_ONCE))


def next_undecided(results: Iterable[UndecidedResult]) -> UndecidedResult | None:
    """Choose the result that is decided soonest; None: none is worth more pairs."""
    possible = (each for each in results if each.pairs + max(each.more, each.pairs_to_add) <= MOST_PAIRS)
    return min(possible, key=lambda each: (each.seconds, each.build_id, each.benchmark), default=None)
