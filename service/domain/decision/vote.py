"""The vote: the consequence of each outcome of a build, and the vote of a run."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from service.domain.inference.policy import VoteWhen

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class Result(StrEnum):
    """A build's result, in the Build Bot's words."""

    SUCCESS = "SUCCESS"
    UNSTABLE = "UNSTABLE"
    FAILURE = "FAILURE"
    NOT_BUILT = "NOT_BUILT"
    ABORTED = "ABORTED"


class Outcome(StrEnum):
    """The outcomes of builds; unlike a result, an outcome has the reason."""

    PASSED = "passed"
    FAILED = "failed"  # a test, a compile or a linter
    SLOWER = "slower"
    MEASURED_NOTHING = "measured nothing"
    BROKEN = "broken"
    REMOVED = "removed"
    UNDECIDED = "undecided"
    UNDECIDED_WITHHELD = "undecided, vote withheld"
    NO_PARENT = "nothing to compare with"
    MISCONFIGURED = "misconfigured"  # no side can be measured as the project file asks
    INFRASTRUCTURE = "infrastructure failure"
    CANCELLED = "cancelled"
    NOT_BUILT = "not built"


class Counts(StrEnum):
    """The contributions of a build to the vote."""

    PASS = "+1"
    FAIL = "-1"
    NOTHING_CERTAIN = "no vote"  # forbids a +1, hides no −1
    IGNORED = "ignored"


@dataclass(frozen=True, slots=True)
class Consequence:
    """The meaning of an outcome."""

    result: Result
    counts: Counts


# Without a default on purpose: an outcome that is not listed is a programming error, not a +1.
CONSEQUENCES: Final[Mapping[Outcome, Consequence]] = MappingProxyType(
    {
        Outcome.PASSED: Consequence(Result.SUCCESS, Counts.PASS),
        Outcome.FAILED: Consequence(Result.FAILURE, Counts.FAIL),
        Outcome.SLOWER: Consequence(Result.FAILURE, Counts.FAIL),
        Outcome.MEASURED_NOTHING: Consequence(Result.FAILURE, Counts.FAIL),
        Outcome.BROKEN: Consequence(Result.FAILURE, Counts.FAIL),
        Outcome.REMOVED: Consequence(Result.FAILURE, Counts.FAIL),
        Outcome.UNDECIDED: Consequence(Result.SUCCESS, Counts.PASS),
        Outcome.UNDECIDED_WITHHELD: Consequence(Result.UNSTABLE, Counts.NOTHING_CERTAIN),
        Outcome.NO_PARENT: Consequence(Result.SUCCESS, Counts.PASS),
        Outcome.MISCONFIGURED: Consequence(Result.UNSTABLE, Counts.NOTHING_CERTAIN),
        Outcome.INFRASTRUCTURE: Consequence(Result.ABORTED, Counts.NOTHING_CERTAIN),
        Outcome.CANCELLED: Consequence(Result.ABORTED, Counts.NOTHING_CERTAIN),
        Outcome.NOT_BUILT: Consequence(Result.NOT_BUILT, Counts.IGNORED),
    }
)


# The same trees and configuration would give these again; the others are worth another try.
LASTING: Final = frozenset(Outcome) - {
    Outcome.MISCONFIGURED,
    Outcome.INFRASTRUCTURE,
    Outcome.CANCELLED,
    Outcome.NOT_BUILT,
}


@dataclass(frozen=True, slots=True)
class Ballot:
    """The part of a finished build that the vote depends on. ``is_waived``: a person overrode its failure."""

    outcome: Outcome
    is_voting: bool = True
    is_waived: bool = False

    @property
    def counts(self) -> Counts:
        """Its contribution."""
        counts = CONSEQUENCES[self.outcome].counts
        if not self.is_voting:
            return Counts.IGNORED
        # Only a failure can be waived: an override does not make an unknown result known.
        return Counts.PASS if self.is_waived and counts is Counts.FAIL else counts


def vote_of(ballots: Sequence[Ballot], on_nothing_to_build: VoteWhen = VoteWhen.PASS) -> int | None:
    """Decide the vote of a run, +1 or −1, or None for none: the minimum over the builds that count.

    ``on_nothing_to_build`` decides if no voting build had anything to do; without any voting build there is
    no vote.
    """
    if not any(ballot.is_voting for ballot in ballots):
        return None
    counts = {ballot.counts for ballot in ballots} - {Counts.IGNORED}
    if Counts.FAIL in counts:
        return -1
    if Counts.NOTHING_CERTAIN in counts:
        return None
    if Counts.PASS in counts:
        return 1
    return 1 if on_nothing_to_build is VoteWhen.PASS else None
