"""Calibrate: an idle machine measures a branch against itself."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from service.domain.project.project_file import FILE_NAME, parse_project_file
from service.domain.values.errors import BadInput, NotFound, Permanent, Transient
from service.domain.values.identity import RunKind
from service.domain.verdict.calibration.schedule import ASKED_WITHIN, due_branches, still_asks
from service.steps.runs.new_run import run_of_pool, start_run

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from service.domain.verdict.calibration.schedule import BranchKey
    from service.ports.runs.upkeep import Calibrations
    from service.ports.sources import Source
    from service.ports.store import Store


def calibrate(store: Store, upkeep: Calibrations, source_of: Callable[[str], Source]) -> int:
    """Start a calibration on every idle machine that needs one, and return how many were started.

    ``source_of`` returns the mirrors of a review server's projects. It raises Permanent for a server that is
    not configured any more; nothing of it is measured.

    A machine has at most one unfinished calibration. If a branch is gone, or its project file no longer asks
    for a calibration, the machine's next branch gets its turn.

    Raises:
        Transient: a branch could not be fetched; all other branches were processed.
    """
    served: set[tuple[str, str]] = set()  # pools and machines
    started = 0
    fault: Transient | None = None
    for (branch, machine), jobs in due_branches(upkeep.idle_jobs(ASKED_WITHIN)).items():
        if (branch.pool, machine) in served:
            continue
        try:
            source = source_of(branch.instance)
        except Permanent:
            continue
        try:
            head = _head(source, branch, jobs)
        except Transient as error:
            fault = error
            continue
        if head is not None:
            served.add((branch.pool, machine))
            started += _start(store, branch, machine, head)
    if fault is not None:
        raise fault
    return started


def _head(source: Source, key: BranchKey, jobs: Collection[str]) -> str | None:
    """Return the commit to measure; None if the branch is gone or its jobs no longer need a calibration."""
    with suppress(NotFound, BadInput):
        source.fetch(key.project, f"refs/heads/{key.branch}")
        head = source.head(key.project, key.branch)
        text = source.read(key.project, head, FILE_NAME)
        if text is not None and still_asks(parse_project_file(text), key.pool, jobs):
            return head
    return None


def _start(store: Store, key: BranchKey, machine: str, head: str) -> bool:
    where = f"{machine} in pool {key.pool}" if machine else f"pool {key.pool}"
    subject = f"Calibration of {where}: {key.branch} against itself"
    run = run_of_pool(RunKind.CALIBRATION, key, head, subject, machine=machine)
    with store.transaction() as tx:
        return start_run(tx.runs, tx.outbox, run)
