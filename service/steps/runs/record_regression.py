"""Record what a merged commit made slower, and what the gate had said about it."""

from __future__ import annotations

import math
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

    from service.domain.trunk.spread import SlowerAnchor
    from service.ports.runs.builds import BuildRecord
    from service.ports.runs.runs import RunRecord
    from service.ports.store import Transaction
    from service.ports.trunk import SlowerResult


def record_regression(tx: Transaction, run: RunRecord, builds: Sequence[BuildRecord]) -> None:
    """Store the regression of a finished run on a merged commit, and queue its notices.

    Nothing is stored if nothing is slower. What the gate said is stored as it is now: later overrides and
    reruns do not change it. No notice leaves of what a backfill found: it is old, often many at once,
    and the operator who asked looks at the list. A run that compares the commits again that a range was
    narrowed to belongs to that range: only its page says what it found.
    """
    previous = _previous(tx, run) if run.kind is RunKind.LONGER else run
    if previous.kind is RunKind.ANCHOR and previous.previous_id is not None:
        return
    found = tx.regressions.slower_results(run.id)
    is_old = previous.committed_at is not None
    is_range = previous.kind is RunKind.ANCHOR and not is_old
    results = _unexplained(tx, run, found.results) if is_range else found.results
    if not results:
        return
    waived: Collection[int] = ()
    accepted: Collection[int] = ()
    if found.check_id is not None:
        check = tx.runs.lock(found.check_id)
        waived = _waived(tx, check)
        accepted = _accepted(tx, run, builds, check)
    state = first_state((each.weight, each.build_id in accepted) for each in results)
    said = [(each, GateSaid.SPREAD if is_range else gate_said(each.checked, waived)) for each in results]
    recorded = tx.regressions.record(run.id, state, said)
    if recorded is not None and state is RegressionState.UNTRIAGED and not is_old:
        specs = {build.id: BuildSpec.from_mapping(build.spec) for build in builds}
        counting = [each for each in results if each.weight is Weight.COUNTS]
        slower = [(specs[each.build_id].job, each.benchmark) for each in counting]
        paths = [to for each in counting for to in specs[each.build_id].path_owners]
        is_late = run.kind is RunKind.LONGER and not is_range
        tx.regressions.tell(recorded, recipients(slower, paths, is_late=is_late))


def _previous(tx: Transaction, run: RunRecord) -> RunRecord:
    return run if run.previous_id is None else tx.runs.lock(run.previous_id)


def _unexplained(tx: Transaction, run: RunRecord, results: Sequence[SlowerResult]) -> Sequence[SlowerResult]:
    """Return the results of a run on an anchor's commits that no single commit between them explains."""
    ranges = tx.branches.slow_ranges(BranchKey(run.pool, run.instance, run.project, run.branch))
    anchors = {each.series_id: each for each in ranges.anchors if each.run_id == run.previous_id}
    measured = [_as_measured(anchors[each.series_id], each) for each in results if each.series_id in anchors]
    found = {each.series_id for each in unexplained(measured, ranges.known)}
    return [each for each in results if each.series_id in found]


def _as_measured(anchor: SlowerAnchor, result: SlowerResult) -> SlowerAnchor:
    """Return an anchor with the size of a slower result; its interval is on one side of no change."""
    ends = (result.ratio, result.low, result.high)
    worsening, *interval = (abs(math.log(each)) if each else 0.0 for each in ends)
    return replace(anchor, worsening=worsening, low=min(interval))


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
