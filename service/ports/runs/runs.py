"""Runs as steps read and write them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from service.domain.runs.states import RunState
from service.domain.values.identity import ChangeKey, RunKind


@dataclass(frozen=True, slots=True)
class NewRun:
    """A run to be planned."""

    kind: RunKind
    patch_set_id: int | None
    instance: str
    project: str
    branch: str
    revision: str
    subject: str = ""
    author: str = ""
    pool: str = ""  # builds only this pool's jobs; empty: all
    machine: str = ""  # of a calibration: the machine of the pool that it is for; empty: any
    parent: str | None = None  # of an anchor: the commit to compare with; of others, git says it
    previous_id: int | None = None  # of kind longer: the run before; of an anchor: the range that it narrows
    requested_by: str = ""  # who asked for an anchor: an account, or an operator; empty: nobody
    committed_at: datetime | None = None  # of an anchor that is a backfill's: when its revision was made


@dataclass(frozen=True, slots=True)
class RunRecord:
    """A stored run. ``change`` and ``ref`` are None if it belongs to no patch set.

    Only jobs of ``pool`` are built, by ``machine``; empty: all, by any. ``is_called_off``: a person ended it.
    ``is_outdated``: the run checks a patch set that is not the current one of an open change.
    ``previous_id`` and ``committed_at`` are as in :class:`NewRun`.
    """

    id: int
    kind: RunKind
    state: RunState
    instance: str
    project: str
    branch: str
    revision: str
    parent: str | None
    label: str
    patch_set_id: int | None
    change: ChangeKey | None
    ref: str | None
    pool: str = ""
    machine: str = ""
    is_called_off: bool = False
    is_outdated: bool = False
    previous_id: int | None = None
    committed_at: datetime | None = None

    @property
    def patch_set(self) -> int | None:
        """The number of its patch set, which ends the ref."""
        return int(self.ref.rpartition("/")[2]) if self.ref else None


class Runs(Protocol):
    """Runs from planning to their end."""

    def add(self, run: NewRun) -> int | None:
        """Store a run in state planning; return its id, None if the same one exists.

        The run of a merged commit that exists without a patch set gets that of the new one.
        """

    def give_to_change(self, run: NewRun | RunRecord, commit: str) -> bool:
        """Give the run of a merged commit that was found on the branch first to the change of another run.

        Return whether there is one without a patch set.
        """

    def lock(self, run_id: int) -> RunRecord:
        """Return a run; it and its change are locked until the transaction ends. Raises NotFound."""

    def start(
        self,
        run_id: int,
        *,
        tree: str,
        parent: str | None,
        parent_tree: str | None,
        label: str,
        merged_as: str = "",
    ) -> None:
        """Move a planned run to running. A run in any other state stays as it is.

        ``merged_as``: the merge commit that brought the change to the branch; empty: there is none.
        """

    def end(self, run_id: int, state: RunState, reason: str = "") -> None:
        """Move a run to an end state; a run that has ended keeps its state."""

    def cancel(self, change_id: int, *, keep_patch_set: int | None, reason: str = "") -> None:
        """Cancel unfinished check runs of a change, except those of one patch set.

        Their builds go on until :meth:`LostBuilds.drop_unwanted_builds` finds that no other run adopted them.
        """

    def cancel_check(self, run_id: int) -> None:
        """End an unfinished run because a person asked for it; the service does not start it anew."""

    def follow(self, previous: RunRecord, comment_id: int | None, *, is_planned: bool = True) -> int:
        """Store a running run without builds that follows an ended one of the same revision.

        One that is not planned is in state planning.
        """
