"""Record what a merged commit made slower, and what the gate had said about it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from service.domain.runs.overrides import Override, OverrideKind
from service.domain.trunk.regression import first_state, gate_said
from service.steps.runs.decide_run import waivers_on

if TYPE_CHECKING:
    from collections.abc import Sequence

    from service.ports.runs.builds import BuildRecord
    from service.ports.runs.runs import RunRecord
    from service.ports.store import Transaction


def record_regression(tx: Transaction, run: RunRecord, builds: Sequence[BuildRecord]) -> None:
    """Store the regression of a finished run on a merged commit; do nothing if nothing is slower.

    What the gate said is stored as it was at the merge: later overrides and reruns do not change it.
    """
    results = tx.regressions.slower_results(run.id)
    if not results:
        return
    waivers = zip(builds, waivers_on(tx.failures, tx.overrides, run, builds), strict=True)
    accepted = {
        build.id
        for build, waiver in waivers
        if isinstance(waiver, Override) and waiver.kind is OverrideKind.ACCEPT
    }
    state = first_state((each.weight, each.build_id in accepted) for each in results)
    tx.regressions.record(run.id, state, [(each, gate_said(each.checked)) for each in results])
