"""Merged commits and patch sets as pages compare them, and runs that measured two commits together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from service.domain.runs.states import UNFINISHED, RunState
from service.domain.trunk.reference import Reference
from service.domain.values.errors import NotFound
from service.domain.values.identity import RunKind
from service.domain.verdict.inference.estimate import MeasuredRatio
from service.domain.verdict.inference.verdict import Verdict
from service.ports.reading import Viewer
from service.ports.runs.shown import ADDRESS, PAGES_ONLY
from service.ports.verdict import Comparison

_REVERSED = {"description": "whether ``base`` is the commit that was asked for as the patch"}


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
    is_reversed: bool = field(default=False, metadata=_REVERSED)

    @property
    def open_pools(self) -> tuple[str, ...]:
        """The pools that have not measured all pairs of the two commits, and do not measure them now."""
        anchors = (each for each in self.runs if each.kind is RunKind.ANCHOR)
        taken = {each.pool for each in anchors if not each.is_ended or each.is_complete}
        return tuple(pool for pool in self.pools if pool not in taken)

    def chosen_run(self, run_id: int | None) -> ComparingRun | None:
        """Return the run of that id; without one the complete run with the most results, else the newest.

        A newer run may have measured one job longer, and has no results of the others.

        Raises:
            NotFound: the run of that id did not measure the two together.
        """
        if run_id is not None:
            found = next((each for each in self.runs if each.run_id == run_id), None)
            if found is None:
                raise NotFound(f"run {run_id} did not measure these two commits together")
            return found
        if complete := [each for each in self.runs if each.is_complete]:
            return max(complete, key=lambda each: sum(each.counts.values()))  # the newest of equals
        return next((each for each in self.runs if each.counts), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedPatchSet:
    """A patch set; ``parent`` is the commit that it was measured against, None if it was not measured."""

    change: str = field(metadata=ADDRESS)
    patch_set: int
    revision: str
    subject: str
    parent: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RatioOfRatios(MeasuredRatio):
    """Two patch sets in one metric of one benchmark; ``base`` and ``patch`` are each against the parent.

    ``ratio`` is the second ratio divided by the first. It is None if one of the two is missing, and if both
    patch sets share the build: then there is one result.
    """

    job: str
    series_id: int
    base: Comparison = field(metadata=PAGES_ONLY)
    patch: Comparison = field(metadata=PAGES_ONLY)
    is_one_result: bool = field(metadata={"description": "whether both patch sets share the build"})


@dataclass(frozen=True, slots=True, kw_only=True)
class PatchSetPair:
    """A patch set beside another one, or beside a commit: each was measured by itself.

    ``parent``: the commit that ``base`` was measured against, if ``patch`` was measured against the same
    code; or the commit, if the patch set was measured against that. None otherwise: there are no ``rows``.
    """

    base: ComparedPatchSet | MergedCommit
    patch: ComparedPatchSet | MergedCommit
    parent: str | None
    rows: tuple[RatioOfRatios, ...] = ()


class CommitReading(Protocol):
    """Merged commits as a viewer sees them."""

    def seen_by(self, viewer: Viewer | None) -> CommitReading:
        """Return the commits of a viewer; None: of an anonymous reader."""

    def branches(self) -> Sequence[BranchName]:
        """Return the branches with a commit in the last 30 days, in order."""

    def commits(self, branch: BranchName, limit: int) -> Sequence[MergedCommit]:
        """Return the newest commits of a branch, newest first."""

    def commit(self, branch: BranchName, reference: Reference) -> MergedCommit:
        """Return the commit that a reference stands for.

        Raises:
            BadInput: it is of a patch set.
            NotFound: there is no such commit, or there are several.
        """

    def pair(self, branch: BranchName, first: Reference, second: Reference) -> CommitPair:
        """Return two commits, the earlier one as the base.

        Raises:
            BadInput: one is of a patch set, or both are the same commit.
            NotFound: there is no such commit, or there are several.
        """
