"""Retry a step that failed: the step itself, or what ended because it was given up."""

from __future__ import annotations

from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from service.domain.access.audit import AuditKind
from service.domain.runs.health import Step
from service.domain.runs.states import UNFINISHED, BuildState, RunState
from service.domain.runs.vote import Outcome
from service.domain.values.errors import NotFound
from service.domain.values.identity import RunKind
from service.ports.runs.queue import Task
from service.steps.runs.rerun import run_again

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from service.ports.runs.runs import RunRecord
    from service.ports.runs.upkeep import StepFailures
    from service.ports.store import Store, Transaction


class Retried(StrEnum):
    """The effects of a retry."""

    DUE = "due"  # the schedule starts it within seconds
    BEGUN_ANEW = "begun anew"  # a run or build that had ended because of it
    NOT_REPEATED = "not repeated"  # the only run of a merged commit: a backfill measures the commit
    FORGOTTEN = "forgotten"  # nothing is left to do, or only a person can ask for it


def retry(store: Store, upkeep: StepFailures, step: Step, entity: int, actor: str) -> Retried:
    """Retry a step, and record in the audit log who asked.

    A run of the current patch set is checked again from the step on; a build is built again.

    Args:
        store: the store.
        upkeep: forgets the step's failures.
        step: one that the schedule does not start again by itself.
        entity: what it works on.
        actor: who asks, for the audit log.
    """
    with store.transaction() as tx:
        try:
            retried = _RETRIES[step](tx, entity)
        except NotFound:  # it was deleted
            retried = Retried.FORGOTTEN
        tx.audit.record_act(AuditKind.STEP_RETRIED, actor, f"{step} {entity}", {"effect": retried})
    upkeep.clear_step_failure(Task(step), entity)
    return retried


def _handle_event(tx: Transaction, event_id: int) -> Retried:
    tx.events.change_of(event_id)  # raises if it is gone
    return Retried.DUE


def _run_comment_commands(tx: Transaction, comment_id: int) -> Retried:
    # Its author got a reply when the step was given up, and may have written the command again.
    return Retried.DUE if tx.comments.lock(comment_id).is_pending else Retried.FORGOTTEN


def _plan(tx: Transaction, run_id: int) -> Retried:
    run = tx.runs.lock(run_id)
    if run.state is not RunState.REFUSED or not _may_run_again(tx, run):
        return Retried.DUE if run.state is RunState.PLANNING else _not_begun(run)
    tx.outbox.queue_task(Task.PLAN, tx.runs.follow(run, None, is_planned=False))
    return Retried.BEGUN_ANEW


def _vote(tx: Transaction, run_id: int) -> Retried:
    run = tx.runs.lock(run_id)
    if run.state is not RunState.REFUSED or not _may_run_again(tx, run):
        return Retried.DUE if run.state in UNFINISHED else _not_begun(run)
    following = tx.runs.follow(run, None)
    for position, build in enumerate(tx.builds.of_run(run_id)):
        tx.builds.take(following, position, build.id)
    tx.outbox.queue_task(Task.VOTE, following)
    return Retried.BEGUN_ANEW


def _analyse(tx: Transaction, build_id: int) -> Retried:
    runs = [tx.runs.lock(run_id) for run_id in tx.external.runs_with(build_id)]
    build = tx.builds.lock(build_id)
    if build.state is BuildState.EXECUTED:
        return Retried.DUE
    run = next((each for each in runs if _may_run_again(tx, each)), None)
    has_ended = build.outcome is Outcome.INFRASTRUCTURE
    if run is None or run.state not in {RunState.RUNNING, RunState.FINISHED} or not has_ended:
        return _not_begun(runs[-1]) if runs and has_ended else Retried.FORGOTTEN
    run_again(tx, run, {build.job: None})
    return Retried.BEGUN_ANEW


def _not_begun(run: RunRecord) -> Retried:
    return Retried.NOT_REPEATED if run.kind is RunKind.POST_SUBMIT else Retried.FORGOTTEN


def _may_run_again(tx: Transaction, run: RunRecord) -> bool:
    """Return whether a run is the newest check of a current patch set, also of those that a person ended.

    A merged commit has one run only, and idle pools measure again by themselves.
    """
    if run.kind is not RunKind.CHECK or run.patch_set_id is None or run.is_outdated:
        return False
    runs = tx.history.runs_of(run.patch_set_id)
    return run.id == max(each.id for each in runs if each.kind is RunKind.CHECK)


_RETRIES: Final[Mapping[Step, Callable[[Transaction, int], Retried]]] = MappingProxyType(
    {
        Step.HANDLE_EVENT: _handle_event,
        Step.RUN_COMMENT_COMMANDS: _run_comment_commands,
        Step.PLAN: _plan,
        Step.ANALYSE: _analyse,
        Step.VOTE: _vote,
    }
)
