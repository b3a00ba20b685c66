"""Measuring beyond the pairs that all get, and the machine time that it may take."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from service.domain.building.spec import MorePairs
from service.domain.project.policy import BASE_PAIRS, Layout, Policy, VoteWhen
from service.domain.verdict.comparison.suite import compare_suites
from service.domain.verdict.inference.reasons import ReasonKind, has_kind
from service.domain.verdict.inference.verdict import Verdict
from tests.unit.steps.measuring.test_measure import JOB, Bench, Killed, verdicts

if TYPE_CHECKING:
    from pathlib import Path

    from service.domain.project.job import Job
    from service.steps.measuring.measure import Measurement

LOUD = 0.06


def program(seconds: float = 1.0, spread: float = LOUD, **speeds: float) -> str:
    return json.dumps({"benchmarks": speeds, "spread": spread, "seconds": seconds})


def loud(scratch: Path, ratio: float) -> Bench:
    """Both sides' launches scatter by 6 %, so pairs by 8 %."""
    return Bench(scratch, program(BM_a=1e-6), program(BM_a=ratio * 1e-6))


def with_policy(**keys: Any) -> Any:  # noqa: ANN401 - any key of the policy
    return replace(JOB, policy=Policy(**keys))


def measured(bench: Bench, **keys: Any) -> Measurement:  # noqa: ANN401 - as above
    return bench.measure(with_policy(**keys))


class TestGoingOn:
    def test_a_benchmark_that_may_still_vote_is_measured_until_it_is_decided(self, tmp_path: Path) -> None:
        found = measured(loud(tmp_path, 1.045))

        assert found.pairs > BASE_PAIRS
        assert verdicts(found) == {"BM_a": Verdict.SLOWER}
        assert found.seconds < Policy().machine_time

    @pytest.mark.parametrize(("layout", "is_found"), [(Layout.CONFIRM, False), (Layout.OFF, True)])
    def test_beside_a_person_it_goes_on_only_while_relinks_could_still_confirm_it(
        self, tmp_path: Path, layout: Layout, *, is_found: bool
    ) -> None:
        job = with_policy(layout=layout)
        found = loud(tmp_path, 1.045).measure(job, is_time_asked=True)

        assert verdicts(found) == {"BM_a": Verdict.SLOWER if is_found else Verdict.UNDECIDED}
        assert is_found or found.seconds < Policy().machine_time / 2

    def test_a_number_of_pairs_in_the_policy_still_ends_it(self, tmp_path: Path) -> None:
        found = measured(loud(tmp_path, 1.045), max_pairs=BASE_PAIRS)

        assert found.pairs == BASE_PAIRS
        assert verdicts(found) == {"BM_a": Verdict.UNDECIDED}

    def test_a_benchmark_that_cannot_become_slower_gets_only_the_base_pairs(self, tmp_path: Path) -> None:
        found = measured(loud(tmp_path, 0.95))

        assert found.pairs == BASE_PAIRS
        assert verdicts(found) == {"BM_a": Verdict.UNDECIDED}

    def test_it_goes_on_if_the_policy_withholds_the_vote_for_it(self, tmp_path: Path) -> None:
        found = measured(loud(tmp_path, 0.95), on_undecided=VoteWhen.NONE)

        assert found.pairs > BASE_PAIRS

    def test_undecidable_benchmarks_are_dropped_at_the_first_decisive_look(self, tmp_path: Path) -> None:
        hopeless = program(spread=2.0, BM_a=1e-6)
        found = measured(Bench(tmp_path, hopeless, hopeless))

        assert found.pairs < BASE_PAIRS
        assert verdicts(found) == {"BM_a": Verdict.UNDECIDED}
        assert found.seconds < Policy().machine_time / 10

    def test_only_those_go_on_that_may_vote(self, tmp_path: Path) -> None:
        bench = Bench(tmp_path, program(BM_a=1e-6, BM_b=1e-6), program(BM_a=1.045e-6, BM_b=0.95e-6))
        measured(bench)

        assert {pattern for _, pattern in bench.sandbox.launches[2 * BASE_PAIRS :]} == {"^(BM_a)$"}

    @pytest.mark.parametrize("launch", [30, 70, 96])
    def test_a_killed_worker_is_continued_as_if_nothing_had_happened(
        self, tmp_path: Path, launch: int
    ) -> None:
        (tmp_path / "whole").mkdir()
        expected = measured(loud(tmp_path / "whole", 1.045), max_pairs=100)
        killed = loud(tmp_path, 1.045)

        def kill(number: int) -> None:
            if number == launch:
                raise Killed

        killed.sandbox.before = kill
        with pytest.raises(Killed):
            measured(killed, max_pairs=100)
        killed.sandbox.before = lambda _: None
        found = measured(killed, max_pairs=100)

        assert expected.pairs > launch / 2
        assert (found.pairs, verdicts(found)) == (expected.pairs, verdicts(expected))


class TestMachineTime:
    def test_extra_time_of_the_patch_does_not_end_the_measuring(self, tmp_path: Path) -> None:
        """28 pairs of launches of one and three seconds: 112 s, 56 of them charged."""
        loose = program(1.0, BM_a=1e-6), program(3.0, BM_a=1.05e-6)
        found = measured(Bench(tmp_path, *loose), machine_time=55.0, max_pairs=28, layout=Layout.OFF)

        assert (found.pairs, found.seconds) == (28, 112.0)
        assert not found.is_used_up_by_patch

    @pytest.mark.parametrize(("is_asked", "pairs"), [(False, 14), (True, 6)])
    def test_only_a_person_who_waits_gets_no_pair_after_the_machine_time(
        self, tmp_path: Path, pairs: int, *, is_asked: bool
    ) -> None:
        """A pair takes 4 s, and 14 are needed to find a difference."""
        bench = Bench(tmp_path, program(1.0, BM_a=1e-6), program(3.0, BM_a=1.5e-6))
        found = bench.measure(with_policy(machine_time=20.0), is_time_asked=is_asked)

        assert found.pairs == pairs

    def test_launches_of_the_patch_that_use_all_up_are_named(self, tmp_path: Path) -> None:
        loose = program(1.0, 0.2, BM_a=1e-6), program(50.0, 0.2, BM_a=1.1e-6)
        found = measured(Bench(tmp_path, *loose), machine_time=60.0)

        assert (found.pairs, found.seconds) == (5, 255.0)
        assert found.is_used_up_by_patch

    def test_launches_of_the_patch_make_no_benchmark_too_dear(self, tmp_path: Path) -> None:
        """Two seconds of a pair are charged, and 101 taken: it goes on until measuring ends altogether."""
        loose = program(1.0, BM_a=1e-6), program(100.0, BM_a=1.05e-6)
        found = measured(Bench(tmp_path, *loose))

        assert found.pairs == 24
        assert found.is_used_up_by_patch

    def test_launches_of_the_patch_that_use_up_only_the_bonus_are_not_named(self, tmp_path: Path) -> None:
        """A pair takes 60 s: four times the machine time ends after 41 of them."""
        loose = program(1.0, BM_a=1e-6), program(59.0, BM_a=1.045e-6)
        found = measured(Bench(tmp_path, *loose))

        assert found.pairs == 41
        assert not found.is_used_up_by_patch

    def test_a_machine_slow_for_both_sides_is_no_fault_of_the_patch(self, tmp_path: Path) -> None:
        loose = program(25.0, 0.2, BM_a=1e-6), program(25.0, 0.2, BM_a=1.1e-6)
        found = measured(Bench(tmp_path, *loose), machine_time=60.0)

        assert not found.is_used_up_by_patch


class TestOwnMachineTime:
    """Two benchmarks that take a second of a pair each; 16 pairs may find a difference."""

    def two(self, scratch: Path, **names: str) -> Bench:
        of_patch = {names.get(name, name): 1.045e-6 for name in ("BM_a", "BM_b")}
        return Bench(scratch, program(BM_a=1e-6, BM_b=1e-6), program(**of_patch))

    def job(self, **seconds: float) -> Job:
        return replace(JOB, policy=Policy(machine_time_of=seconds, max_pairs=24))

    def pairs_of(self, bench: Bench, name: str) -> int:
        return sum(name in pattern for _, pattern in bench.sandbox.launches) // 2

    def test_a_benchmark_that_used_it_up_is_dropped_and_the_other_goes_on(self, tmp_path: Path) -> None:
        bench = self.two(tmp_path)
        found = bench.measure(self.job(BM_a=20.0))

        assert (self.pairs_of(bench, "BM_a"), found.pairs) == (20, 24)

    def test_it_ends_nothing_before_the_first_look_that_can_find_a_difference(self, tmp_path: Path) -> None:
        bench = self.two(tmp_path)
        found = bench.measure(self.job(BM_a=0.0, BM_b=0.0))

        assert found.pairs == 16

    def test_a_patch_that_scatters_cannot_end_before_that_shows(self, tmp_path: Path) -> None:
        """An undecided benchmark may be a +1, unless only the patch scatters; 16 pairs do not show it."""
        bench = Bench(tmp_path, program(1.0, 0.05, BM_a=1e-6), program(1.0, 0.5, BM_a=1.2e-6))
        found = bench.measure(with_policy(machine_time_of={"BM_a": 1.0}, machine_time=10_000.0))
        (row,) = compare_suites(JOB.benchmark.suites, found.listings, found.launches, Policy())

        assert found.pairs > 16
        assert has_kind(row.reasons, {ReasonKind.ONLY_PATCH_SCATTERS})

    def test_the_time_of_a_worker_that_died_counts(self, tmp_path: Path) -> None:
        killed = self.two(tmp_path)

        def kill(number: int) -> None:
            if number == 37:
                raise Killed

        killed.sandbox.before = kill
        with pytest.raises(Killed):
            killed.measure(self.job(BM_a=20.0, BM_b=20.0))
        killed.sandbox.before = lambda _: None

        assert killed.measure(self.job(BM_a=20.0, BM_b=20.0)).pairs == 20

    def test_a_person_who_asks_for_more_pairs_gets_them(self, tmp_path: Path) -> None:
        found = self.two(tmp_path).measure(self.job(BM_a=0.0, BM_b=0.0), longer=MorePairs("BM_a", 18))

        assert found.pairs == 18

    def test_a_renamed_benchmark_has_that_of_its_former_name(self, tmp_path: Path) -> None:
        bench = self.two(tmp_path, BM_a="BM_short")
        job = self.job(BM_short=0.0, BM_b=0.0)
        suite = replace(job.benchmark.suites[0], renamed={"BM_a": "BM_short"})
        found = bench.measure(replace(job, configuration=replace(job.benchmark, suites=(suite,))))

        assert (self.pairs_of(bench, "BM_b"), found.pairs) == (16, 24)
