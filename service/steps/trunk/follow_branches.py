"""Follow branches: measure commits that no change brought."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Final

from service.domain.trunk.followed import LOOKED_AT, MOST, commits_to_measure
from service.domain.values.errors import BadInput, NotFound, Transient
from service.domain.values.identity import RunKind
from service.domain.values.text import plain
from service.ports.runs.runs import NewRun
from service.steps.runs.new_run import start_run

if TYPE_CHECKING:
    from datetime import datetime

    from service.ports.sources import Source
    from service.ports.store import Store


_MAX_TEXT: Final = 500


def follow_branches(store: Store, source: Source, instance: str, now: datetime) -> int:
    """Start a run for each commit that a branch got without a change, and return how many.

    Follows the branches of a review server on which something was checked or measured lately.

    Args:
        store: has the runs.
        source: the mirrors of the review server's projects.
        instance: the review server.
        now: by the review server's clock.

    Raises:
        Transient: a branch could not be fetched; all other branches were followed.
    """
    with store.transaction() as tx:
        branches = tx.branches.followed(instance)
    started, fault = 0, None
    for project, branch in branches:
        try:
            started += _follow(store, source, (instance, project, branch), now)
        except (BadInput, NotFound):  # the branch or the project is gone, or git's answer is too long
            continue
        except Transient as error:
            fault = error
    if fault is not None:
        raise fault
    return started


def _follow(store: Store, source: Source, key: tuple[str, str, str], now: datetime) -> int:
    instance, project, branch = key
    source.fetch(project, f"refs/heads/{branch}")
    line = source.line(project, branch, LOOKED_AT)
    started = 0
    with store.transaction() as tx:
        measured = tx.branches.measured(*key, [each.revision for each in line])
        found = (
            each
            for each in commits_to_measure(line, measured, now)
            # The change that it is, or that it merged, starts the run.
            if not any(
                tx.changes.with_patch_set(instance, (project, branch), way)
                for way in (each.revision, *each.parents[1:2])
            )
        )
        most = max(0, MOST - tx.branches.unfinished(*key))
        for commit in islice(found, most):
            run = NewRun(
                kind=RunKind.POST_SUBMIT,
                patch_set_id=None,
                instance=instance,
                project=project,
                branch=branch,
                revision=commit.revision,
                subject=plain(commit.subject, _MAX_TEXT),
                author=plain(commit.author, _MAX_TEXT),
            )
            started += start_run(tx.runs, tx.outbox, run)
    return started
