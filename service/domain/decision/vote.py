"""Where the vote is decided: what each outcome of a build counts as, and the vote of a round."""

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
    """How a build came out; more than a result: it says why."""

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
    """What a build adds to the vote."""

    PASS = "+1"
    FAIL = "-1"
    NOTHING_CERTAIN = "no vote"  # forbids a +1, hides no −1
    IGNORED = "ignored"


@dataclass(frozen=True, slots=True)
class Consequence:
    """What an outcome means."""

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


# What the same trees and configuration would give again; the others are worth another try.
LASTING: Final = frozenset(Outcome) - {
    Outcome.MISCONFIGURED,
    Outcome.INFRASTRUCTURE,
    Outcome.CANCELLED,
    Outcome.NOT_BUILT,
}


@dataclass(frozen=True, slots=True)
class Ballot:
    """A finished build as the vote sees it. ``is_excused``: people decided that a failure does not count."""

    outcome: Outcome
    is_voting: bool = True
    is_waived: bool = False

    @property
    def counts(self) -> Counts:
        """What it adds."""
        counts = CONSEQUENCES[self.outcome].counts
        if not self.is_voting:
            return Counts.IGNORED
        # Only a failure can be excused: what nobody knows is not made known by a person's word.
        return Counts.PASS if self.is_waived and counts is Counts.FAIL else counts


def vote_of(ballots: Sequence[Ballot], on_nothing_to_build: VoteWhen = VoteWhen.PASS) -> int | None:
    """The round's vote, +1 or −1, or None for none: the minimum over the builds that count.

    ``on_nothing_to_build`` decides where no voting build had anything to do; without any voting build
    there is no vote.
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


def header_of(vote: int | None, outcomes: Sequence[Outcome]) -> str:
    """The message's first line. It follows the decision, so that it never contradicts the vote."""
    if vote == -1:
        return "Build Failed"
    results = {CONSEQUENCES[outcome].result for outcome in outcomes}
    if results <= {Result.NOT_BUILT}:
        return "No Builds Executed"
    if vote == 1:
        return "Build Successful"
    if Result.ABORTED in results:
        return "Build Aborted"
    if results <= {Result.SUCCESS, Result.NOT_BUILT}:
        return "Build Successful"  # of jobs that may not vote
    return "Build Unstable"
