"""End a build: analyse its execution, or give up because no machine can finish it."""

from __future__ import annotations

from dataclasses import replace
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
from service.steps.runs.log_context import bind_build
from service.steps.runs.note_lost_tests import note_lost_tests
from service.steps.runs.store_tests import store_tests

if TYPE_CHECKING:
    from service.ports.building import Artifacts
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
        finish(tx, build_id, end)


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
        if build.state is not BuildState.FINISHED:
            outcome = Outcome.CANCELLED if build.cancel_requested else Outcome.INFRASTRUCTURE
            finish(tx, build_id, BuildEnd(outcome, (cause,)))


def finish(tx: Transaction, build_id: int, end: BuildEnd) -> None:
    """Finish a build, store its failures, and queue the vote of each run that waits for it."""
    if end.failures or end.is_cut or end.cleared:
        tx.failures.store_failures(build_id, BuildFailures(end.failures, end.is_cut), end.cleared)
    runs = tx.builds.finish(build_id, end.outcome, end.causes, end.blamed, end.notes)
    _LOG.info("build.finished", id=build_id, outcome=end.outcome, runs=list(runs))
    for run_id in runs:
        tx.outbox.queue_task(Task.VOTE, run_id)
