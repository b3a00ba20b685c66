"""End a run: decide its vote when all its builds are finished."""

from __future__ import annotations

from typing import TYPE_CHECKING

from service.domain.runs.states import BuildState, RunState
from service.domain.values.identity import RunKind
from service.steps.runs.carry_overrides import carry_overrides
from service.steps.runs.decide_run import decide_run
from service.steps.runs.record_regression import record_regression

if TYPE_CHECKING:
    from service.domain.review.links import Links
    from service.ports.store import Store


def finish_run(store: Store, links: Links, run_id: int) -> None:
    """Decide and finish a run if all its builds are finished; do nothing for any other run."""
    with store.transaction() as tx:
        run = tx.runs.lock(run_id)
        if run.state is not RunState.RUNNING:
            return
        builds = tx.builds.of_run(run_id)
        if any(build.state is not BuildState.FINISHED for build in builds):
            return
        if not run.kind.is_for_idle_pools:
            carry_overrides(tx, run, builds)
            decide_run(tx, run, builds, links)
        if run.kind in {RunKind.POST_SUBMIT, RunKind.LONGER}:
            record_regression(tx, run, builds)
        tx.runs.end(run_id, RunState.FINISHED)
