"""Programs that choose no benchmark by name: each launch runs all benchmarks, and lists them."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import quoteattr

import pytest
from typing_extensions import override

from service.domain.building.sandbox_command import Completed
from service.domain.measuring.formats.program import MAX_LISTED
from service.domain.measuring.pair_record import read_pair
from service.domain.project.benchmark import Format, Suite
from service.domain.runs.vote import Outcome
from service.domain.verdict.inference.verdict import Verdict
from service.steps.measuring.launching import SideFailed
from tests.support.building.build_host import NOISE, MemorySandbox, memory_host
from tests.support.building.memory_source import code
from tests.unit.steps.machines.test_execute import Machine
from tests.unit.steps.measuring.test_measure import Bench, measuring, verdicts

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from service.domain.building.sandbox_command import Command
    from service.domain.runs.machine_report import MachineReport
    from service.ports.building import ByteSink

BOTH = {"sum": 1e-6, "sort/100": 2e-6}
SUITE = Suite("bench", "build/bench", format=Format.CATCH2, metrics=("real_time",))
JOB = measuring(SUITE)


@dataclass
class WholeSandbox(MemorySandbox):
    """A sandbox with Catch2 programs; ``environments`` has one for each launch."""

    environments: list[Mapping[str, str]] = field(default_factory=list)

    @override
    def run(self, command: Command, *, log: ByteSink | None, watch: Callable[[], None]) -> Completed:
        if len(command.argv) == 3 or command.argv[3] == "remove":
            return super().run(command, log=log, watch=watch)
        watch()
        program = json.loads((Path(command.mounts[0].source) / command.argv[4]).read_text())
        slower = 1 + NOISE * (len(self.environments) * 7 % 5) / 5
        self.environments.append(command.env)
        times = {name: each * slower for name, each in program.get("benchmarks", {}).items()}
        text = program.get("writes", _catch2(times, program.get("fails", [])))
        (Path(command.mounts[-1].source) / "result.json").write_text(text)
        if log is not None:
            log.write(program.get("prints on standard error", "").encode())
        return Completed(program.get("exit code", 0), 0.1)


def _catch2(times: Mapping[str, float], failed: list[str]) -> str:
    benchmarks = [
        f"<BenchmarkResults name={quoteattr(name)}>"
        + ('<failed message="threw"/>' if name in failed else f'<mean value="{1e9 * each}"/>')
        + "</BenchmarkResults>"
        for name, each in times.items()
    ]
    return f"<Catch2TestRun>{''.join(benchmarks)}</Catch2TestRun>"


def bench_of(scratch: Path, patch: str) -> Bench:
    bench = Bench(scratch, code(**BOTH), patch)
    bench.sandbox = WholeSandbox()
    return bench


def report_of(
    scratch: Path, parent: Mapping[str, Any], patch: Mapping[str, Any], **suite: object
) -> MachineReport:
    machine = Machine(scratch)
    machine.write("parent", json.dumps(parent))
    machine.write("patch1", json.dumps({**patch, "differs": 1}))
    machine.host = memory_host(machine.source, WholeSandbox(), scratch)
    config = machine.claimed.spec["config"]
    suites = [{**config["suites"][0], "format": "catch2", **suite}]
    machine.claimed.spec = {**machine.claimed.spec, "config": {**config, "suites": suites}}
    report = machine.work()
    assert report is not None
    return report


def test_a_pair_keeps_the_benchmarks_that_it_was_launched_for(tmp_path: Path) -> None:
    """As it does if a filter chooses them: a benchmark that is decided gets no more samples."""
    bench = bench_of(tmp_path, code(**{**BOTH, "sum": 1.1e-6}))
    bench.measure(JOB)
    names = [
        {*launch.values}
        for record in (bench.log.records[0], bench.log.records[-1])
        for launch in read_pair(record, JOB.benchmark.suites)
    ]

    assert names == [{"sum", "sort/100"}] * 2 + [{"sum"}] * 2


def test_a_new_and_a_removed_benchmark_are_found(tmp_path: Path) -> None:
    found = bench_of(tmp_path, code(sum=1e-6, new=1e-6)).measure(JOB)

    assert verdicts(found, JOB) == {"sum": Verdict.SAME, "new": Verdict.NEW, "sort/100": Verdict.REMOVED}


def test_a_renamed_benchmark_is_launched_by_its_own_name_on_each_side(tmp_path: Path) -> None:
    sides = [{"benchmarks": {name: 1e-6}} for name in ("old", "new")]
    report = report_of(tmp_path, *sides, renamed={"old": "new"})

    assert (report.outcome, report.pairs) == (None, 5)


def test_the_environment_of_a_suite_reaches_every_launch(tmp_path: Path) -> None:
    bench = bench_of(tmp_path, code(**BOTH))
    bench.measure(measuring(replace(SUITE, env={"SIZE": "9"})))
    assert isinstance(bench.sandbox, WholeSandbox)

    assert {each["SIZE"] for each in bench.sandbox.environments} == {"9"}


def test_a_benchmark_that_fails_is_a_result_although_its_program_fails(tmp_path: Path) -> None:
    failing = json.dumps({"benchmarks": BOTH, "fails": ["sum"], "exit code": 1})
    found = verdicts(bench_of(tmp_path, failing).measure(JOB), JOB)

    assert found == {"sum": Verdict.BROKEN, "sort/100": Verdict.SAME}


@pytest.mark.parametrize(
    ("program", "end"),
    [
        ({"benchmarks": BOTH, "exit code": 1}, "exit code 1: oh no, although no benchmark failed"),
        ({"benchmarks": {}, "exit code": 2}, "exit code 2: oh no, and no benchmark ran"),
        ({"writes": "", "exit code": 139}, "exit code 139: oh no"),
        ({"writes": "x"}, "results of catch2: line 1: it is not XML: syntax error"),
        (
            {"benchmarks": {f"b{k}": 1e-6 for k in range(MAX_LISTED + 1)}},
            f"has more than {MAX_LISTED} benchmarks",
        ),
    ],
)
def test_a_program_that_does_not_end_well_fails_its_side(
    tmp_path: Path, program: Mapping[str, Any], end: str
) -> None:
    patch = json.dumps({**program, "prints on standard error": "oh no"})
    with pytest.raises(SideFailed) as failed:
        bench_of(tmp_path, patch).measure(JOB)

    assert failed.value.failure == f"suite bench: {end}"


def test_a_program_that_writes_no_json_is_misconfigured_on_both_sides(tmp_path: Path) -> None:
    table = {"writes": "| ns/op | op/s | err% | total | benchmark\n"}
    report = report_of(tmp_path, table, table, format="nanobench")

    assert report.outcome is Outcome.MISCONFIGURED
    assert report.causes[0].startswith(
        "suite bench fails on both sides (results of nanobench: standard output has neither a table nor "
        "JSON of nanobench): "
        "let its program print nanobench's table, or render ankerl::nanobench::templates::json(), to "
    )


def test_a_test_spec_without_a_match_is_misconfigured_on_both_sides(tmp_path: Path) -> None:
    """Benchmarks need not have the tag [!benchmark]."""
    none = {"benchmarks": {}, "exit code": 2}
    report = report_of(tmp_path, none, none)

    assert report.outcome is Outcome.MISCONFIGURED
    assert report.causes[0].startswith(
        "suite bench fails on both sides (exit code 2, and no benchmark ran): its program chooses benchmarks "
        "by a test spec: set that as `filter`"
    )


def test_a_program_without_benchmarks_is_misconfigured_on_both_sides(tmp_path: Path) -> None:
    report = report_of(tmp_path, {"benchmarks": {}}, {"benchmarks": {}})

    assert report.outcome is Outcome.MISCONFIGURED
    assert report.causes[0].startswith("suite bench lists no benchmark on either side")


def test_a_patch_that_runs_no_benchmark_measured_nothing(tmp_path: Path) -> None:
    report = report_of(tmp_path, {"benchmarks": BOTH}, {"benchmarks": {}})

    assert report.outcome is Outcome.MEASURED_NOTHING
