"""End a build: analyse its execution, or give up because no machine can finish it."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final

import structlog

from service.domain.building.spec import BuildSpec
from service.domain.runs.machine_report import BuildEnd
from service.domain.runs.states import BuildState
from service.domain.runs.vote import CONSEQUENCES, Counts, Outcome
from service.domain.wording.build_causes import conflicts, merged_into
from service.ports.failures.storing import BuildFailures
from service.ports.runs.queue import Task
from service.steps.failures.configured_failures import with_configured
from service.steps.runs.judge_compared import judge_compared
from service.steps.runs.log_context import bind_build, names_of_build
from service.steps.runs.note_lost_tests import note_lost_tests
from service.steps.runs.store_tests import store_tests

if TYPE_CHECKING:
    from collections.abc import Callable

    from service.ports.building import Artifacts
    from service.ports.runs.builds import BuildRecord
    from service.ports.store import Store, Transaction
    from service.steps.failures.configured_failures import Search

_LOG: Final = structlog.get_logger(__name__)


def analyse(store: Store, artifacts: Artifacts, build_id: int, search: Search | None = None) -> None:
    """Finish a build that a machine executed; do nothing for any other build."""
    with store.transaction() as tx:
        bind_build(tx.builds.lock(build_id))
    if (report := with_configured(store, artifacts, build_id, search)) is None:
        return
    with store.transaction() as tx:
        build = tx.builds.lock(build_id)
        if build.state is not BuildState.EXECUTED:
            return
        if report.outcome is None:
            end = judge_compared(tx.measurements, tx.evidence, artifacts, build)
            end = replace(end, causes=(*end.causes, *report.causes), cleared=report.cleared)
        else:
            end = BuildEnd(
                report.outcome,
                report.causes,
                failures=report.failures,
                is_cut=report.is_cut,
                cleared=report.cleared,
            )
        spec = BuildSpec.from_mapping(build.spec)
        end = replace(end, causes=(*end.causes, *note_lost_tests(tx.history, artifacts, spec, report)))
        end = _on_branch(spec, end)
        store_tests(tx.measurements, artifacts, build, report)
        if report.findings:
            tx.measurements.store_findings(build_id, report.findings)
        log_end = finish(tx, build, end)
    log_end()


def _on_branch(spec: BuildSpec, end: BuildEnd) -> BuildEnd:
    """Say what was compared, and withhold a +1 from a patch set that conflicts with its branch."""
    if spec.conflict and CONSEQUENCES[end.outcome].counts is Counts.PASS:
        cause = conflicts(spec.branch, spec.conflict)
        return replace(end, outcome=Outcome.CONFLICT, causes=(cause, *end.causes))
    if (merge := spec.patch.merge) is None:
        return end
    note = merged_into(spec.branch, merge.onto)
    if CONSEQUENCES[end.outcome].counts is Counts.FAIL:  # the author does not have this code
        return replace(end, causes=(*end.causes, note))
    return replace(end, notes=(note, *end.notes))


def give_up(store: Store, build_id: int, cause: str) -> None:
    """Finish a build that no machine could finish, as an infrastructure failure or as cancelled."""
    with store.transaction() as tx:
        build = tx.builds.lock(build_id)
        if build.state is BuildState.FINISHED:
            return
        outcome = Outcome.CANCELLED if build.cancel_requested else Outcome.INFRASTRUCTURE
        log_end = finish(tx, build, BuildEnd(outcome, (cause,)))
    log_end()


def finish(tx: Transaction, build: BuildRecord, end: BuildEnd) -> Callable[[], object]:
    """Finish a build, store its failures, and queue the vote of each run that waits for it.

    Returns a function that logs the end; call it after the commit.
    """
    if end.failures or end.is_cut or end.cleared:
        tx.failures.store_failures(build.id, BuildFailures(end.failures, end.is_cut), end.cleared)
    runs = tx.builds.finish(build.id, end.outcome, end.causes, end.blamed, end.notes)
    for run_id in runs:
        tx.outbox.queue_task(Task.VOTE, run_id)
    ended = {"id": build.id, "outcome": end.outcome, "runs": list(runs), **names_of_build(build)}
    return partial(_LOG.info, "build.finished", **ended)
