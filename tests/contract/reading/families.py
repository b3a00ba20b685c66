"""Contract of ``FamilyReading``; tests of an adapter inherit it, and define a fixture ``site``."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from service.domain.runs.vote import Result
from service.domain.values.errors import NotFound
from service.domain.values.identity import RunKind
from service.domain.verdict.inference.verdict import Verdict
from tests.contract.reading.seen_by import Person
from tests.contract.reading.site import CHANGE, OTHER_PARENT, measure

if TYPE_CHECKING:
    from service.ports.reading import Reading
    from tests.contract.reading.site import ReadingSite

OTHER = CHANGE + 1  # another change
MERGED = RunKind.POST_SUBMIT


def names(reading: Reading, series: int, most: int = 9) -> list[str]:
    return [each.series.benchmark for each in reading.family(series, most, 9).members]


class FamilyReadingContract:
    def test_a_family_has_the_benchmarks_that_differ_in_their_arguments(self, site: ReadingSite) -> None:
        for name in ("BM_Map/512/threads:4", "BM_Map/64", "BM_Mapped/8", "BM_Map<int>/8", "BM_Ma"):
            site.add_series(name)
        series = site.add_series("BM_Map/8")
        found = site.reading.family(series, 9, 9)
        assert (found.name, found.count) == ("BM_Map", 4)
        assert names(site.reading, series) == [
            "BM_Map/8",
            "BM_Map/64",
            "BM_Map/512/threads:4",
            "BM_Map<int>/8",
        ]

    def test_of_a_large_family_those_around_the_benchmark_are_shown(self, site: ReadingSite) -> None:
        series = {size: site.add_series(f"BM_Map/{size}") for size in (8, 128, 16, 64, 32)}
        shown = {size: names(site.reading, series[size], 3) for size in series}
        assert [name.rpartition("/")[2] for name in shown[32]] == ["16", "32", "64"]
        assert shown[8] == shown[16] == ["BM_Map/8", "BM_Map/16", "BM_Map/32"]
        assert shown[128] == shown[64] == ["BM_Map/32", "BM_Map/64", "BM_Map/128"]
        assert names(site.reading, series[64], 1) == ["BM_Map/64"]
        assert {site.reading.family(series[8], most, 9).count for most in (1, 3)} == {5}

    def test_a_family_of_a_series_that_does_not_exist_is_not_found(self, site: ReadingSite) -> None:
        for unknown in (1, 1 << 70):
            with pytest.raises(NotFound):
                site.reading.family(unknown, 9, 9)

    def test_a_family_has_the_steps_of_its_trends_and_their_verdicts(self, site: ReadingSite) -> None:
        """With distant commits, and those that touch no file of the job since the first of any."""
        site.add_change(patch_sets=4)
        measure(site, 1, "BM_a/1", "BM_a/2")  # a patch set
        site.add_build(site.add_run(1, kind=MERGED), result=Result.NOT_BUILT)
        site.add_build(site.add_run(2, kind=MERGED), benchmarks=["BM_a/1"], verdict=Verdict.FASTER)
        site.add_build(site.add_run(3, kind=MERGED, parent=OTHER_PARENT), result=Result.NOT_BUILT)
        site.add_build(site.add_run(4, kind=MERGED), benchmarks=["BM_a/1", "BM_a/2"])
        anchor = site.add_run(4, kind=RunKind.ANCHOR, parent=OTHER_PARENT)
        site.add_build(anchor, benchmarks=["BM_a/1"])
        trends = [site.reading.trend(site.add_series(name), 9) for name in ("BM_a/1", "BM_a/2")]
        family = site.reading.family(trends[0].series.id, 9, 9)
        found = family.members
        for trend, member in zip(trends, found, strict=True):
            assert [replace(step, verdict=None, run_id=None) for step in member.steps] == [
                point.step for point in trend.points if point.kind is MERGED
            ]
            runs = {point.revision: point.run_id for point in trend.points}
            assert [step.run_id for step in member.steps] == [runs[step.revision] for step in member.steps]
            assert [(step.parent, step.log) for step in member.anchors] == [
                (step.parent, step.log) for step in trend.links
            ]
        assert family.untouched == trends[0].untouched
        assert [commit.revision for commit in family.untouched] == ["7-3"], "since the first of a member"
        slower, faster = Verdict.SLOWER, Verdict.FASTER
        assert [step.verdict for step in found[0].steps] == [faster, slower]
        assert [step.verdict for step in found[1].steps] == [slower]
        assert [len(each.anchors) for each in found] == [1, 0]

    def test_each_member_has_a_share_of_the_newest_commits_also_those_of_its_former_name(
        self, site: ReadingSite
    ) -> None:
        site.add_change(patch_sets=3)
        older, newer, other = (site.add_series(name) for name in ("BM_old/1", "BM_new/1", "BM_new/2"))
        for number, names_then in enumerate((["BM_old/1"], ["BM_new/1", "BM_new/2"], ["BM_new/1"]), 1):
            site.add_build(site.add_run(number, kind=MERGED), benchmarks=names_then)
        site.rename(older, newer)
        for series in (older, other):
            found = site.reading.family(series, 9, 9)
            assert [[step.revision for step in each.steps] for each in found.members] == [
                ["7-1", "7-2", "7-3"],
                ["7-2"],
            ]
        assert names(site.reading, older) == ["BM_new/1", "BM_new/2"]
        found = site.reading.family(newer, 9, 3)
        assert [[step.revision for step in each.steps] for each in found.members] == [["7-3"], ["7-2"]]

    def test_a_hidden_commit_and_a_hidden_member_are_seen_by_readers_of_the_branch_only(
        self, site: ReadingSite
    ) -> None:
        site.add_change()
        site.add_change(OTHER)
        series = site.add_series("BM_a/1")
        site.add_build(site.add_run(kind=MERGED), benchmarks=["BM_a/1"])
        site.add_build(site.add_run(kind=MERGED, change=OTHER), benchmarks=["BM_a/1", "BM_a/2"])

        def shown(reading: Reading) -> list[list[str]]:
            members = reading.family(series, 9, 9).members
            return [[step.revision for step in each.steps] for each in members]

        whole = [["7-1", "8-1"], ["8-1"]]
        site.hide(OTHER)
        assert shown(site.reading) == whole
        assert shown(site.reading.seen_by(Person([OTHER]))) == whole
        assert shown(site.reading.seen_by(None)) == [["7-1"]]
        assert site.reading.seen_by(None).family(series, 9, 9).count == 1
        site.hide()
        site.close()
        with pytest.raises(NotFound):
            site.reading.seen_by(None).family(series, 9, 9)
        assert shown(site.reading.seen_by(Person([CHANGE, OTHER]))) == whole
