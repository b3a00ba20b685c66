"""Store the durations of a merged commit's tests as points of their series."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from service.domain.building.spec import BuildSpec
from service.domain.measuring.metric import Better, metric_named
from service.domain.measuring.tests.cases import CaseStatus
from service.domain.measuring.tests.record import RECORD_BYTES, read_tests
from service.domain.runs.vote import Outcome
from service.domain.values.identity import RunKind, Side
from service.domain.verdict.inference.verdict import ComparedRow, Verdict
from service.ports.verdict import StoredComparison, StoredResult
from service.steps.runs.judge_compared import series_of

if TYPE_CHECKING:
    from service.domain.runs.machine_report import MachineReport
    from service.domain.values.identity import SeriesKey
    from service.ports.building import Artifacts
    from service.ports.runs.builds import BuildRecord
    from service.ports.verdict import Measurements

_MOST: Final = 5000  # series of a job; of more tests, the slowest, because their durations matter
_METRIC: Final = metric_named("real_time")
_TESTED: Final = frozenset({Outcome.PASSED, Outcome.FAILED})


def store_tests(
    stored: Measurements, artifacts: Artifacts, build: BuildRecord, report: MachineReport
) -> None:
    """Store the duration of each test that passed; nothing for the build of a patch set.

    A merged commit is tested once, so each point is of one sample, and nothing is compared.
    """
    if not report.tests or report.outcome not in _TESTED:
        return
    spec = BuildSpec.from_mapping(build.spec)
    if spec.kind is not RunKind.POST_SUBMIT:
        return
    passed = [
        (suite.program, case)
        for suite in read_tests(artifacts.get(report.tests, at_most=RECORD_BYTES))
        for case in suite.run.cases
        if case.status is CaseStatus.PASSED and case.seconds
    ]
    slowest = sorted(passed, key=lambda each: -each[1].seconds)[:_MOST]
    seconds = {
        series_of(spec, ComparedRow(program, case.name, _METRIC)): case.seconds for program, case in slowest
    }
    stored.store_results(
        build,
        spec.kind,
        dict.fromkeys(seconds, ("s", str(Better.LOWER))),
        [StoredResult(key, Side.PATCH, (value,)) for key, value in seconds.items()],
        [_point(key, position, value) for position, (key, value) in enumerate(seconds.items())],
    )


def _point(key: SeriesKey, position: int, seconds: float) -> StoredComparison:
    return StoredComparison(
        series=key,
        position=position,
        pairs=1,
        verdict=Verdict.NEW,
        ratio=None,
        low=None,
        high=None,
        base=None,
        patch=seconds,
    )
