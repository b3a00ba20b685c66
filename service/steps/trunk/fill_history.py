"""Fill history: measure older commits of a branch because an operator asked for it."""

from __future__ import annotations

from dataclasses import replace
from itertools import accumulate
from typing import TYPE_CHECKING, Final

from service.domain.access.audit import AuditKind
from service.domain.trunk.backfill import Backfill, backfill_links, links_to_measure
from service.domain.values.errors import BadInput, NotFound, Permanent, Transient
from service.domain.values.identity import RunKind
from service.domain.values.text import listed, plain
from service.domain.verdict.calibration.schedule import BranchKey, is_anchored
from service.steps.project.read_project_file import read_project_file
from service.steps.runs.new_run import run_of_pool, start_run

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
    from datetime import datetime

    from service.domain.project.project_file import ProjectFile
    from service.domain.sources.commit import BranchCommit
    from service.domain.trunk.backfill import BackfillLink
    from service.ports.backfill import StoredBackfill
    from service.ports.sources import Source
    from service.ports.store import Store, Transaction

_MAX_TEXT: Final = 500


def ask_for_backfill(
    store: Store, instances: Iterable[str], branch: str, project: str, commits: int, person: str
) -> int:
    """Store a request to measure older commits of a branch; return its id.

    Args:
        store: has the branches that were checked or measured lately; only these can be filled.
        instances: the review servers.
        branch: its name.
        project: that has it, perhaps as INSTANCE~PROJECT; empty: the only one.
        commits: how many of its last ones.
        person: who asked.

    Raises:
        BadInput: no such branch was measured lately, or several were.
    """
    with store.transaction() as tx:
        known = [(each, *own) for each in instances for own in tx.branches.followed(each)]
        found = [
            each for each in known if each[2] == branch and project in {"", each[1], f"{each[0]}~{each[1]}"}
        ]
        if len(found) != 1:
            raise BadInput(_which(branch, project, found), "--project" if found else "--branch")
        number = tx.backfills.add(Backfill(*found[0], commits), person)
        details = {"commits": f"the last {commits}"}
        tx.audit.record_act(AuditKind.COMPARISON_REQUESTED, person, " ".join(found[0]), details)
    return number


def end_backfill(store: Store, number: int, person: str) -> bool:
    """End a request; return False if it had ended. Raises NotFound."""
    with store.transaction() as tx:
        is_ended = tx.backfills.cancel(number)
        if is_ended:
            tx.audit.record_act(AuditKind.COMPARISON_ENDED, person, f"backfill {number}", {})
    return is_ended


def _which(branch: str, project: str, found: Sequence[tuple[str, str, str]]) -> str:
    if found:
        names = (f"{instance}~{name}" for instance, name, _ in found)
        return f"several projects have a branch {branch}: choose of {listed([*names])}"
    of = f" of {project}" if project else ""
    return f"no run of the last 30 days checked or measured {branch}{of}"


def fill_history(
    store: Store, source_of: Callable[[str], Source], idle: Collection[str], now: datetime
) -> Collection[str]:
    """Start the next link of the oldest request in each of these idle pools; return the pools that got one.

    A request that needs a server, project or branch that is gone waits.

    Raises:
        Transient: a branch could not be fetched; all other requests were looked at.
    """
    with store.transaction() as tx:
        free = {pool for pool in idle if not tx.branches.is_measuring(pool)}
        waiting = tx.backfills.waiting() if free else ()
    started, fault = set[str](), None
    for each in waiting:
        if not free - started:
            break
        try:
            started |= _serve(store, source_of(each.backfill.instance), each, free - started, now)
        except (BadInput, NotFound, Permanent):
            continue
        except Transient as error:
            fault = error
    if fault is not None:
        raise fault
    return started


def _serve(
    store: Store, source: Source, stored: StoredBackfill, idle: Collection[str], now: datetime
) -> set[str]:
    asked = stored.backfill
    source.fetch(asked.project, f"refs/heads/{asked.branch}")
    line = _dated(source.line(asked.project, asked.branch, asked.commits + 1), now)
    jobs = _jobs(read_project_file(source, asked.project, asked.branch))
    started, links, left, failed = set[str](), 0, 0, 0
    with store.transaction() as tx:
        for pool, names in jobs.items():
            key = BranchKey(pool, asked.instance, asked.project, asked.branch)
            measured = tx.backfills.measured_in(key, names, [each.revision for each in line])
            tries = tx.backfills.tries(key)
            found = backfill_links(asked, line, measured)
            waiting = links_to_measure(found, tries)
            links, left = links + len(found), left + len(waiting)
            failed += sum(each.ends in tries and tries[each.ends].is_lost for each in found)
            if waiting and pool in idle and _start(tx, key, waiting[0], stored.requested_by):
                started.add(pool)
        tx.backfills.note(stored.id, links, left, failed)
    return started


def _start(tx: Transaction, key: BranchKey, link: BackfillLink, requested_by: str) -> bool:
    commit = link.patch
    subject = plain(commit.subject, _MAX_TEXT)
    run = replace(
        run_of_pool(RunKind.ANCHOR, key, commit.revision, subject, parent=link.base.revision),
        author=plain(commit.author, _MAX_TEXT),
        requested_by=requested_by,
        committed_at=commit.committed_at,
    )
    return start_run(tx.runs, tx.outbox, run)


def _jobs(project_file: ProjectFile) -> Mapping[str, Collection[str]]:
    """Return the names of the benchmark jobs that each pool measures."""
    pools = dict.fromkeys(job.pool for job in project_file.jobs)
    named = {pool: [job.name for job in project_file.jobs if is_anchored(job, pool)] for pool in pools}
    return {pool: names for pool, names in named.items() if names}


def _dated(line: Sequence[BranchCommit], now: datetime) -> Sequence[BranchCommit]:
    """Let no commit be younger than now, or than one after it: committers' clocks differ."""
    moments = [*accumulate((min(each.committed_at, now) for each in reversed(line)), max)]
    return [replace(each, committed_at=at) for each, at in zip(line, reversed(moments), strict=True)]
