"""Merged commits of a branch as pages show them, and runs that measured two of them together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from service.domain.runs.states import UNFINISHED, RunState
from service.domain.values.identity import RunKind
from service.domain.verdict.inference.verdict import Verdict
from service.ports.reading import Viewer
from service.ports.runs.shown import PAGES_ONLY


@dataclass(frozen=True, slots=True)
class BranchName:
    """A branch of a project on a review server."""

    instance: str
    project: str
    branch: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MergedCommit:
    """A commit of a branch; ``landed_at`` is when Benchgate learned of it."""

    revision: str
    subject: str
    author: str
    landed_at: datetime
    run_id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparingRun:
    """A run that compares two commits; ``counts`` has the number of its benchmarks by verdict.

    ``is_cut_short``: one of its builds ended early, for other builds or with its machine.
    """

    run_id: int
    kind: RunKind
    state: RunState
    pool: str
    created_at: datetime
    counts: Mapping[Verdict, int]
    is_cut_short: bool

    @property
    def is_ended(self) -> bool:
        """Return whether no more results are to come."""
        return self.state not in UNFINISHED

    @property
    def is_complete(self) -> bool:
        """Return whether it has all results."""
        return self.state is RunState.FINISHED and bool(self.counts) and not self.is_cut_short


@dataclass(frozen=True, slots=True)
class CommitPair:
    """Two commits of a branch, and the runs that measured them together, the newest first.

    ``pools`` measure benchmarks of the branch. ``groups`` are those whose members may ask for a measurement;
    an empty name: the branch names none.
    """

    branch: BranchName
    base: MergedCommit
    patch: MergedCommit
    runs: tuple[ComparingRun, ...] = ()
    pools: tuple[str, ...] = ()
    groups: tuple[str, ...] = field(default=(), metadata=PAGES_ONLY)

    @property
    def open_pools(self) -> tuple[str, ...]:
        """The pools that have not measured all pairs of the two commits, and do not measure them now."""
        anchors = (each for each in self.runs if each.kind is RunKind.ANCHOR)
        taken = {each.pool for each in anchors if not each.is_ended or each.is_complete}
        return tuple(pool for pool in self.pools if pool not in taken)


class CommitReading(Protocol):
    """Merged commits as a viewer sees them."""

    def seen_by(self, viewer: Viewer | None) -> CommitReading:
        """Return the commits of a viewer; None: of an anonymous reader."""

    def branches(self) -> Sequence[BranchName]:
        """Return the branches with a commit in the last 30 days, in order."""

    def commits(self, branch: BranchName, limit: int) -> Sequence[MergedCommit]:
        """Return the newest commits of a branch, newest first."""

    def pair(self, branch: BranchName, first: str, second: str) -> CommitPair:
        """Return two commits by their ids or the beginnings of these, the earlier one as the base.

        Raises:
            BadInput: one is no id, or both are the same commit.
            NotFound: there is no such commit, or there are several.
        """
