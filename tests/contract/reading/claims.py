"""Contract of ``ClaimReading``."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

import pytest

from service.domain.claims.answers import Answer, Obstacle
from service.domain.claims.values import NearName
from service.domain.review.change import ChangeStatus
from service.domain.runs.states import RunState
from service.domain.values.errors import NotFound
from service.domain.values.identity import RunKind
from tests.contract.reading.site import CHANGE

if TYPE_CHECKING:
    from tests.contract.reading.site import ReadingSite

NOON: Final = datetime(2026, 11, 21, 12, tzinfo=UTC)
OTHER: Final = 8


class ClaimReadingContract:
    def test_claims_are_answered_by_the_builds_of_the_run(self, site: ReadingSite) -> None:
        site.add_change()
        answered, other = site.add_run(), site.add_run()
        site.add_build(answered, benchmarks=["BM_a"])
        site.add_build(other, benchmarks=["BM_b"])
        for run in (answered, other):
            site.claim(run, "BM_a")
        [claim] = site.reading.claims(answered)
        assert (claim.answer, claim.obstacle, claim.job) == (Answer.CONFIRMED, "", "perf")
        assert (claim.benchmark, claim.metric, claim.claimed, claim.line) == (
            "BM_a",
            "items_per_second",
            0.9,
            3,
        )
        assert claim.ratio == pytest.approx(0.9)
        [claim] = site.reading.claims(other)
        assert (claim.answer, claim.obstacle) == (Answer.NOT_MEASURABLE, Obstacle.NO_BENCHMARK)

    def test_a_run_names_the_benchmarks_that_a_claim_may_mean(self, site: ReadingSite) -> None:
        site.add_change()
        run, other = site.add_run(), site.add_run()
        site.add_build(run, benchmarks=["Bench/BM_a/threads:2", "BM_b"])
        site.add_build(other, benchmarks=["BM_a/threads:8"])
        site.claim(run, "BM_a/threads:4")
        [claim] = site.reading.claims(run)
        assert (claim.answer, claim.obstacle) == (Answer.NOT_MEASURABLE, Obstacle.NO_BENCHMARK)
        assert claim.near == (NearName("Bench/BM_a/threads:2", ("fixture", "threads")),)

    def test_a_run_without_claims_has_none_and_a_missing_run_is_not_found(self, site: ReadingSite) -> None:
        site.add_change()
        assert tuple(site.reading.claims(site.add_run())) == ()
        with pytest.raises(NotFound):
            site.reading.claims(4711)

    def test_claims_of_several_runs_are_answered_together(self, site: ReadingSite) -> None:
        for number in (CHANGE, OTHER, 9):
            site.add_change(number)
        check, merged = site.add_run(), site.add_run(kind=RunKind.POST_SUBMIT, change=OTHER)
        silent = site.add_run(change=9)
        site.add_build(merged, benchmarks=["BM_a"])
        for run in (check, merged):
            site.claim(run, "BM_a")
        found = site.reading.claims_of_runs([check, merged, silent, 4711])
        assert found == {run: site.reading.claims(run) for run in (check, merged)}
        assert [claim.answer for claim in found[merged]] == [Answer.CONFIRMED]
        assert not site.reading.claims_of_runs([silent])

    def test_a_build_of_two_runs_answers_the_claims_of_both(self, site: ReadingSite) -> None:
        for number in (CHANGE, OTHER):
            site.add_change(number)
        first, second = site.add_run(), site.add_run(change=OTHER)
        site.share(site.add_build(first, benchmarks=["BM_a", "BM_b", "BM_c"]), second)
        for run, benchmark in ((first, "BM_a"), (second, "BM_b")):
            site.claim(run, benchmark)
        found = site.reading.claims_of_runs([first, second])
        told = {run: [(each.benchmark, each.answer) for each in claims] for run, claims in found.items()}
        assert told == {first: [("BM_a", Answer.CONFIRMED)], second: [("BM_b", Answer.CONFIRMED)]}

    def test_decided_checks_and_merged_commits_are_listed(self, site: ReadingSite) -> None:
        for number in (CHANGE, OTHER, 9):
            site.add_change(number)
        merged, other = site.add_run(kind=RunKind.POST_SUBMIT), site.add_run(change=OTHER)
        site.add_build(merged, benchmarks=["BM_a"])
        unlisted = [
            site.add_run(kind=RunKind.CALIBRATION, change=9),
            site.add_run(state=RunState.RUNNING, change=9),
        ]
        for run, minutes in ((merged, 9), (other, 5), *((run, 7) for run in unlisted)):
            site.claim(run, "BM_a", minutes)
        found = site.reading.recent_claims(NOON, 9)
        assert [(each.run_id, each.change, each.is_merged) for each in found] == [
            (merged, CHANGE, True),
            (other, OTHER, False),
        ]
        assert {each.status for each in found} == {ChangeStatus.NEW}
        assert [claim.answer for claim in found[0].claims] == [Answer.CONFIRMED]
        assert [claim.obstacle for claim in found[1].claims] == [Obstacle.NO_BENCHMARK]
        assert found[0].decided_at == NOON + timedelta(minutes=9)

    def test_a_change_is_listed_once_as_merged_or_by_its_newest_patch_set(self, site: ReadingSite) -> None:
        for number in (CHANGE, OTHER):
            site.add_change(number, patch_sets=3)
        for minutes, (number, patch_set, kind) in enumerate(
            (
                (CHANGE, 1, RunKind.CHECK),
                (CHANGE, 2, RunKind.POST_SUBMIT),
                (CHANGE, 3, RunKind.CHECK),
                (OTHER, 2, RunKind.CHECK),
                (OTHER, 1, RunKind.CHECK),
            )
        ):
            site.claim(site.add_run(patch_set, kind=kind, change=number), "BM_a", minutes)
        found = site.reading.recent_claims(NOON, 9)
        assert [(each.change, each.patch_set, each.is_merged) for each in found] == [
            (OTHER, 2, False),
            (CHANGE, 2, True),
        ]

    def test_the_list_begins_at_a_moment_and_has_a_limit(self, site: ReadingSite) -> None:
        for number in (CHANGE, OTHER):
            site.add_change(number)
            site.claim(site.add_run(change=number), "BM_a", number)
        later = NOON + timedelta(minutes=OTHER)
        assert [each.change for each in site.reading.recent_claims(later, 9)] == [OTHER]
        assert [each.change for each in site.reading.recent_claims(NOON, 1)] == [OTHER]
