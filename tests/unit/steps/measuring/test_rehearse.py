"""Rehearsals: what a side lists and runs before anything counts."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from typing_extensions import override

from service.domain.building.sandbox_command import Completed
from service.domain.measuring.formats.program import MAX_LISTED
from service.domain.measuring.pair_record import decode
from service.domain.measuring.repetitions import Plan
from service.domain.project.benchmark import Suite
from service.domain.project.policy import Policy
from service.domain.runs.vote import Outcome
from service.domain.values.identity import Side
from service.domain.verdict.inference.verdict import Verdict
from service.steps.measuring.launching import SideFailed
from service.steps.measuring.rehearse import Rehearsal, fix_listings
from tests.support.building.build_host import MemorySandbox, memory_host, session_of
from tests.support.building.memory_source import MemorySource, code
from tests.unit.domain.gbench_files import row, whole
from tests.unit.steps.machines.test_execute import Machine
from tests.unit.steps.measuring.test_measure import JOB, Bench, measuring, verdicts

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from service.domain.building.sandbox_command import Command
    from service.ports.building import ByteSink

CATCH2 = "Error(s) in input:\n  Unrecognised token: --benchmark_list_tests\n\nRun with -? for usage\n"
TABLE = [
    "| ns/op | op/s | err% | total | benchmark",
    "|---:|---:|---:|---:|:---",
    "| 687.41 | 1 | 3.8% | 0 | `sum`",
]
LINES = ["Loading …", "BM_gone", "", "x" * 2000, "a\tb"]


def printing(lines: list[str], **seconds: float) -> str:
    return json.dumps({"benchmarks": seconds, "prints": lines})


def test_lines_other_than_benchmarks_are_left_out(tmp_path: Path) -> None:
    """Before, a program that printed a line on standard output could not be measured at all."""
    bench = Bench(tmp_path, printing(LINES, BM_a=1e-6), printing([*LINES, "Loading 0.3 s"], BM_a=1e-6))
    found = bench.measure()

    assert (found.listings[0].base, found.listings[0].patch) == (("BM_a",), ("BM_a",))
    assert verdicts(found) == {"BM_a": Verdict.SAME}


def test_a_group_without_benchmarks_is_left_out(tmp_path: Path) -> None:
    """The library then finds no match for its filter, and leaves an empty file."""
    lines = [f"A line {number:03}" for number in range(250)]
    found = Bench(tmp_path, printing(lines, BM_a=1e-6), printing(lines, BM_a=1e-6)).measure()

    assert found.listings[0].common == ("BM_a",)


def test_a_benchmark_that_the_patch_lists_and_no_longer_runs_is_its_failure(tmp_path: Path) -> None:
    program = json.dumps({"benchmarks": {"BM_a": 1e-6, "BM_b": 1e-6}, "writes": whole(row("BM_a")).decode()})
    bench = Bench(tmp_path, code(BM_a=1e-6, BM_b=1e-6), program)
    with pytest.raises(SideFailed, match="patch: suite bench: did not run what it lists: BM_b"):
        bench.measure()


def test_a_benchmark_that_the_parent_lists_and_does_not_run_is_new(tmp_path: Path) -> None:
    """The parent ran before the patch, so that no patch can choose it."""
    program = json.dumps({"benchmarks": {"BM_a": 1e-6, "BM_b": 1e-6}, "writes": whole(row("BM_a")).decode()})
    bench = Bench(tmp_path, program, code(BM_a=1e-6, BM_b=1e-6))
    found = bench.measure()

    assert (found.listings[0].base, found.listings[0].patch) == (("BM_a",), ("BM_a", "BM_b"))


def test_a_listing_that_would_flood_the_database_fails_its_side(tmp_path: Path) -> None:
    bench = Bench(tmp_path, patch=code(**{f"BM_{number}": 1e-6 for number in range(MAX_LISTED + 1)}))
    with pytest.raises(SideFailed, match=r"patch: suite bench \(listing\): prints more than 10000 lines"):
        bench.measure()


def test_the_sentence_of_a_filter_without_a_match_is_no_benchmark(tmp_path: Path) -> None:
    sentence = "Failed to match any benchmarks against regex: x"
    bench = Bench(tmp_path, patch=code(**{sentence: 1e-6, "": 1e-6}))
    with pytest.raises(SideFailed, match="patch: suite bench: lists no benchmark"):
        bench.measure()


@pytest.mark.parametrize("rows", [[row(f"BM_{number}") for number in range(30_000)], [1] * 400_000])
def test_results_with_far_more_rows_than_benchmarks_fail_their_side(
    tmp_path: Path, rows: list[object]
) -> None:
    """Before, 1.2 MB of such rows took seven minutes of measuring, and a minute of a transaction."""
    written = json.dumps({"context": {}, "benchmarks": rows})
    program = json.dumps({"benchmarks": {"BM_a": 1e-6}, "writes": written})
    bench = Bench(tmp_path, code(BM_a=1e-6), program)
    with pytest.raises(SideFailed, match="has far more rows than the launched benchmarks"):
        bench.measure()

    assert bench.log.records == []


RENAMING = measuring(Suite("bench", "build/bench", renamed={"BM_old": "BM_new"}))


def test_a_filter_leaves_other_benchmarks_unlaunched(tmp_path: Path) -> None:
    """Otherwise one that crashes would end a gate of the others."""
    program = json.dumps({"benchmarks": {"BM_a": 1e-6, "BM_b": 1e-6}, "crashes on": ["BM_b"]})
    bench = Bench(tmp_path, program, program)
    found = bench.measure(filter="_a")

    assert {pattern for _, pattern in (*bench.sandbox.warm_ups, *bench.sandbox.launches)} == {"^(BM_a)$"}
    (listing,) = found.listings
    assert (listing.base, listing.patch, listing.not_chosen) == (("BM_a",), ("BM_a",), ("BM_b",))


@pytest.mark.parametrize(
    ("name", "chosen", "launched"),
    [
        ("BM_a", ("BM_a",), "^(BM_a)$"),
        ("a/2", ("BM_a/2",), "^(BM_a/2)$"),
        ("BM", (), "^(BM_a|BM_a/2)$"),
    ],
)
def test_a_name_chooses_one_benchmark(
    tmp_path: Path, name: str, chosen: tuple[str, ...], launched: str
) -> None:
    """One with the whole name is measured without those that contain it."""
    program = code(**{"BM_a": 1e-6, "BM_a/2": 1e-6})
    bench = Bench(tmp_path, program, program)
    (listing,) = bench.measure(filter=name, is_named=True).listings

    assert (listing.base, listing.patch) == (chosen, chosen)
    assert {*listing.not_chosen, *chosen} == {"BM_a", "BM_a/2"}
    assert bench.sandbox.warm_ups[0][1] == launched
    assert {pattern for _, pattern in bench.sandbox.launches} <= {launched}


def test_a_former_name_chooses_the_renamed_benchmark_only(tmp_path: Path) -> None:
    names = {"BM_old/2": 1e-6}
    bench = Bench(tmp_path, code(BM_old=1e-6, **names), code(BM_new=1e-6, **names))
    (listing,) = bench.measure(RENAMING, filter="BM_old", is_named=True).listings
    assert listing.common == ("BM_new",)


@pytest.mark.parametrize("name", ["old", "new"])
def test_a_filter_chooses_a_renamed_benchmark_by_either_name(tmp_path: Path, name: str) -> None:
    bench = Bench(tmp_path, code(BM_old=1e-6, BM_x=1e-6), code(BM_new=1e-6, BM_x=1e-6))
    (listing,) = bench.measure(RENAMING, filter=name).listings

    assert (listing.common, listing.renamed, listing.not_chosen) == (
        ("BM_new",),
        {"BM_new": "BM_old"},
        ("BM_x",),
    )
    rehearsed = [pattern for _, pattern in bench.sandbox.warm_ups]
    assert rehearsed[:2] == ["^(BM_old)$", "^(BM_new)$"], "the patch's too"


def test_a_filter_that_chooses_nothing_leaves_nothing_to_measure(tmp_path: Path) -> None:
    found = Bench(tmp_path).measure(filter="no_such")

    assert (found.pairs, found.listings[0].common) == (0, ())
    assert set(found.listings[0].not_chosen) == {"BM_slow", "BM_same"}


class Refusing(MemorySandbox):
    """A sandbox of programs that print an error, and end with exit code 1."""

    printed = ""

    @override
    def run(self, command: Command, *, log: ByteSink | None, watch: Callable[[], None]) -> Completed:
        if len(command.argv) == 3 or command.argv[3] == "remove" or log is None:
            return super().run(command, log=log, watch=watch)
        log.write(self.printed.encode())
        return Completed(1, 0.1)


@pytest.mark.parametrize(
    ("printed", "hint"),
    [
        (CATCH2, "its program uses Catch2: set `format: catch2` in benchgate.yaml"),
        ("Invalid flag '--benchmark_list_tests=true'", "its program refuses --benchmark_list_tests"),
        ("Usage: ./bench FILE", "its program asks for arguments: set `args`"),
        ("cannot open twitter.json", "its program does not find a file: set `cwd` or `args`"),
        ("Segmentation fault", "check its program, args, cwd, format and data in benchgate.yaml"),
    ],
)
def test_a_program_that_does_not_list_is_recognised_by_its_error(
    tmp_path: Path, printed: str, hint: str
) -> None:
    machine = Machine(tmp_path)
    sandbox = Refusing()
    sandbox.printed = printed
    machine.host = memory_host(machine.source, sandbox, tmp_path)
    report = machine.work()

    assert report is not None
    assert report.outcome is Outcome.MISCONFIGURED
    assert len(report.causes) == 1
    assert f"): {hint}" in report.causes[0]


def test_a_program_that_prints_a_table_instead_of_a_list_is_recognised(tmp_path: Path) -> None:
    """nanobench and GoogleTest ignore unknown flags, and run everything."""
    machine = Machine(tmp_path)
    for commit, more in (("parent", "1"), ("patch1", "2")):
        machine.write(commit, json.dumps({"benchmarks": {}, "prints": [*TABLE, more]}))
    report = machine.work()

    assert report is not None
    assert report.outcome is Outcome.MISCONFIGURED
    assert report.causes == (
        (
            "suite bench fails on both sides (left no result of what it lists): its program uses nanobench: "
            "let it write nanobench's JSON to standard output, and set `format: nanobench` in benchgate.yaml"
        ),
    )


def test_a_patch_that_alone_prints_such_a_table_measured_nothing(tmp_path: Path) -> None:
    """The output is for the message: the outcome follows from both sides."""
    machine = Machine(tmp_path)
    machine.write("parent", code(BM_a=1e-6))
    machine.write("patch1", json.dumps({"benchmarks": {}, "prints": TABLE}))
    report = machine.work()

    assert report is not None
    assert report.outcome is Outcome.MEASURED_NOTHING


def loading(seconds: float, **benchmarks: float) -> str:
    """A program that loads data for so long, whatever it measures."""
    return json.dumps({"benchmarks": benchmarks, "sets up": seconds})


class TestSetUp:
    @pytest.mark.parametrize(
        ("base", "patch", "repetitions"), [(9.0, 9.0, 100), (9.0, 0.0, 20), (0.0, 9.0, 20)]
    )
    def test_a_program_that_sets_up_for_long_repeats_more_on_both_sides(
        self, tmp_path: Path, base: float, patch: float, repetitions: int
    ) -> None:
        """A patch can only make that as many as usual."""
        bench = Bench(tmp_path, loading(base, BM_a=1e-6, BM_b=1e-6), loading(patch, BM_a=1e-6, BM_b=1e-6))
        found = bench.measure()

        rows = [len(json.loads(raw.output)["benchmarks"]) for raw in decode(bench.log.records[0].raw)]
        assert rows == [2 * repetitions] * 2
        assert found.listings[0].set_up == pytest.approx(base, abs=0.01)

    @pytest.mark.parametrize(
        ("base", "patch", "multiple"), [((), ("BM_a",), 1), (("BM_a",), (), 4), (("BM_a",), ("BM_a",), 4)]
    )
    def test_a_patch_cannot_make_more_repetitions_of_its_parent_long(
        self, tmp_path: Path, base: tuple[str, ...], patch: tuple[str, ...], multiple: int
    ) -> None:
        """Before, one that sets up for long could make launches of its parent three times as long."""
        session = session_of(memory_host(MemorySource(), MemorySandbox(), tmp_path), JOB)
        sides = {
            side: Rehearsal({"bench": ("BM_a",)}, {"bench": Plan(frozenset(long), 9.0, most)})
            for side, long, most in ((Side.BASE, base, 5), (Side.PATCH, patch, 4))
        }
        (listing,) = fix_listings(session, sides)

        assert (listing.long, listing.multiple) == (frozenset({"BM_a"}), multiple)

    def test_one_benchmark_alone_tells_the_set_up_of_the_program(self, tmp_path: Path) -> None:
        program = loading(9.0, BM_a=1e-6, BM_b=1e-6)
        bench = Bench(tmp_path, program, program)
        bench.measure()

        assert [pattern for _, pattern in bench.sandbox.warm_ups] == ["^(BM_a|BM_b)$", "^(BM_a)$"] * 2

    def test_a_worker_that_takes_over_repeats_as_often(self, tmp_path: Path) -> None:
        program = loading(9.0, BM_a=1e-6, BM_b=1e-6)
        bench = Bench(tmp_path, program, program)
        bench.measure(replace(JOB, policy=Policy(max_pairs=14)))
        first = bench.log.fixed
        del bench.log.records[2:]
        bench.measure(replace(JOB, policy=Policy(max_pairs=14)))

        assert bench.log.fixed == first
        rows = {
            len(json.loads(raw.output)["benchmarks"])
            for record in bench.log.records
            for raw in decode(record.raw)
        }
        assert rows == {200}
