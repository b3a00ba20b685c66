"""Launches: their CPUs, their groups, and the results that they must leave."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from service.domain.measuring.launch_order import side_order
from service.domain.measuring.pair_record import decode, read_pair
from service.domain.project.policy import Policy
from service.domain.values.identity import Side
from service.domain.verdict.inference.verdict import Verdict
from service.domain.wording.build_causes import shared_cpus
from service.steps.measuring.launching import SideFailed
from tests.support.building.memory_source import code
from tests.support.memory.files import MemoryPacker
from tests.unit.domain.gbench_files import row, whole
from tests.unit.steps.machines.test_execute import Machine
from tests.unit.steps.measuring.test_measure import JOB, SUITE, Bench, measuring, verdicts

if TYPE_CHECKING:
    from pathlib import Path

MANY = {f"BM_{number:03}": 1e-6 for number in range(230)}
ONE_PAIR = replace(JOB, policy=Policy(max_pairs=1))


def writing(*rows: object, **seconds: float) -> str:
    """A program that lists these benchmarks and always writes these rows."""
    return json.dumps({"benchmarks": seconds, "writes": whole(*rows).decode()})


class TestGroups:
    def test_many_benchmarks_are_launched_in_groups_side_next_to_side(self, tmp_path: Path) -> None:
        bench = Bench(tmp_path, code(**MANY), code(**MANY, BM_new=1e-6))
        bench.measure(ONE_PAIR)

        launches = [(each.side, len(json.loads(each.output)["benchmarks"]) // 20) for each in _first(bench)]
        assert launches == [(side, size) for size in (100, 100, 30) for side in side_order("seed", 0)]

    def test_the_groups_of_a_launch_are_read_as_one(self, tmp_path: Path) -> None:
        bench = Bench(tmp_path, code(**MANY), code(**MANY))
        bench.measure(ONE_PAIR)
        samples = read_pair(bench.log.records[0], JOB.benchmark.suites)

        assert [each.side for each in samples] == list(side_order("seed", 0))
        assert all(set(each.values) == set(MANY) for each in samples)

    def test_launches_in_hand_are_those_of_the_records(self, tmp_path: Path) -> None:
        odd = [
            row("BM_a"),
            row("BM_b", real_time="soon"),
            row("BM_c", error_occurred=True, error_message="x"),
        ]
        names = dict.fromkeys(("BM_a", "BM_b", "BM_c"), 1e-6)
        bench = Bench(tmp_path, code(**names), writing(*odd, **names))
        bench.conditions["packer"] = MemoryPacker(is_too_large=True)
        measured = bench.measure(ONE_PAIR)

        assert measured.launches == read_pair(bench.log.records[0], JOB.benchmark.suites)
        assert {launch.is_kept_in_place for launch in measured.launches} == {True}
        assert any(launch.warnings for launch in measured.launches)

    def test_every_benchmark_of_every_group_is_decided(self, tmp_path: Path) -> None:
        bench = Bench(tmp_path, code(**MANY), code(**MANY))

        assert set(verdicts(bench.measure()).values()) == {Verdict.SAME}

    def test_each_group_is_warmed_up(self, tmp_path: Path) -> None:
        bench = Bench(tmp_path, code(**MANY), code(**MANY))
        bench.measure(ONE_PAIR)

        assert len(bench.sandbox.warm_ups) == 6


def _first(bench: Bench) -> tuple:  # type: ignore[type-arg]
    return decode(bench.log.records[0].raw)


class TestNames:
    def test_benchmarks_that_did_not_run_are_named(self, tmp_path: Path) -> None:
        names = dict.fromkeys(("BM_a", "BM_b", "BM_c", "BM_d", "BM_e"), 1e-6)
        bench = Bench(tmp_path, code(**names), writing(row("BM_e"), **names))
        with pytest.raises(SideFailed) as failed:
            bench.measure()

        assert failed.value.side is Side.PATCH
        assert failed.value.end == "did not run what it lists: BM_a, BM_b, BM_c and 1 more"

    def test_a_damaged_result_is_named_with_the_place_of_the_damage(self, tmp_path: Path) -> None:
        names = dict.fromkeys(("BM_a", "BM_b"), 1e-6)
        bench = Bench(tmp_path, code(**names), writing(row("BM_a"), '{"name": BM_b', **names))
        with pytest.raises(SideFailed) as failed:
            bench.measure()

        assert failed.value.end.startswith("result.json: it is cut off or damaged at byte ")

    def test_unrequested_benchmarks_are_ignored(self, tmp_path: Path) -> None:
        program = writing(row("BM_a"), row("BM_more"), BM_a=1e-6)
        found = Bench(tmp_path, code(BM_a=1e-6), program).measure(ONE_PAIR)

        assert set(verdicts(found)) == {"BM_a"}

    @pytest.mark.parametrize(
        "returned",
        [
            row("BM_a", error_occurred=True, error_message="no such file"),
            row("BM_a_mean", run_name="BM_a", run_type="aggregate", aggregate_name="mean"),
            row("BM_a", real_time="soon"),
        ],
        ids=["an error", "aggregates only", "a row that cannot be read"],
    )
    def test_a_benchmark_without_values_was_run_all_the_same(
        self, tmp_path: Path, returned: dict[str, object]
    ) -> None:
        bench = Bench(tmp_path, code(BM_a=1e-6), writing(returned, BM_a=1e-6))

        assert bench.measure(ONE_PAIR).pairs == 1


class TestCpus:
    @pytest.mark.parametrize(
        ("name", "cpus", "expected"),
        [
            ("BM_a", 1, (3,)),
            ("BM_a", 2, (2, 3)),
            ("BM_a/threads:2", 1, (2, 3)),
            ("BM_a/threads:3", 1, (0, 1, 2, 3)),
            ("BM_a/threads:64", 1, (0, 1, 2, 3)),
            ("BM_a", 4, (0, 1, 2, 3)),
        ],
    )
    def test_threads_never_take_turns_while_the_machine_has_more_cpus(
        self, tmp_path: Path, name: str, cpus: int, expected: tuple[int, ...]
    ) -> None:
        bench = Bench(tmp_path, code(**{name: 1e-6}), code(**{name: 1e-6}))
        bench.conditions = {"cpus": (2, 3), "host_cpus": (0, 1, 2, 3)}
        bench.measure(measuring(replace(SUITE, cpus=cpus), job=ONE_PAIR))

        assert bench.sandbox.cpus == [expected, expected]

    @pytest.mark.parametrize(
        ("name", "host", "said"),
        [
            (
                "BM_a/threads:3",
                (0, 1, 2, 3),
                shared_cpus("bench", 3, 2, 4),
            ),
            ("BM_a/threads:2", (0, 1, 2, 3), None),
            ("BM_a/threads:3", (2, 3), None),
        ],
    )
    def test_a_suite_that_left_the_measured_cpus_is_named(
        self, tmp_path: Path, name: str, host: tuple[int, ...], said: str | None
    ) -> None:
        machine = Machine(tmp_path)
        machine.host = replace(machine.host, cpus=(2, 3), host_cpus=host)
        for commit in ("parent", "patch1"):
            machine.write(commit, code(**{name: 1e-6, f"BM_{commit}": 1e-6}))
        report = machine.work()

        assert report is not None
        assert report.causes == (() if said is None else (said,))


class TestSizes:
    def test_results_too_large_to_be_read_again_fail_their_side(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Before, they were stored, and every later attempt to read the pair failed."""
        monkeypatch.setattr("service.steps.measuring.measure.RESULT_BYTES", 20_000)
        padded = json.dumps(
            {"benchmarks": {"BM_a": 1e-6}, "writes": whole(row("BM_a")).decode() + " " * 20_000}
        )
        bench = Bench(tmp_path, code(BM_a=1e-6), padded)
        with pytest.raises(SideFailed, match="the results of a pair have more than") as failed:
            bench.measure()

        assert failed.value.side is Side.PATCH
        assert bench.log.records == []
