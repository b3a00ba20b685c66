"""The run that a change needs: a check of its patch set, or a measurement of the merged commit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from service.domain.identity import RunKind
from service.ports.records import NewRun

if TYPE_CHECKING:
    from service.domain.gerrit.change import Change


def check_of(change: Change, patch_set_id: int) -> NewRun:
    """Make the check of a change's current patch set."""
    return run_of(change, RunKind.CHECK, patch_set_id, change.current.revision)


def run_of(change: Change, kind: RunKind, patch_set_id: int, revision: str) -> NewRun:
    """Make a run of the given kind on a revision of the change."""
    return NewRun(
        kind=kind,
        patch_set_id=patch_set_id,
        instance=change.key.instance,
        project=change.project,
        branch=change.branch,
        revision=revision,
        subject=change.subject,
        author=change.current.author.name or change.owner.name,
    )
