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
    from service.domain.values.identity import BuildName
    from tests.contract.reading.site import ReadingSite

UNDECIDED, FASTER, BROKEN, FAILING = Verdict.UNDECIDED, Verdict.FASTER, Verdict.BROKEN, Verdict.FAILING


def measure_change(
    site: ReadingSite, change: int, *benchmarks: str, verdict: Verdict = Verdict.SAME
) -> BuildName:
    """Add a change with a check that compares benchmarks."""
    site.add_change(change)
    return site.add_build(site.add_run(change=change), benchmarks=benchmarks, verdict=verdict)


class BenchmarkReadingContract:
    def test_nothing_was_measured_in_an_empty_store(self, site: ReadingSite) -> None:
        assert list(site.reading.measured_series(LONG_AGO)) == []

    def test_the_verdicts_of_checks_and_merged_commits_are_counted(self, site: ReadingSite) -> None:
        ids = [site.add_series(name) for name in ("BM_a", "BM_b")]
        for change, verdict in enumerate((UNDECIDED, UNDECIDED, FASTER, BROKEN, FAILING), 1):
            measure_change(site, change, "BM_a", verdict=verdict)
        site.add_change(6)
        merged = site.add_run(kind=RunKind.POST_SUBMIT, change=6)
        site.add_build(merged, benchmarks=["BM_a", "BM_b"], verdict=Verdict.SAME)
        first, second = site.reading.measured_series(LONG_AGO)
        assert [first.id, second.id] == ids
        assert (first.builds, first.undecided, first.differed, first.failed) == (6, 2, 1, 1)
        assert (second.builds, second.undecided, second.differed, second.failed) == (1, 0, 0, 0)
        assert (first.key.benchmark, first.key.job, first.key.suite) == ("BM_a", "perf", "executor")
        assert (first.noise, first.is_voting, first.suite_seconds) == (None, True, 0.0)
        assert (first.family, len(first.undecided_pairs), list(first.more_pairs)) == (2, 2, [])

    def test_only_the_newest_patch_set_of_a_change_counts(self, site: ReadingSite) -> None:
        site.add_change(patch_sets=2)
        for patch_set, verdict in ((2, FASTER), (1, UNDECIDED)):
            site.add_build(site.add_run(patch_set), benchmarks=["BM_a"], verdict=verdict)
        (found,) = site.reading.measured_series(LONG_AGO)
        assert (found.builds, found.differed, found.undecided) == (1, 1, 0)

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

    def test_a_suite_has_the_time_of_its_launches(self, site: ReadingSite) -> None:
        site.spend(measure_change(site, 1, "BM_a", "BM_b"), 60.0)
        site.spend(measure_change(site, 2, "BM_a"), 10.0)
        measure_change(site, 3, "BM_b")
        found = site.reading.measured_series(LONG_AGO)
        assert [each.suite_seconds for each in found] == pytest.approx([70.0, 70.0])
        assert [each.suite_builds for each in found] == [2, 2]

    def test_only_the_newest_builds_count(self, site: ReadingSite) -> None:
        for change in range(1, NEWEST + 3):
            build = measure_change(site, change, "BM_a", verdict=UNDECIDED if change < 3 else FASTER)
            site.spend(build, 2.0)
        (found,) = site.reading.measured_series(LONG_AGO)
        assert (found.builds, found.undecided, found.differed) == (NEWEST, 0, NEWEST)
        assert found.suite_seconds == pytest.approx(2.0 * NEWEST)
        assert found.suite_builds == NEWEST

    def test_older_builds_are_left_out(self, site: ReadingSite) -> None:
        first, second = measure_change(site, 1, "BM_a"), measure_change(site, 2, "BM_b")
        moments = [site.reading.build(each.job, each.number).build.created_at for each in (first, second)]
        assert moments[0] < moments[1]
        (found,) = site.reading.measured_series(moments[1])
        assert found.key.benchmark == "BM_b"
        assert list(site.reading.measured_series(moments[1] + timedelta(seconds=1))) == []
