"""Contract of ``BenchmarkReading``; tests of an adapter inherit it, and define a fixture ``site``."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from service.domain.runs.vote import Result
from service.domain.values.identity import RunKind
from service.domain.verdict.calibration.usefulness import NEWEST
from service.domain.verdict.inference.verdict import Verdict
from tests.contract.reading.seen_by import LONG_AGO
from tests.contract.reading.site import measure

if TYPE_CHECKING:
    from tests.contract.reading.site import ReadingSite

UNDECIDED, FASTER, BROKEN = Verdict.UNDECIDED, Verdict.FASTER, Verdict.BROKEN


class BenchmarkReadingContract:
    def test_nothing_was_measured_in_an_empty_store(self, site: ReadingSite) -> None:
        assert list(site.reading.measured_series(LONG_AGO)) == []

    def test_the_verdicts_of_checks_and_merged_commits_are_counted(self, site: ReadingSite) -> None:
        site.add_change()
        ids = [site.add_series(name) for name in ("BM_a", "BM_b")]
        for verdict in (UNDECIDED, UNDECIDED, FASTER, BROKEN):
            site.add_build(site.add_run(), benchmarks=["BM_a"], verdict=verdict)
        merged = site.add_run(kind=RunKind.POST_SUBMIT)
        site.add_build(merged, benchmarks=["BM_a", "BM_b"], verdict=Verdict.SAME)
        first, second = site.reading.measured_series(LONG_AGO)
        assert [first.id, second.id] == ids
        assert (first.builds, first.undecided, first.differed, first.failed) == (5, 2, 1, 1)
        assert (second.builds, second.undecided, second.differed, second.failed) == (1, 0, 0, 0)
        assert (first.key.benchmark, first.key.job, first.key.suite) == ("BM_a", "perf", "executor")
        assert (first.noise, first.is_voting, first.seconds) == (None, True, 0.0)

    def test_calibrations_and_builds_that_ended_early_are_left_out(self, site: ReadingSite) -> None:
        site.add_change()
        for kind, result in ((RunKind.CALIBRATION, Result.SUCCESS), (RunKind.CHECK, Result.ABORTED)):
            site.add_build(site.add_run(kind=kind), benchmarks=["BM_a"], result=result)
        assert list(site.reading.measured_series(LONG_AGO)) == []

    def test_a_build_of_two_runs_counts_once(self, site: ReadingSite) -> None:
        site.add_change()
        site.share(measure(site, 1, "BM_a"), site.add_run())
        (found,) = site.reading.measured_series(LONG_AGO)
        assert found.builds == 1

    def test_results_share_the_time_of_their_build(self, site: ReadingSite) -> None:
        site.add_change()
        site.spend(measure(site, 1, "BM_a", "BM_b"), 60.0)
        site.spend(measure(site, 1, "BM_a"), 10.0)
        assert [each.seconds for each in site.reading.measured_series(LONG_AGO)] == pytest.approx(
            [40.0, 30.0]
        )

    def test_the_newest_builds_stand_for_the_others(self, site: ReadingSite) -> None:
        site.add_change()
        run = site.add_run()
        builds = [site.add_build(run, benchmarks=["BM_a"], verdict=UNDECIDED) for _ in range(NEWEST // 2)]
        builds += [site.add_build(run, benchmarks=["BM_a"], verdict=FASTER) for _ in range(NEWEST)]
        for build in builds[NEWEST // 2 :]:
            site.spend(build, 2.0)
        (found,) = site.reading.measured_series(LONG_AGO)
        assert (found.builds, found.undecided, found.differed) == (NEWEST, 0, NEWEST)
        assert found.seconds == pytest.approx(2.0 * NEWEST * 1.5)

    def test_older_builds_are_left_out(self, site: ReadingSite) -> None:
        site.add_change()
        first, second = measure(site, 1, "BM_a"), measure(site, 1, "BM_b")
        moments = [site.reading.build(each.job, each.number).build.created_at for each in (first, second)]
        assert moments[0] < moments[1]
        (found,) = site.reading.measured_series(moments[1])
        assert found.key.benchmark == "BM_b"
        assert list(site.reading.measured_series(moments[1] + timedelta(seconds=1))) == []
