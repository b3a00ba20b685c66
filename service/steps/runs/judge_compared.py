"""Judge an executed build that compared: store its results and verdicts, and decide its outcome."""

from __future__ import annotations

from typing import TYPE_CHECKING

from service.domain.building.spec import BuildSpec
from service.domain.measuring.pair_record import PairRecord
from service.domain.measuring.renaming import former_names
from service.domain.runs.build_outcome import Group
from service.domain.runs.judge_build import judge_measured
from service.domain.runs.machine_report import BuildEnd
from service.domain.runs.slowdown import Slowdown
from service.domain.runs.vote import Outcome
from service.domain.values.identity import RunKind, SeriesKey, Side
from service.domain.verdict.calibration.control import withheld_rows
from service.domain.verdict.calibration.evidence import History, sessions_of, voting_status_of
from service.domain.verdict.comparison.suite import compare_suites
from service.domain.verdict.inference.verdict import Verdict
from service.domain.wording.build_causes import NO_MEASUREMENTS
from service.domain.wording.measured_causes import (
    WITHOUT_HISTORY,
    anchor_cause,
    calibration_cause,
    measured_causes,
    measured_notes,
    unused_notes,
)
from service.ports.verdict import Compared, StoredComparison, StoredResult

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from service.domain.measuring.launch import Launch
    from service.domain.measuring.listing import Listing
    from service.domain.project.job import Job
    from service.domain.runs.build_outcome import Withheld
    from service.domain.runs.judge_build import Measured
    from service.domain.verdict.calibration.control import Control
    from service.domain.verdict.inference.verdict import ComparedRow, Comparison
    from service.ports.building import Artifacts
    from service.ports.runs.builds import BuildRecord
    from service.ports.verdict import Evidence, Measurements

    _Former = Mapping[tuple[str, str], str]  # by suite and benchmark


def judge_compared(
    stored: Measurements, evidence: Evidence, artifacts: Artifacts, build: BuildRecord
) -> BuildEnd:
    """Compare the pairs of a build, store the results, and decide how the build ends."""
    spec = BuildSpec.from_mapping(build.spec)
    sequence = build.sequence_id
    if sequence is None:
        return BuildEnd(Outcome.INFRASTRUCTURE, (NO_MEASUREMENTS,))
    records = (
        PairRecord(each.pair, artifacts.get(each.artifact), each.variant)
        for each in stored.stored_pairs(sequence)
    )
    job, is_calibration = spec.judged, spec.kind is RunKind.CALIBRATION
    listings = stored.listings(sequence)
    former = _former(spec, listings)
    measured = judge_measured(
        job,
        listings,
        records,
        lambda rows, controls: _withheld(evidence, build, spec, rows, controls, former),
        build.report.circumstances,
    )
    if spec.kind is RunKind.ANCHOR:  # it places its commits in the trends, and decides nothing
        compared = _with_all_pairs(job, measured)
        _store(stored, build, spec, compared, measured.launches)
        return BuildEnd(Outcome.PASSED, (anchor_cause(compared),))
    everything = tuple(suite.name for suite in job.benchmark.suites)
    suites = everything if is_calibration else measured.notes.same_program
    # The rule does not know here which programs are the same: its verdicts on them are the evidence.
    rows = (
        compare_suites(job.benchmark.suites, measured.listings, measured.launches, job.policy)
        if suites
        else ()
    )
    _store(stored, build, spec, rows if is_calibration else measured.comparisons, measured.launches)
    if spec.kind is RunKind.POST_SUBMIT:
        stored.continue_series(_successors(spec, measured.comparisons, former))
    slower = measured.judgement.groups.get(Group.SLOWER, ())
    stored.store_slowdowns(build.id, tuple(Slowdown.of(spec.job.name, row) for row in slower))
    sessions = sessions_of(rows, measured.launches, suites)
    # A suite of equal programs has no slow-down, so no control has a row in common with these sessions.
    # A parent under review could make itself look slower, so its control is no evidence about the machine.
    if spec.base and not spec.base.is_under_review:
        sessions |= {
            row: control.session
            for row, control in measured.controls.items()
            if control.machine == build.machine
        }
    if sessions:
        evidence.store(build, {series_of(spec, row): session for row, session in sessions.items()})
    if is_calibration:  # a false alarm is evidence about the machine, not a failure
        return BuildEnd(Outcome.PASSED, (calibration_cause(rows, sessions),))
    policy, judgement = spec.job.policy, measured.judgement
    causes = measured_causes(measured, policy, build.machine)
    notes = (*measured_notes(measured.notes), *unused_notes(job, measured.listings))
    if policy.probation == 0 and judgement.outcome is Outcome.SLOWER:
        notes = (*notes, WITHOUT_HISTORY)
    return BuildEnd(judgement.outcome, causes, judgement.blamed, notes)


def _with_all_pairs(job: Job, measured: Measured) -> Sequence[Comparison]:
    """Compare by every pair: an estimate that ends with the verdict is slightly too large."""
    pairs = len({each.pair for each in measured.launches})
    known = [each for each in measured.comparisons if each.row.suite in measured.notes.same_program]
    rows = compare_suites(
        job.benchmark.suites, measured.listings, measured.launches, job.policy, schedule=(pairs,)
    )
    return [*known, *(each for each in rows if each.row.suite not in measured.notes.same_program)]


def _former(spec: BuildSpec, listings: Sequence[Listing]) -> _Former:
    """Map suite and name of each benchmark that was renamed to its former name.

    A patch set's own file may be unreviewed: only the benchmarks that the patch renames count then.
    """
    if spec.is_renaming:
        return {(each.suite, new): old for each in listings for new, old in each.renamed.items()}
    names = {each.suite: each.patch for each in listings}
    return {
        (suite.name, new): old
        for suite in spec.judged.benchmark.suites
        for new, old in former_names(suite.renamed, names.get(suite.name, ())).items()
    }


def _successors(spec: BuildSpec, rows: Sequence[Comparison], former: _Former) -> dict[SeriesKey, SeriesKey]:
    """Map the series of each renamed benchmark to the one that it continues."""
    before = {row.row: former.get((row.row.suite, row.row.benchmark)) for row in rows}
    return {series_of(spec, row): series_of(spec, row, old) for row, old in before.items() if old}


def _withheld(
    evidence: Evidence,
    build: BuildRecord,
    spec: BuildSpec,
    rows: Sequence[Comparison],
    controls: Mapping[ComparedRow, Control],
    former: _Former,
) -> Withheld:
    """Map each slower row that may not vote to the reason, by its control and the evidence on the machine.

    A renamed benchmark has the evidence of its former name until it has as much of its own.
    """
    policy = spec.job.policy
    slower = {row: series_of(spec, row.row) for row in rows if row.verdict is Verdict.SLOWER}
    if not policy.probation or not slower:
        return {}
    before = _successors(spec, list(slower), former)
    # Judging it again changes nothing: its own sessions were not there when it was judged first.
    histories = evidence.of(build.machine, [*slower.values(), *before.values()], build.sequence_id)

    def history(key: SeriesKey) -> History:
        known = [histories.get(each, History()) for each in (key, before.get(key, key))]
        return max(known, key=lambda each: each.sessions)

    statuses = {row: voting_status_of(history(key), policy) for row, key in slower.items()}
    return withheld_rows(statuses, controls)


def _store(
    stored: Measurements,
    build: BuildRecord,
    spec: BuildSpec,
    rows: Sequence[Comparison],
    launches: Sequence[Launch],
) -> None:
    keys = [series_of(spec, row.row) for row in rows]
    series = {
        key: (row.row.metric.unit, str(row.row.metric.better)) for key, row in zip(keys, rows, strict=True)
    }
    results = [
        StoredResult(key, side, samples)
        for key, side, samples in ((k, side, _samples(k, side, launches)) for k in series for side in Side)
        if any(value is not None for value in samples)
    ]
    comparisons = [
        StoredComparison(series=key, position=position, reasons=row.reasons, **Compared.values_of(row))
        for position, (key, row) in enumerate(zip(keys, rows, strict=True))
    ]
    stored.store_results(build, spec.kind, series, results, comparisons)


def series_of(spec: BuildSpec, row: ComparedRow, benchmark: str = "") -> SeriesKey:
    """Return the series of a row, perhaps under another name of its benchmark."""
    return SeriesKey(
        instance=spec.instance,
        project=spec.project,
        branch=spec.branch,
        machine_class=spec.job.pool,
        job=spec.job.name,
        suite=row.suite,
        benchmark=benchmark or row.benchmark,
        metric=row.metric.name,
    )


def _samples(key: SeriesKey, side: Side, launches: Sequence[Launch]) -> tuple[float | None, ...]:
    samples: list[float | None] = [None] * (1 + max((launch.pair for launch in launches), default=-1))
    for launch in launches:
        if launch.side is side and launch.suite == key.suite:
            samples[launch.pair] = launch.values.get(key.benchmark, {}).get(key.metric)
    return tuple(samples)
