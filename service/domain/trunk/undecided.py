"""Choose the undecided merged commit that an idle pool measures longer.

The choice may look at the results: each sequence of pairs goes on by its fixed looks, so that its verdict
keeps the error rate of a −1 however long somebody looks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from service.domain.project.policy import MOST_PAIRS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

WITHIN_DAYS: Final = 30  # after that, compilers and machines are seldom the same
MOST_TRIES: Final = 10  # runs of a commit that no other build ended early
MOST_RUNS: Final = 50  # including runs that ended early
LEAST: Final = 0.02  # ln(slow-down): the default of vote_at
_AT_LEAST: Final = 8  # pairs: a run also builds both sides
_AT_ONCE: Final = 128
_MOST_SECONDS: Final = 3600.0  # for a slow-down that no gate could decide


@dataclass(frozen=True, slots=True)
class UndecidedResult:
    """An undecided result of a merged commit, which looks slower.

    ``build_id`` measured ``pairs`` of it last, after ``tries`` runs; ``more`` pairs would decide it, in
    ``seconds``. Both are 0 if its pairs are enough, and only its relinked programs were not measured.
    """

    run_id: int
    build_id: int
    benchmark: str
    pairs: int
    more: float
    seconds: float
    tries: int = 0

    @property
    def is_worth_it(self) -> bool:
        """Return whether more machine time may decide it."""
        if not self.more:
            return self.tries == 0  # relinked programs that could not be measured once cannot be
        return self.seconds <= _MOST_SECONDS and self.pairs + self.more <= MOST_PAIRS

    @property
    def pairs_to_add(self) -> int:
        """The pairs that one run adds."""
        return int(min(max(self.more, _AT_LEAST), _AT_ONCE))


def worth_more_pairs(results: Iterable[UndecidedResult]) -> Sequence[UndecidedResult]:
    """Return the results that are worth more pairs; those that are decided soonest come first."""
    return sorted(
        (each for each in results if each.is_worth_it),
        key=lambda each: (each.seconds, each.build_id, each.benchmark),
    )
