"""Record what a merged commit made slower, and what the gate had said about it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from service.domain.building.spec import BuildSpec
from service.domain.runs.overrides import Override, OverrideKind
from service.domain.runs.waivers import waived_by
from service.domain.trunk.notice import recipients
from service.domain.trunk.regression import GateSaid, RegressionState, Weight, first_state, gate_said
from service.domain.trunk.spread import unexplained
from service.domain.values.identity import RunKind
from service.domain.verdict.calibration.schedule import BranchKey
from service.steps.runs.decide_run import judged_of, waivers_on

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from service.ports.runs.builds import BuildRecord
    from service.ports.runs.runs import RunRecord
    from service.ports.store import Transaction


def record_regression(tx: Transaction, run: RunRecord, builds: Sequence[BuildRecord]) -> None:
    """Store the regression of a finished run on a merged commit, and queue its notices.

    Nothing is stored if nothing is slower. What the gate said is stored as it is now: later overrides and
    reruns do not change it.
    """
    found = tx.regressions.slower_results(run.id)
    spread = _spread(tx, run)
    results = [each for each in found.results if spread is None or each.series_id in spread]
    if not results:
        return
    waived: Collection[int] = ()
    accepted: Collection[int] = ()
    if found.check_id is not None:
        check = tx.runs.lock(found.check_id)
        waived = _waived(tx, check)
        accepted = _accepted(tx, run, builds, check)
    state = first_state((each.weight, each.build_id in accepted) for each in results)
    if spread is None:
        said = [(each, gate_said(each.checked, waived)) for each in results]
    else:
        said = [(each, GateSaid.SPREAD) for each in results]
    recorded = tx.regressions.record(run.id, state, said)
    if recorded is not None and state is RegressionState.UNTRIAGED:
        jobs = {build.id: BuildSpec.from_mapping(build.spec).job for build in builds}
        counting = (each for each in results if each.weight is Weight.COUNTS)
        slower = ((jobs[each.build_id], each.benchmark) for each in counting)
        tx.regressions.tell(
            recorded, recipients(slower, is_late=run.kind is RunKind.LONGER and spread is None)
        )


def _spread(tx: Transaction, run: RunRecord) -> Collection[int] | None:
    """Return the series of an anchor that no single commit explains, if the run measured an anchor again."""
    if run.kind is not RunKind.LONGER or run.previous_id is None:
        return None
    if tx.runs.lock(run.previous_id).kind is not RunKind.ANCHOR:
        return None
    ranges = tx.branches.slow_ranges(BranchKey(run.pool, run.instance, run.project, run.branch))
    found = unexplained(ranges.anchors, ranges.known)
    return {each.series_id for each in found if each.run_id == run.previous_id}


def _waived(tx: Transaction, check: RunRecord) -> Collection[int]:
    """Return the builds of a check whose failures do not count."""
    checked = tx.builds.of_run(check.id)
    waivers = waivers_on(tx.failures, tx.overrides, check, checked)
    return {build.id for build, waiver in zip(checked, waivers, strict=True) if waiver is not None}


def _accepted(
    tx: Transaction, run: RunRecord, builds: Sequence[BuildRecord], check: RunRecord
) -> Collection[int]:
    """Return the builds whose slow-downs a reviewer accepted on the checked patch set, up to its level.

    The merged commit may be another one: a submit may rebase.
    """
    if check.patch_set_id is None:
        return ()
    judged = [replace(each, known=None) for each in judged_of(tx.failures, run, builds)]
    waivers = waived_by(judged, tx.overrides.of(check.patch_set_id), check.revision)
    return {
        build.id
        for build, waiver in zip(builds, waivers, strict=True)
        if isinstance(waiver, Override) and waiver.kind is OverrideKind.ACCEPT
    }
