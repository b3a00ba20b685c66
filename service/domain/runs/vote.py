"""Map each outcome of a build to its consequence, and decide the vote of a run."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from service.domain.project.policy import VoteWhen

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class Result(StrEnum):
    """Result of a build, in the Build Bot's words."""

    SUCCESS = "SUCCESS"
    UNSTABLE = "UNSTABLE"
    FAILURE = "FAILURE"
    NOT_BUILT = "NOT_BUILT"
    ABORTED = "ABORTED"


class Outcome(StrEnum):
    """Outcome of a build: a result with its reason."""

    PASSED = "passed"
    FAILED = "failed"  # a test, a compile or a linter
    SLOWER = "slower"
    MEASURED_NOTHING = "measured nothing"
    BROKEN = "broken"
    REMOVED = "removed"
    UNDECIDED = "undecided"
    UNDECIDED_WITHHELD = "undecided, vote withheld"
    NO_PARENT = "nothing to compare with"
    CONFLICT = "conflict with the branch"  # it would pass beside its parent
    PARENT_BROKEN = "parent broken"  # and so is the patch, or the parent is not merged
    MISCONFIGURED = "misconfigured"  # neither side can be measured as the project file asks
    INFRASTRUCTURE = "infrastructure failure"
    CANCELLED = "cancelled"
    NOT_BUILT = "not built"


class Counts(StrEnum):
    """Contribution of a build to the vote."""

    PASS = "+1"
    FAIL = "-1"
    NOTHING_CERTAIN = "no vote"  # prevents a +1, does not hide a −1
    IGNORED = "ignored"


class LocalEnd(StrEnum):
    """Meaning of an outcome on a developer's machine, each with its own exit code."""

    PASSES = "passes"
    FAILS = "fails"
    NO_VERDICT = "no verdict"  # nothing was compared, or the vote is withheld


@dataclass(frozen=True, slots=True)
class Consequence:
    """Consequence of an outcome.

    ``choosable`` answers whether a patch could bring it about on purpose; for a +1 it is "no", with the
    reason. ``is_lasting``: the same trees and configuration would give it again, so a retry is pointless.
    """

    result: Result
    counts: Counts
    choosable: str
    is_lasting: bool
    local: LocalEnd


def _passes(choosable: str, local: LocalEnd = LocalEnd.PASSES) -> Consequence:
    return Consequence(Result.SUCCESS, Counts.PASS, choosable, is_lasting=True, local=local)


def _fails(choosable: str) -> Consequence:
    return Consequence(Result.FAILURE, Counts.FAIL, choosable, is_lasting=True, local=LocalEnd.FAILS)


def _no_vote(choosable: str, result: Result = Result.UNSTABLE, *, is_lasting: bool = False) -> Consequence:
    return Consequence(
        result, Counts.NOTHING_CERTAIN, choosable, is_lasting=is_lasting, local=LocalEnd.NO_VERDICT
    )


# No default on purpose: a missing outcome is a programming error, not a +1.
CONSEQUENCES: Final[Mapping[Outcome, Consequence]] = MappingProxyType(
    {
        Outcome.PASSED: _passes(
            "no: every benchmark that runs in the parent was measured on both sides; "
            "of tests and linters, only by changing them or their settings, which reviewers see"
        ),
        Outcome.FAILED: _fails(
            "yes: it does not build, and its parent does; or a test, linter or command fails"
        ),
        Outcome.SLOWER: _fails("yes"),
        Outcome.MEASURED_NOTHING: _fails("yes: its programs do not run, and the parent's do"),
        Outcome.BROKEN: _fails("yes: it fails where the parent does not"),
        Outcome.REMOVED: _fails("yes"),
        Outcome.UNDECIDED: _passes(
            "no: the parent answered in every pair in which the patch did, and scatters like it"
        ),
        Outcome.UNDECIDED_WITHHELD: _no_vote(
            "yes: it fails or scatters alone, does not link again or cannot be counted, or uses the time up",
            is_lasting=True,
        ),
        Outcome.NO_PARENT: _passes(
            "no: no parent, a merged one that failed alone, or one without benchmarks (−1 if removed)",
            LocalEnd.NO_VERDICT,
        ),
        Outcome.CONFLICT: _no_vote("yes: by an old parent", is_lasting=True),
        Outcome.PARENT_BROKEN: _no_vote(
            "yes: by the choice of an unmerged parent, or by a failing build that makes the parent's fail"
        ),
        Outcome.MISCONFIGURED: _no_vote(
            "yes: by changing how a linter runs; "
            "a build, only if neither side can be built or measured as asked"
        ),
        Outcome.INFRASTRUCTURE: _no_vote(
            "yes: a parent that ran before the patch may fail because of it", Result.ABORTED
        ),
        Outcome.CANCELLED: _no_vote("yes: by a newer patch set", Result.ABORTED),
        Outcome.NOT_BUILT: Consequence(
            Result.NOT_BUILT,
            Counts.IGNORED,
            "yes: by the paths that it changes",
            is_lasting=False,
            local=LocalEnd.PASSES,
        ),
    }
)
LASTING: Final = frozenset(outcome for outcome, each in CONSEQUENCES.items() if each.is_lasting)


@dataclass(frozen=True, slots=True)
class Ballot:
    """Facts of a finished build that the vote depends on; ``is_waived``: its failure does not count."""

    outcome: Outcome
    is_voting: bool = True
    is_waived: bool = False

    @property
    def counts(self) -> Counts:
        """Contribution of the build."""
        counts = CONSEQUENCES[self.outcome].counts
        if not self.is_voting:
            return Counts.IGNORED
        # Only a failure can be waived: an override cannot settle an unknown result.
        return Counts.PASS if self.is_waived and counts is Counts.FAIL else counts

    @property
    def fails(self) -> bool:
        """Return whether the build makes the vote −1."""
        return self.counts is Counts.FAIL


def vote_of(ballots: Sequence[Ballot], on_nothing_to_build: VoteWhen = VoteWhen.PASS) -> int | None:
    """Decide the vote of a run, +1, −1 or None: the minimum over the builds that count.

    ``on_nothing_to_build`` decides if no voting build had anything to do. A run without voting builds has no
    vote.
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
