"""Measuring of pairs that other work disturbed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pytest

from service.domain.machines.environment import Load
from service.domain.measuring.launch_order import environment_pad, side_order
from service.domain.measuring.pair_record import decode
from service.domain.project.policy import Layout
from service.domain.runs.judge_build import judge_measured
from service.domain.verdict.comparison.counting_pairs import DisturbedPairs, allowance
from tests.unit.steps.measuring.test_measure import JOB, Bench, Killed, verdicts

if TYPE_CHECKING:
    from collections.abc import Container
    from pathlib import Path

    from service.domain.runs.judge_build import Measured

EVERY = range(1000)


@dataclass
class Neighbour:
    """Another guest of the host; it takes a tenth of the CPU during some launches, counted from 0."""

    during: Container[int]
    readings: int = 0
    stolen: int = 0

    def read_load(self) -> Load:
        launch, is_after = divmod(self.readings, 2)
        self.readings += 1
        if is_after and launch in self.during:
            self.stolen += 100
        return Load(10.0 * self.readings, 0.0, 1, {0: 0}, {0: 0}, {0: self.stolen}, 100)


def bench_beside(scratch: Path, during: Container[int]) -> Bench:
    bench = Bench(scratch)
    bench.conditions = {"cpus": (0,), "read_load": Neighbour(during).read_load}
    return bench


@pytest.fixture
def quiet(tmp_path: Path) -> Bench:
    """A bench that measured undisturbed."""
    bench = Bench(tmp_path)
    bench.measure()
    return bench


def judged(bench: Bench) -> Measured:
    believed = replace(JOB, policy=replace(JOB.policy, layout=Layout.OFF))
    return judge_measured(believed, bench.log.fixed, bench.log.pairs())


@pytest.mark.parametrize("launch", [0, 1, 6, 7, 15, 22, 23])
def test_a_disturbed_pair_is_measured_again_whole(tmp_path: Path, quiet: Bench, launch: int) -> None:
    pairs = len(quiet.log.records)
    bench = bench_beside(tmp_path, {launch})
    found = bench.measure()

    assert (found.pairs, len(bench.log.records), len(bench.launches)) == (pairs, pairs + 1, 2 * pairs + 2)
    assert verdicts(found) == verdicts(quiet.measure())
    assert launch // 2 not in {each.pair for each in found.launches}


def test_a_repeated_pair_keeps_its_order_in_an_environment_of_its_own(tmp_path: Path) -> None:
    """Else the order of counting pairs would not be random if one order is disturbed more often."""
    bench = bench_beside(tmp_path, {2, 4})
    bench.measure()

    pairs = range(len(bench.log.records))
    draws = (0, 1, 1, 1, *range(2, len(bench.log.records) - 2))
    assert [side for side, _ in bench.launches] == [side for k in draws for side in side_order("seed", k)]
    assert bench.sandbox.pads[::2] == [environment_pad("seed", pair) for pair in pairs]


def test_the_disturbed_pair_is_kept_and_marked(tmp_path: Path) -> None:
    bench = bench_beside(tmp_path, {2})
    bench.measure()

    marks = [[each.facts["disturbed"] for each in decode(pair.raw)] for pair in bench.log.records]
    assert marks[:3] == [[False, False], [True, False], [False, False]]
    assert sum(map(sum, marks)) == 1


def test_benchmarks_drop_out_after_as_many_pairs_that_count(tmp_path: Path, quiet: Bench) -> None:
    bench = bench_beside(tmp_path, {0, 4})
    bench.measure()

    both = "^(BM_same|BM_slow)$"
    filters, expected = ([pattern for _, pattern in each.launches[::2]] for each in (bench, quiet))
    assert filters == [both, both, *expected]


def test_all_later_pairs_count_on_a_machine_that_is_never_quiet(tmp_path: Path, quiet: Bench) -> None:
    extra, pairs = allowance(JOB.policy.base_pairs), len(quiet.log.records)
    bench = bench_beside(tmp_path, EVERY)
    found = bench.measure()

    assert (found.pairs, len(bench.log.records)) == (pairs, extra + pairs)
    assert {each.pair for each in found.launches} == set(range(extra, extra + pairs))
    assert verdicts(found) == verdicts(quiet.measure())


@pytest.mark.parametrize("launch", [2, 3, 4, 5, 17, 19, 25])
def test_a_killed_worker_continues_as_if_nothing_had_happened(tmp_path: Path, launch: int) -> None:
    whole = bench_beside(tmp_path, {2, 3, 17})
    expected = whole.measure()
    killed = bench_beside(tmp_path, {2, 3, 17})

    def kill(number: int) -> None:
        if number == launch:
            raise Killed

    killed.sandbox.before = kill
    with pytest.raises(Killed):
        killed.measure()
    killed.sandbox.before = lambda _: None
    # The neighbour goes by the clock: half a pair that is repeated meets what the whole one met.
    first = 2 * len(killed.log.records)
    killed.conditions["read_load"] = Neighbour({k - first for k in (2, 3, 17)}).read_load
    found = killed.measure()

    assert len(killed.log.records) == len(whole.log.records)
    assert (found.pairs, verdicts(found)) == (expected.pairs, verdicts(expected))


@pytest.mark.parametrize("during", [{2}, {0, 5, 9}, EVERY])
def test_the_records_alone_tell_which_pairs_count(
    tmp_path: Path, quiet: Bench, during: Container[int]
) -> None:
    bench = bench_beside(tmp_path, during)
    found = bench.measure()
    again = judged(bench)

    assert again.launches == found.launches
    assert {row.row.benchmark: row.verdict for row in again.comparisons} == verdicts(found)
    assert [row.pairs for row in again.comparisons] == [row.pairs for row in judged(quiet).comparisons]


def test_the_notes_count_the_repeated_pairs(tmp_path: Path) -> None:
    bench = bench_beside(tmp_path, {2, 6})
    bench.measure()

    assert judged(bench).notes.disturbed == DisturbedPairs(left_out=2, pairs=16)


def test_the_notes_are_silent_if_nothing_was_disturbed(tmp_path: Path) -> None:
    bench = bench_beside(tmp_path, ())
    bench.measure()

    assert judged(bench).notes.disturbed == DisturbedPairs(pairs=14)
