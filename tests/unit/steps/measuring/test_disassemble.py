"""The function of the first cause is disassembled on both sides; a failure changes nothing."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from service.domain.building.sandbox_command import Completed
from service.domain.measuring.callgrind_events import LoopEvents, loop_events
from service.domain.measuring.callgrind_loop import Loop, last_loop
from service.domain.project.benchmark import BenchmarkConfiguration, Suite
from service.domain.project.job import Job
from service.domain.project.job_kinds import JobKind
from service.domain.values.identity import Side
from service.domain.verdict.explanation.causes import Cause, Kind
from service.domain.verdict.explanation.explanation import Explanation
from service.steps.measuring.disassemble import disassembled
from service.steps.measuring.launching import Launcher
from tests.support.building.build_host import MemorySandbox, memory_host, session_of
from tests.support.building.memory_source import MemorySource

if TYPE_CHECKING:
    from collections.abc import Callable

    from service.domain.building.sandbox_command import Command
    from service.domain.verdict.explanation.assembly import Assembly
    from service.ports.building import ByteSink

SAMPLES = Path(__file__).parents[3] / "samples" / "callgrind" / "code"
SUITE = Suite("why", "build/why")
JOB = Job("perf", JobKind("benchmark"), BenchmarkConfiguration(suites=(SUITE,)))
LOOP = {"base": 2084, "patch": 1978}
LOOKED_UP = Cause(Kind.INSTRUCTIONS, "lib::look_up", 23_225.0, 26_950.0)


@dataclass
class Objdump(MemorySandbox):
    """Prints the recorded listing of a side, unless ``exit_code`` says that it failed."""

    exit_code: int = 0
    asked: list[tuple[str, ...]] = field(default_factory=list)

    def run(self, command: Command, *, log: ByteSink | None, watch: Callable[[], None]) -> Completed:
        self.asked.append(command.argv[4:])
        side = Path(command.mounts[0].source).name
        if not self.exit_code:
            (Path(command.mounts[-1].source) / "listing").write_bytes((SAMPLES / f"{side}.txt").read_bytes())
        return Completed(self.exit_code, 0.1)


@pytest.fixture(scope="module")
def sides() -> tuple[tuple[LoopEvents], ...]:
    found = []
    for side, iterations in LOOP.items():
        log = f"-- LOG(2): Running LookUp for {iterations}\n".encode()
        found.append((loop_events((SAMPLES / f"{side}.out").read_bytes(), log, "LookUp"),))
    return tuple(found)


def explained(
    tmp_path: Path, sides: tuple[tuple[LoopEvents], ...], objdump: Objdump, *causes: Cause
) -> Assembly | None:
    session = session_of(memory_host(MemorySource(), objdump, tmp_path), JOB)
    launcher = Launcher(session, {side: tmp_path / side for side in Side})
    found = Explanation("why", "LookUp", causes=causes)
    result = disassembled(launcher, SUITE, found, sides, 30.0)
    assert replace(result, assembly=None) == found
    return result.assembly


def test_the_executed_range_of_both_sides_is_disassembled(
    tmp_path: Path, sides: tuple[tuple[LoopEvents], ...]
) -> None:
    objdump = Objdump()
    found = explained(tmp_path, sides, objdump, LOOKED_UP)
    assert found is not None
    assert found.grown_line == "hash_table.cpp:11"
    assert [argv[1] for argv in objdump.asked] == [str(0x5C90), str(0x5CB0)]
    assert {argv[0] for argv in objdump.asked} == {"/src/build/why"}
    assert found.rows[-1].patch == "ret", "nothing behind the last executed instruction"


def test_the_lines_are_compared_by_the_events_of_the_cause(
    tmp_path: Path, sides: tuple[tuple[LoopEvents], ...]
) -> None:
    cause = Cause(Kind.BRANCH_MISSES, "lib::look_up", 240.0, 255.0)
    found = explained(tmp_path, sides, Objdump(), cause)
    assert found is not None
    assert [line.line for line in found.lines if line.patch > 2] == [27], "not where instructions grew"
    assert found.counted == "branch misses"


def test_the_lines_count_instructions_if_a_library_makes_the_calls(
    tmp_path: Path, sides: tuple[tuple[LoopEvents], ...]
) -> None:
    found = explained(tmp_path, sides, Objdump(), Cause(Kind.LOCKS, "lib::look_up", 1.0, 2.0))
    assert found is not None
    assert (found.counted, found.grown_line) == ("instructions", "hash_table.cpp:11")


def test_lost_inlining_shows_the_caller(tmp_path: Path, sides: tuple[tuple[LoopEvents], ...]) -> None:
    objdump = Objdump()
    explained(tmp_path, sides, objdump, Cause(Kind.INLINING, "lib::look_up", 0.0, 1.0))
    assert [argv[1] for argv in objdump.asked] == [str(0x374B)] * 2


def test_of_overloads_the_one_that_grew_is_shown(
    tmp_path: Path, sides: tuple[tuple[LoopEvents], ...]
) -> None:
    objdump = Objdump()
    overloaded = [
        (replace(each, loop=with_overload(name, each.iterations)),)
        for name, (each,) in zip(LOOP, sides, strict=True)
    ]
    found = explained(tmp_path, tuple(overloaded), objdump, LOOKED_UP)
    assert found is not None
    assert found.grown_line == "hash_table.cpp:11"
    assert [argv[1] for argv in objdump.asked] == [str(0x5C90), str(0x5CB0)]


def with_overload(side: str, iterations: int) -> Loop:
    """Add a function of the same name that costs more, and as much on both sides."""
    more = b"\nfn=(99999) lib::look_up(long)\n0x10 %d\ntotals: " % (10**5 * iterations)
    return last_loop((SAMPLES / f"{side}.out").read_bytes().replace(b"\ntotals: ", more))


def test_nothing_is_shown_if_objdump_fails_or_the_function_is_unknown(
    tmp_path: Path, sides: tuple[tuple[LoopEvents], ...]
) -> None:
    assert explained(tmp_path, sides, Objdump(exit_code=127), LOOKED_UP) is None
    objdump = Objdump()
    assert explained(tmp_path, sides, objdump, LOOKED_UP._replace(function="why")) is None
    assert objdump.asked == []
