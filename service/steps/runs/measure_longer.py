"""Run the command `benchmark`: measure more pairs of undecided benchmarks."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from service.domain.building.spec import BuildSpec, MorePairs
from service.domain.project.benchmark_names import is_chosen
from service.domain.project.policy import MOST_PAIRS
from service.domain.runs.overrides import Override, OverrideKind
from service.domain.runs.states import BuildState, RunState
from service.domain.verdict.comparison.counting_pairs import counting_pairs
from service.domain.verdict.inference.interim_looks import look_from
from service.domain.wording.replies import (
    NO_PAIRS_NEEDED,
    NOT_MEASURED,
    OVERRIDDEN,
    STILL_RUNNING,
    no_measured_match,
    too_many_pairs,
)
from service.steps.runs.decide_run import waivers_on
from service.steps.runs.rerun import run_again

if TYPE_CHECKING:
    from collections.abc import Sequence

    from service.domain.review.comment_commands import MorePairsCommand
    from service.ports.runs.builds import BuildRecord
    from service.ports.runs.runs import RunRecord
    from service.ports.store import Transaction
    from service.ports.verdict import Measurements


def measure_longer(tx: Transaction, run: RunRecord | None, wanted: MorePairsCommand, comment_id: int) -> str:
    """Measure more pairs of undecided benchmarks in a running or finished run, beyond the policy's limit.

    Returns:
        The reply; empty if new builds were started for all of them.
    """
    if run is None or run.state not in {RunState.RUNNING, RunState.FINISHED}:
        return NOT_MEASURED
    builds = tx.builds.of_run(run.id)
    finished = [build for build in builds if build.state is BuildState.FINISHED]
    undecided = [
        build
        for build in finished
        if any(is_chosen(wanted.filter, name) for name in tx.measurements.unresolved_benchmarks(build.id))
    ]
    if not undecided:
        return _why_not_longer(tx.measurements, builds, wanted)
    specs: dict[str, BuildSpec | None] = {}
    refused: list[str] = []
    for build, waiver in zip(undecided, waivers_on(tx.failures, tx.overrides, run, undecided), strict=True):
        spec = longer_spec(tx.measurements, build, wanted)
        if isinstance(waiver, Override) and waiver.kind is OverrideKind.OVERRIDE:
            refused.append(f"{build.job}: {OVERRIDDEN}")
        elif spec.longer is not None and spec.longer.pairs > MOST_PAIRS:
            refused.append(f"{build.job}: {too_many_pairs(MOST_PAIRS)}")
        else:
            specs[build.job] = spec
    if specs:
        run_again(tx, run, specs, comment_id)
    return "; ".join(refused)


def longer_spec(stored: Measurements, build: BuildRecord, wanted: MorePairsCommand) -> BuildSpec:
    """Make the spec of a build that measures more pairs in the same configuration."""
    spec = BuildSpec.from_mapping(build.spec)
    most = spec.job.policy.base_pairs
    launched = {} if build.sequence_id is None else stored.disturbed_pairs(build.sequence_id)
    so_far = len(counting_pairs(launched, most))
    longer = MorePairs(wanted.filter, look_from(so_far + (wanted.count or most)))
    return replace(spec, longer=longer, second=False)


def _why_not_longer(stored: Measurements, builds: Sequence[BuildRecord], wanted: MorePairsCommand) -> str:
    if any(build.state is not BuildState.FINISHED for build in builds):
        return STILL_RUNNING
    selected = {
        name
        for build in builds
        if build.sequence_id is not None
        for listing in stored.listings(build.sequence_id)
        for name in (*listing.patch, *listing.base)
        if is_chosen(wanted.filter, name)
    }
    return NO_PAIRS_NEEDED if selected else no_measured_match(wanted.filter)
