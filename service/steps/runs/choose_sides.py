"""Choose the revisions that a run compares.

If the branch has moved on since a patch set's parent, the jobs whose files it changed compare what would be
merged with the head. Otherwise a patch set could repeat what others merged, be slower, and still look faster
than its parent. See "What is compared" in docs/contributor/statistics.md.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from service.domain.building.spec import REVIEWED, UNREVIEWED, Merge, Revision
from service.domain.project.configuration import Work
from service.domain.project.project_file import concerns
from service.domain.review.change import ChangeStatus
from service.domain.trunk.followed import LOOKED_AT
from service.domain.values.errors import BadInput, NotFound
from service.domain.values.identity import RunKind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from service.domain.project.job import Job
    from service.ports.review.server import CurrentChanges
    from service.ports.runs.runs import RunRecord
    from service.ports.sources import Source
    from service.ports.store import Store


@dataclass(frozen=True, slots=True)
class Sides:
    """Two revisions to compare. ``conflict``: the head that the patch set cannot be merged into."""

    base: Revision | None
    patch: Revision
    conflict: str = ""


@dataclass(frozen=True, slots=True)
class ChosenSides:
    """The sides of a run's jobs.

    Args:
        own: the patch set and its parent.
        merged: both as they would be merged into the branch; equal to ``own`` if the branch has not moved.
        moved: paths that differ between the two bases; None: unknown.
        changed: paths that differ between the merged sides; None: unknown.
    """

    own: Sides
    merged: Sides
    moved: Sequence[str] | None = ()
    changed: Sequence[str] | None = ()

    def of(self, job: Job) -> Sides:
        """Return the sides of a job. Tests, also those that are compared, look at the patch set as it is."""
        is_benchmark = job.compares and job.configuration.work is Work.BENCHMARKS
        return self.merged if is_benchmark and concerns(job, self.moved) else self.own

    def concern(self, job: Job) -> bool:
        """Return whether the merge changes a file of the job; it also brings parents that are no changes."""
        return concerns(job, self.changed)


def choose_sides(store: Store, server: CurrentChanges, source: Source, run: RunRecord) -> ChosenSides:
    """Choose the sides of a run; its refs must be fetched.

    Raises:
        Transient: the review server or git does not answer.
    """

    def revision(commit: str, ref: str, trust: str) -> Revision:
        return Revision(commit, source.tree(run.project, commit), ref, trust)

    is_check = run.kind is RunKind.CHECK
    branch = f"refs/heads/{run.branch}"
    ref = run.ref if is_check and run.ref else branch
    commit = _landed(source, run) if run.kind is RunKind.POST_SUBMIT else run.revision
    patch = revision(commit, ref, UNREVIEWED if is_check else REVIEWED)
    if run.kind is RunKind.CALIBRATION:
        return _alone(Sides(patch, patch))
    if run.kind is RunKind.ANCHOR:
        return _alone(Sides(revision(_on_branch(source, run), branch, REVIEWED), patch))
    parent = source.parent(run.project, commit)
    if parent is None:
        return _alone(Sides(None, patch))
    # A parent that is still under review does not count as reviewed.
    is_merged = source.is_merged(run.project, parent, run.branch)
    # Fetching the patch set's own ref also fetches its parents.
    base = revision(parent, ref, REVIEWED if is_merged else UNREVIEWED)
    own = Sides(base, patch)
    head = revision(source.head(run.project, run.branch), branch, REVIEWED)
    if not is_check or head.commit == parent or source.is_merged(run.project, run.revision, run.branch):
        return _alone(own)
    status = None if is_merged else _status_of(store, server, run, parent)
    return _on(source, run, own, base, head, status)


def _landed(source: Source, run: RunRecord) -> str:
    """Return the commit of the branch that brought a merged change: itself, or the merge commit.

    A merge commit is compared with the branch before it. The check compared the same, if it merged the
    change into the same head; and the trends get no gap.
    """
    line = source.line(run.project, run.branch, LOOKED_AT)
    if any(each.revision == run.revision for each in line):
        return run.revision
    merges = (each.revision for each in line if run.revision in each.parents[1:])
    return next(merges, run.revision)


def _on_branch(source: Source, run: RunRecord) -> str:
    """Return the commit that an anchor compares with.

    Raises:
        BadInput: the branch was set back, or has the commits in the opposite order.
    """
    for commit in (run.parent, run.revision):
        if commit is None or not source.is_merged(run.project, commit, run.branch):
            raise BadInput(f"{run.branch} does not have the commit {commit} any more")
    line = [each.revision for each in source.line(run.project, run.branch, LOOKED_AT)]
    if run.parent in line and run.revision not in line[: line.index(run.parent) + 1]:
        raise BadInput(f"{run.branch} has the commit {run.parent} after {run.revision}")
    return str(run.parent)


def _alone(own: Sides) -> ChosenSides:
    return ChosenSides(own, own)


def _status_of(store: Store, server: CurrentChanges, run: RunRecord, parent: str) -> ChangeStatus | None:
    """Return the status of the change with a parent; None: no visible change of the branch has it."""
    if found := server.status_of(run.project, run.branch, parent):
        return found
    # The server's search may not know a change yet, or not any more.
    with store.transaction() as tx:
        key = tx.changes.with_patch_set(run.instance, (run.project, run.branch), parent)
    with suppress(NotFound):
        if key and (change := server.change(key)).branch == run.branch:
            return change.status
    return None


def _on(
    source: Source, run: RunRecord, own: Sides, parent: Revision, head: Revision, status: ChangeStatus | None
) -> ChosenSides:
    """Choose the sides on a head that is not the parent.

    Args:
        source: has all commits.
        run: a check.
        own: the patch set and its parent.
        parent: of the patch set.
        head: of the branch.
        status: that of the change with the parent; None: the parent is merged, or no visible change of the
            branch has it.
    """
    # A chain: its changes are merged in their order, so the parent comes first.
    is_chained = status in {ChangeStatus.NEW, ChangeStatus.ABANDONED}
    # The parent is on the branch as another commit, which the submit made: only the rest is merged.
    since = parent.commit if status is ChangeStatus.MERGED else ""
    base = _merged(source, run, parent, head) if is_chained else head
    patch = _merged(source, run, own.patch, head, since) if base else None
    if base is None or patch is None:
        conflicting = Sides(own.base, own.patch, head.commit)
        return ChosenSides(own, conflicting, _changed(source, run, parent, head))
    merged = Sides(base, patch)
    return ChosenSides(own, merged, _changed(source, run, parent, base), _changed(source, run, base, patch))


def _merged(
    source: Source, run: RunRecord, revision: Revision, head: Revision, since: str = ""
) -> Revision | None:
    """Return a revision merged into the head; None if they conflict, itself if that adds nothing to it."""
    merge = Merge(head.commit, revision.commit, since)
    commit = source.merge(run.project, merge)
    if commit is None:
        return None
    tree = source.tree(run.project, commit)
    return revision if tree == revision.tree else Revision(commit, tree, revision.ref, revision.trust, merge)


def _changed(source: Source, run: RunRecord, before: Revision, after: Revision) -> Sequence[str] | None:
    try:
        return source.changed_paths(run.project, before.commit, after.commit)
    except BadInput:  # too many
        return None
