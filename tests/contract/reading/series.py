"""Contract of ``SeriesReading``; tests of an adapter inherit it, and define a fixture ``site``."""

from __future__ import annotations

import math
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from service.domain.runs.vote import Result
from service.domain.values.errors import NotFound
from service.domain.values.identity import RunKind
from service.domain.values.search import parse_words
from service.domain.verdict.inference.verdict import Verdict
from service.ports.reading import STEP_DAYS
from tests.contract.reading.seen_by import Person
from tests.contract.reading.site import ADDRESS, CHANGE, OTHER_PARENT, measure

if TYPE_CHECKING:
    from service.ports.reading import Reading
    from tests.contract.reading.site import ReadingSite


OTHER = CHANGE + 1  # another change


class SeriesReadingContract:
    @pytest.mark.parametrize(
        ("search", "count"),
        [
            ("", 3),
            ("bm_", 3),
            ("DROP table", 1),
            ("%_\\", 1),
            ("%", 1),
            ("bm -drop", 2),
            ("kv master items", 3),
            ("executor perf two", 1),
            ("nowhere", 0),
        ],
    )
    def test_series_are_found_by_words_that_are_no_patterns(
        self, site: ReadingSite, search: str, count: int
    ) -> None:
        for name in ("BM_<img>'; DROP TABLE series; --%_\\", "BM_two", "BM_three"):
            site.add_series(name)
        assert len(site.reading.series(parse_words(search), 10)) == count

    def test_series_have_pages_by_id(self, site: ReadingSite) -> None:
        ids = [site.add_series(name) for name in ("BM_c", "BM_a", "BM_b")]
        first = site.reading.series(parse_words(""), 2)
        assert [series.id for series in first] == ids[:2]
        assert [series.id for series in site.reading.series(parse_words(""), 2, ids[1])] == ids[2:]
        assert list(site.reading.series(parse_words(""), 2, 1 << 70)) == []

    def test_a_trend_has_the_newest_points_of_each_kind_with_their_commits(self, site: ReadingSite) -> None:
        site.add_change()
        series = site.add_series("BM_x")
        checked, merged = site.add_run(), site.add_run(kind=RunKind.POST_SUBMIT)
        builds = [site.add_build(run, benchmarks=["BM_x"]) for run in [checked] * 5 + [merged] * 5]
        found = site.reading.trend(series, 3)
        assert found.series.benchmark == "BM_x"
        newest = [*builds[2:5], *builds[7:]]
        assert [(point.job, point.number) for point in found.points] == [
            (build.job, build.number) for build in newest
        ]
        assert [point.kind for point in found.points] == [RunKind.CHECK] * 3 + [RunKind.POST_SUBMIT] * 3
        assert [point.run_id for point in found.points] == [checked] * 3 + [merged] * 3
        (revision,) = {site.reading.change(ADDRESS).change.revision}
        assert {(point.change, point.patch_set, point.revision) for point in found.points} == {
            (CHANGE, 1, revision)
        }

    def test_points_come_oldest_first_whatever_their_kind(self, site: ReadingSite) -> None:
        site.add_change()
        series = site.add_series("BM_x")
        for kind in (RunKind.POST_SUBMIT, RunKind.CHECK, RunKind.CHECK):
            measure(site, 1, "BM_x", kind=kind)
        points = site.reading.trend(series, 9).points
        assert [point.kind for point in points] == [RunKind.POST_SUBMIT, RunKind.CHECK, RunKind.CHECK]
        assert [point.measured_at for point in points] == sorted(point.measured_at for point in points)

    def test_a_trend_goes_back_from_its_newest_point_before_a_moment(self, site: ReadingSite) -> None:
        site.add_change()
        series = site.add_series("BM_x")
        merged = site.add_run(kind=RunKind.POST_SUBMIT)
        for _ in range(5):
            site.add_build(merged, benchmarks=["BM_x"])
        moments = [point.measured_at for point in site.reading.trend(series, 9).points]
        step = moments[3] - moments[2]
        for until, expected in ((None, moments[-1:]), (moments[3], moments[2:4]), (moments[0], moments[:1])):
            within = step if until else timedelta(0)
            found = site.reading.trend(series, 9, within, until).points
            assert [point.measured_at for point in found] == expected
        before = site.reading.trend(series, 9, step, moments[0] - timedelta(days=9))
        assert before.points == ()

    def test_a_hidden_point_does_not_move_the_range_of_a_trend(self, site: ReadingSite) -> None:
        site.add_change()
        site.add_change(OTHER)
        series = site.add_series("BM_x")
        shown = site.add_build(site.add_run(), benchmarks=["BM_x"])
        site.add_build(site.add_run(change=OTHER), benchmarks=["BM_x"])
        site.hide(OTHER)
        (point,) = site.reading.seen_by(None).trend(series, 9, timedelta(0)).points
        assert point.number == shown.number

    def test_the_series_of_a_renamed_benchmark_are_one_trend_under_its_newest_name(
        self, site: ReadingSite
    ) -> None:
        site.add_change()
        names = ("BM_first", "BM_second", "BM_third")
        first, second, third = series = [site.add_series(name) for name in names]
        merged = site.add_run(kind=RunKind.POST_SUBMIT)
        builds = [site.add_build(merged, benchmarks=[name]) for name in names for _ in range(2)]
        site.rename(first, second)
        site.rename(second, third)
        for each in series:
            found = site.reading.trend(each, 9)
            assert (found.series.id, found.series.benchmark) == (third, "BM_third")
            assert [(point.job, point.number) for point in found.points] == [
                (build.job, build.number) for build in builds
            ]
        newest = [point.number for point in site.reading.trend(first, 3).points]
        assert newest == [build.number for build in builds[3:]]

    def test_a_renamed_benchmark_is_listed_once_and_found_by_its_former_name(self, site: ReadingSite) -> None:
        older, newer, other = (site.add_series(name) for name in ("BM_old", "BM_new", "BM_other"))
        site.rename(older, newer)
        assert [each.id for each in site.reading.series(parse_words(""), 9)] == [newer, other]
        assert [each.id for each in site.reading.series(parse_words("bm_old"), 9)] == [newer]

    def test_a_twice_renamed_benchmark_is_found_by_each_name(self, site: ReadingSite) -> None:
        first, second, third = (site.add_series(name) for name in ("BM_first", "BM_second", "BM_third"))
        site.rename(first, second)
        site.rename(second, third)
        for name in ("bm_first", "bm_second", "bm_third", "bm_first bm_second"):
            assert [each.id for each in site.reading.series(parse_words(name), 9)] == [third]

    def test_a_series_without_points_has_none(self, site: ReadingSite) -> None:
        assert site.reading.trend(site.add_series("BM_x"), 3).points == ()

    def test_a_series_that_does_not_exist_is_not_found(self, site: ReadingSite) -> None:
        series = site.add_series("BM_x")
        for unknown in (series + 1, 1 << 70):
            with pytest.raises(NotFound):
                site.reading.trend(unknown, 10)

    def test_imported_values_are_in_the_trend_oldest_first_and_the_newest_are_kept(
        self, site: ReadingSite
    ) -> None:
        older, newer = site.add_series("BM_old"), site.add_series("BM_new")
        site.rename(older, newer)
        for commit, minutes in (("c", 3), ("a", 1)):
            site.import_value(newer, commit, minutes, 2.5)
        site.import_value(older, "b", 2, 1.5)
        found = site.reading.trend(older, 2)
        assert [(each.commit, each.value) for each in found.imported] == [("b", 1.5), ("c", 2.5)]
        assert found.points == ()
        assert found.steps == ()

    def test_imported_commits_of_one_moment_are_in_the_order_of_their_list(self, site: ReadingSite) -> None:
        series = site.add_series("BM_a")
        for position, commit in enumerate(("b", "c", "a")):
            site.import_value(series, commit, 1, 1.0, position)
        site.import_value(series, "d", 0, 1.0, 9)
        assert [each.commit for each in site.reading.trend(series, 9).imported] == ["d", "b", "c", "a"]
        assert [each.commit for each in site.reading.trend(series, 2).imported] == ["c", "a"]

    def test_imported_history_is_seen_by_who_sees_the_branch(self, site: ReadingSite) -> None:
        site.add_change()
        series = site.add_series("BM_imported")
        site.import_value(series, "a", 0, 1.0)
        assert len(site.reading.seen_by(None).trend(series, 9).imported) == 1
        site.hide()
        site.close()
        with pytest.raises(NotFound):
            site.reading.seen_by(None).trend(series, 9)
        assert site.reading.seen_by(None).series(parse_words(""), 9) == []

    def test_points_of_merged_commits_know_their_parents(self, site: ReadingSite) -> None:
        site.add_change()
        series = site.add_series("BM_x")
        site.add_build(site.add_run(kind=RunKind.POST_SUBMIT, parent=OTHER_PARENT), benchmarks=["BM_x"])
        (point,) = site.reading.trend(series, 3).points
        assert point.parent == OTHER_PARENT
        assert point.step is not None
        assert (point.step.parent, point.step.revision) == (OTHER_PARENT, point.revision)

    def test_distant_commits_that_were_measured_together_are_anchors_of_the_trend(
        self, site: ReadingSite
    ) -> None:
        site.add_change(patch_sets=2)
        series = site.add_series("BM_x")
        anchor = site.add_run(1, kind=RunKind.ANCHOR, parent=OTHER_PARENT)
        site.add_build(site.add_run(1, kind=RunKind.POST_SUBMIT), benchmarks=["BM_x"])
        site.add_build(anchor, benchmarks=["BM_x", "BM_y"])
        found = site.reading.trend(series, 3)
        (joined,) = found.anchors
        assert (joined.parent, joined.ratio, len(found.points)) == (OTHER_PARENT, 0.9, 1)
        assert [step.parent for step in found.links] == [OTHER_PARENT]

    def test_commits_that_touch_no_file_of_the_job_are_part_of_the_trend(self, site: ReadingSite) -> None:
        site.add_change(patch_sets=3)
        series = site.add_series("BM_x")
        site.add_build(site.add_run(1, kind=RunKind.POST_SUBMIT), benchmarks=["BM_x"])
        untouched = site.add_run(2, kind=RunKind.POST_SUBMIT, parent=OTHER_PARENT)
        site.add_build(untouched, result=Result.NOT_BUILT)
        site.add_build(site.add_run(3), result=Result.NOT_BUILT)
        found = site.reading.trend(series, 3)
        (commit,) = found.untouched
        assert (commit.parent, len(found.points), len(found.steps)) == (OTHER_PARENT, 1, 2)

    def test_a_hidden_commit_that_touches_nothing_is_not_in_the_trend(self, site: ReadingSite) -> None:
        site.add_change(patch_sets=2)
        site.add_change(OTHER)
        series = site.add_series("BM_x")
        site.add_build(site.add_run(1, kind=RunKind.POST_SUBMIT), benchmarks=["BM_x"])
        hidden = site.add_run(1, kind=RunKind.POST_SUBMIT, change=OTHER)
        site.add_build(hidden, result=Result.NOT_BUILT)
        site.hide(OTHER)
        assert len(site.reading.trend(series, 3).untouched) == 1
        assert site.reading.seen_by(None).trend(series, 3).untouched == ()

    def test_readers_of_a_branch_see_that_a_commit_touched_nothing(self, site: ReadingSite) -> None:
        """Although nobody asks about each change of it; without it, their trend would have a gap."""
        site.add_change(patch_sets=2)
        site.add_change(OTHER)
        series = site.add_series("BM_x")
        site.add_build(site.add_run(1, kind=RunKind.POST_SUBMIT), benchmarks=["BM_x"])
        site.add_build(site.add_run(1, kind=RunKind.POST_SUBMIT, change=OTHER), result=Result.NOT_BUILT)
        for number in (CHANGE, OTHER):
            site.hide(number)
        site.close()
        reader = site.reading.seen_by(Person([CHANGE]))
        assert len(reader.trend(series, 3).untouched) == 1

    def test_each_series_has_the_steps_of_the_last_merged_commits_before_a_moment(
        self, site: ReadingSite
    ) -> None:
        site.add_change(patch_sets=4)
        parents = ["a" * 40, "b" * 40, "c" * 40, "d" * 40]
        for number, parent in enumerate(parents, 1):
            run = site.add_run(number, kind=RunKind.POST_SUBMIT, parent=parent)
            site.add_build(run, benchmarks=["BM_x", "BM_y"] if number > 1 else ["BM_x"])
        checked = measure(site, 1, "BM_x", "BM_z")
        x, y, z = (site.add_series(name) for name in ("BM_x", "BM_y", "BM_z"))
        later = site.reading.build(checked.job, checked.number).build.created_at
        last = site.reading.build("perf", 4).build.created_at
        found = site.reading.merged_steps(dict.fromkeys((x, y, z), later), 3)
        assert {key: [step.parent[0] for step in steps] for key, steps in found.items()} == {
            x: ["b", "c", "d"],
            y: ["b", "c", "d"],
        }
        assert found[y][0].revision == "7-2"
        assert found[y][0].log == pytest.approx(math.log(0.9))
        assert found[y][0].verdict is Verdict.SLOWER
        found = site.reading.merged_steps({x: later, y: last}, 9)
        assert [step.parent[0] for step in found[x]] == ["a", "b", "c", "d"]
        assert [step.parent[0] for step in found[y]] == ["b", "c"]
        assert site.reading.merged_steps({}, 9) == {}
        assert site.reading.merged_steps({x: later + timedelta(days=STEP_DAYS)}, 9) == {}

    def test_the_step_of_a_hidden_commit_is_seen_by_readers_of_its_branch_only(
        self, site: ReadingSite
    ) -> None:
        site.add_change()
        site.add_change(OTHER)
        series = site.add_series("BM_x")
        for of in (CHANGE, OTHER):
            site.add_build(site.add_run(kind=RunKind.POST_SUBMIT, change=of), benchmarks=["BM_x"])
        checked = measure(site, 1, "BM_x")
        moment = site.reading.build(checked.job, checked.number).build.created_at

        def shown(reading: Reading) -> list[str]:
            return [step.revision for step in reading.merged_steps({series: moment}, 9).get(series, ())]

        site.hide(OTHER)
        assert shown(site.reading) == ["7-1", "8-1"]
        assert shown(site.reading.seen_by(None)) == ["7-1"]
        site.hide()
        site.close()
        assert shown(site.reading.seen_by(None)) == []
        assert shown(site.reading.seen_by(Person([CHANGE, OTHER]))) == ["7-1", "8-1"]
