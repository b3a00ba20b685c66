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


class LocalEnd(StrEnum):
    """The meanings of an outcome on a developer's machine, each with an exit code of its own."""

    PASSES = "passes"
    FAILS = "fails"
    NO_VERDICT = "no verdict"  # nothing was compared, or the vote is withheld


@dataclass(frozen=True, slots=True)
class Consequence:
    """The meaning of an outcome.

    ``is_lasting``: the same trees and configuration would give it again. Others are worth another try.
    """

    result: Result
    counts: Counts
    is_lasting: bool
    local: LocalEnd


_PASSES: Final = Consequence(Result.SUCCESS, Counts.PASS, is_lasting=True, local=LocalEnd.PASSES)
_FAILS: Final = Consequence(Result.FAILURE, Counts.FAIL, is_lasting=True, local=LocalEnd.FAILS)

# Without a default on purpose: an outcome that is not listed is a programming error, not a +1. Could a patch
# choose it? Beside each +1 stands why it could not, and beside each other one who causes it.
CONSEQUENCES: Final[Mapping[Outcome, Consequence]] = MappingProxyType(
    {
        # No: every row that both sides list was measured on both.
        Outcome.PASSED: _PASSES,
        # The patch's own doing.
        Outcome.FAILED: _FAILS,
        Outcome.SLOWER: _FAILS,
        Outcome.MEASURED_NOTHING: _FAILS,
        Outcome.BROKEN: _FAILS,
        Outcome.REMOVED: _FAILS,
        # No: the parent answered in every pair in which the patch did, and pairs scatter too much.
        Outcome.UNDECIDED: _PASSES,
        # Yes: the patch alone fails now and then, or its programs do not link again.
        Outcome.UNDECIDED_WITHHELD: Consequence(
            Result.UNSTABLE, Counts.NOTHING_CERTAIN, is_lasting=True, local=LocalEnd.NO_VERDICT
        ),
        # No: the parent is known not to be comparable before any code of the patch ran.
        Outcome.NO_PARENT: Consequence(
            Result.SUCCESS, Counts.PASS, is_lasting=True, local=LocalEnd.NO_VERDICT
        ),
        # The project file asks for something that neither side has.
        Outcome.MISCONFIGURED: Consequence(
            Result.UNSTABLE, Counts.NOTHING_CERTAIN, is_lasting=False, local=LocalEnd.NO_VERDICT
        ),
        # The machine, or a parent that fails after code of the patch ran.
        Outcome.INFRASTRUCTURE: Consequence(
            Result.ABORTED, Counts.NOTHING_CERTAIN, is_lasting=False, local=LocalEnd.NO_VERDICT
        ),
        # A person, or a newer patch set.
        Outcome.CANCELLED: Consequence(
            Result.ABORTED, Counts.NOTHING_CERTAIN, is_lasting=False, local=LocalEnd.NO_VERDICT
        ),
        # The paths that the patch changes.
        Outcome.NOT_BUILT: Consequence(
            Result.NOT_BUILT, Counts.IGNORED, is_lasting=False, local=LocalEnd.PASSES
        ),
    }
)
LASTING: Final = frozenset(outcome for outcome, each in CONSEQUENCES.items() if each.is_lasting)


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
