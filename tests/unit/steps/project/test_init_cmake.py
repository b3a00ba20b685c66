"""The inquiry of CMake projects, with a runner that replays recorded replies."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest
from typing_extensions import override

from service.domain.building.sandbox_command import Completed
from service.domain.project.starter.file import BuildSystem, Program, ProjectFacts
from service.domain.values.errors import CommandFailed, NotFound
from service.steps.project.init_cmake import ask_cmake
from service.steps.project.init_inquiry import Inquiry

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from service.domain.building.sandbox_command import Command
    from service.ports.building import ByteSink

SAMPLES: Final = Path(__file__).parents[3] / "samples" / "cmake_api"
OPTION: Final = "-DSTACK_BENCH=ON"
FILES: Final = {"CMakeLists.txt": 'option(STACK_BENCH "Build the benchmarks" OFF)'}
PRESETS: Final = json.dumps(
    {"configurePresets": [{"name": "release", "cacheVariables": {"CMAKE_BUILD_TYPE": "Release"}}]}
)
FOUND: Final = Program("build/stack_bench", "stack_bench", 2)


@dataclass
class RecordedCMake:
    """A runner of cmake: configuring leaves a recorded reply, building leaves a program that lists.

    ``refused`` are arguments with which a command fails, with ``errors``, and ``always`` is what the program
    prints although no benchmark is asked for. ``reply`` chooses the sample by the arguments; ``place`` is its
    program's path, and ``more`` are further entries of its cache.
    """

    refused: tuple[str, ...] = ()
    errors: bytes = b"CMake Error at CMakeLists.txt:3: it does not work\n"
    more: tuple[Mapping[str, object], ...] = ()
    listing: str = "BM_Push/8\nBM_Push/512\n"
    always: str = ""
    builds: bool = True
    program: bytes = b""
    place: str = "stack_bench"
    version: bytes = b'{"version": {"major": 3, "minor": 25}}'
    reply: Callable[[tuple[str, ...]], str] = lambda argv: (
        "system_library" if OPTION in argv else "system_library_off"
    )
    calls: list[tuple[str, ...]] = field(default_factory=list)

    def in_force(self) -> Mapping[str, str]:
        return {}

    def run(self, command: Command, *, log: ByteSink | None, watch: Callable[[], None]) -> Completed:
        assert log is not None
        argv = command.argv
        self.calls.append(argv)
        if not set(self.refused).isdisjoint(argv):
            log.write(self.errors)
            return Completed(1, 0.1)
        if argv[0] == "sh":
            log.write((self.always if "--benchmark_filter=^$" in argv else self.listing).encode())
        elif "capabilities" in argv:
            log.write(self.version)
        elif "--list-presets" in argv:
            log.write(b'Available configure presets:\n\n  "release"\n')
        elif "--build" in argv:
            if self.builds:
                (Path(argv[2]) / "stack_bench").write_bytes(self.program)
        else:
            self._leave_reply(argv)
        return Completed(0, 0.1)

    def _leave_reply(self, argv: tuple[str, ...]) -> None:
        directory = Path(argv[argv.index("-B") + 1], ".cmake/api/v1/reply")
        directory.mkdir(parents=True, exist_ok=True)
        for old in directory.iterdir():
            old.unlink()
        recorded = json.loads((SAMPLES / f"{self.reply(argv)}.json").read_text(encoding="utf-8"))
        for name, content in recorded.items():
            if name.startswith("cache-"):
                content["entries"] += self.more
            text = json.dumps(content).replace('"path": "stack_bench"', f'"path": "{self.place}"')
            (directory / name).write_text(text, encoding="utf-8")


@dataclass
class Notes:
    notes: list[str] = field(default_factory=list)

    def say(self, text: str, done: float | None = None) -> None:
        pass

    def note(self, text: str) -> None:
        self.notes.append(text)


def ask(
    tmp_path: Path, cmake: RecordedCMake, files: Mapping[str, str] = FILES
) -> tuple[ProjectFacts, list[str]]:
    progress = Notes()
    return ask_cmake(Inquiry(cmake, tmp_path, tmp_path, progress), files), progress.notes


def test_the_option_that_brings_a_benchmark_program_is_switched_on(tmp_path: Path) -> None:
    facts, notes = ask(tmp_path, RecordedCMake())

    assert facts == ProjectFacts(BuildSystem.CMAKE, (FOUND,), (OPTION,), is_tried=True)
    assert notes == [f"tried {OPTION}: 1 program with Google Benchmark"]


def test_an_option_that_brings_no_program_is_left_out(tmp_path: Path) -> None:
    def sample(argv: tuple[str, ...]) -> str:
        return "system_library_option_unused"

    facts, _ = ask(tmp_path, RecordedCMake(reply=sample))

    assert facts.programs == (FOUND,)
    assert facts.options == ()


def test_an_option_with_which_the_project_does_not_configure_is_named_and_left_out(tmp_path: Path) -> None:
    cmake = RecordedCMake(refused=(OPTION,), reply=lambda _: "system_library_option_unused")

    facts, (note,) = ask(tmp_path, cmake)

    assert facts.options == ()
    assert note == (
        f"not used: {OPTION}: cmake -S: exit code 1\n  CMake Error at CMakeLists.txt:3: it does not work"
    )


def test_only_the_programs_that_link_the_library_are_built(tmp_path: Path) -> None:
    cmake = RecordedCMake()
    ask(tmp_path, cmake)

    (build,) = [argv for argv in cmake.calls if "--build" in argv]
    assert build[build.index("--target") :] == ("--target", "stack_bench", "--", "-k")


def test_a_preset_for_release_builds_is_used(tmp_path: Path) -> None:
    facts, _ = ask(tmp_path, RecordedCMake(), {**FILES, "CMakePresets.json": PRESETS})

    assert (facts.preset, facts.options) == ("release", (OPTION,))


def test_a_preset_that_does_not_work_here_is_named_and_left_out(tmp_path: Path) -> None:
    cmake = RecordedCMake(refused=("--preset",))

    facts, (note, _) = ask(tmp_path, cmake, {**FILES, "CMakePresets.json": PRESETS})

    assert (facts.preset, facts.options) == ("", (OPTION,))
    assert note.startswith("the preset release is not used: cmake -S: exit code 1\n")


def test_options_for_developers_are_tried_if_there_is_no_program(tmp_path: Path) -> None:
    """They may bring the option for benchmarks."""
    developers = "-DSTACK_DEVELOPER_MODE=ON"
    cache = {"name": "STACK_DEVELOPER_MODE", "type": "BOOL", "value": "OFF", "properties": []}
    cmake = RecordedCMake(more=(cache,), refused=("-DSTACK_TESTS=ON",))
    cmake.reply = lambda argv: "system_library" if developers in argv else "system_library_off"
    files = {
        "CMakeLists.txt": "option(STACK_DEVELOPER_MODE x OFF)\noption(STACK_TESTS x OFF)\n"
        "option(STACK_BENCH x OFF)"
    }

    facts, notes = ask(tmp_path, cmake, files)

    assert (facts.programs, facts.options) == ((FOUND,), (developers,))
    assert notes == [
        f"tried {OPTION}: 0 programs with Google Benchmark",
        f"tried {developers}: 1 program with Google Benchmark",
    ]


def test_a_project_below_the_top_is_asked_if_the_top_has_no_program(tmp_path: Path) -> None:
    below = "project(bench)\noption(STACK_BENCH x OFF)\ntarget_link_libraries(a benchmark)\n"
    cmake = RecordedCMake()
    source = str(tmp_path / "tests" / "bench")
    cmake.reply = lambda argv: "system_library" if source in argv else "system_library_off"

    facts, notes = ask(tmp_path, cmake, {"CMakeLists.txt": "project(x)", "tests/bench/CMakeLists.txt": below})

    assert (facts.programs, facts.directory) == ((FOUND,), "tests/bench")
    assert "looking at tests/bench, a project of its own with benchmarks" in notes


@pytest.mark.parametrize(("minor", "is_traced"), [(16, False), (17, True)])
def test_a_configure_run_is_traced_if_cmake_can(tmp_path: Path, minor: int, *, is_traced: bool) -> None:
    cmake = RecordedCMake(version=b'{"version": {"major": 3, "minor": %d}}' % minor)
    ask(tmp_path, cmake)

    configured = [argv for argv in cmake.calls if "-S" in argv]
    assert {"--trace-format=json-v1" in argv for argv in configured} == {is_traced}


def test_a_project_without_benchmark_programs_is_refused(tmp_path: Path) -> None:
    cmake = RecordedCMake(reply=lambda _: "system_library_off")
    with pytest.raises(NotFound, match="no program of this CMake project links Google Benchmark"):
        ask(tmp_path, cmake)


def test_programs_outside_the_build_directory_are_no_lack_of_programs(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="every program that links Google Benchmark is built outside"):
        ask(tmp_path, RecordedCMake(place="/home/dev/project/bin/stack_bench"))


@pytest.mark.parametrize(
    ("cmake", "reason"),
    [
        (RecordedCMake(builds=False), "was not built"),
        (RecordedCMake(refused=("--build",)), "was not built"),
        (RecordedCMake(listing="\n"), "lists no benchmark"),
        (RecordedCMake(listing="all passed\n", always="all passed\n"), "lists no benchmark"),
        (RecordedCMake(listing="Failed to match any benchmarks against regex: .\n"), "lists no benchmark"),
        (
            RecordedCMake(refused=("sh",)),
            "lists no benchmark: exit code 1; if it needs arguments or a file, add it with `args` or `cwd`",
        ),
    ],
)
def test_a_program_that_lists_nothing_is_named(tmp_path: Path, cmake: RecordedCMake, reason: str) -> None:
    progress = Notes()
    with pytest.raises(NotFound, match="can be built here and lists benchmarks"):
        ask_cmake(Inquiry(cmake, tmp_path, tmp_path, progress), FILES)
    assert progress.notes[-1] == f"left out: build/stack_bench {reason}"


def test_a_program_that_fails_if_its_filter_matches_nothing_has_its_benchmarks(tmp_path: Path) -> None:
    (program,) = ask(tmp_path, RecordedCMake(refused=("--benchmark_filter=^$",)))[0].programs

    assert program.benchmarks == 2


def test_lines_that_a_program_always_prints_are_no_benchmarks(tmp_path: Path) -> None:
    printed = "Running on a machine with 2 CPUs\n"
    (program,) = ask(tmp_path, RecordedCMake(listing=f"{printed}BM_Push\n", always=printed))[0].programs

    assert program.benchmarks == 1


def test_data_in_the_build_directory_that_a_program_names_are_kept(tmp_path: Path) -> None:
    class WithData(RecordedCMake):
        @override
        def run(self, command: Command, *, log: ByteSink | None, watch: Callable[[], None]) -> Completed:
            if "--build" in command.argv:
                build = Path(command.argv[2])
                (build / "words.txt").touch()
                self.program = b"\x7fELF benchmark_list_tests\0" + bytes(build / "words.txt") + b"\0"
            return super().run(command, log=log, watch=watch)

    assert ask(tmp_path, WithData())[0].data == ("words.txt",)


@pytest.mark.parametrize(
    ("program", "is_asked"),
    [
        (b"\x7fELF code", False),
        (b"\x7fELF --benchmark_list_tests", True),
        (b"\x7fELF _ZN9benchmark10InitializeEPiPPc", True),
        (b"#!/bin/sh", True),
    ],
)
def test_a_program_that_uses_nothing_of_the_library_is_not_run(
    tmp_path: Path, program: bytes, *, is_asked: bool
) -> None:
    """Such a program may run for minutes, whatever it is asked."""
    cmake = RecordedCMake(program=program)
    if is_asked:
        assert ask(tmp_path, cmake)[0].programs == (FOUND,)
        return
    with pytest.raises(NotFound):
        ask(tmp_path, cmake)
    assert not any(argv[0] == "sh" for argv in cmake.calls)


def test_a_project_that_does_not_configure_is_reported_with_the_end_of_the_log(tmp_path: Path) -> None:
    with pytest.raises(CommandFailed) as failed:
        ask(tmp_path, RecordedCMake(refused=("-S",)))
    assert failed.value.tail == "  CMake Error at CMakeLists.txt:3: it does not work"


def test_the_first_error_is_shown_although_other_targets_were_built_after_it(tmp_path: Path) -> None:
    errors = f"{tmp_path}/lib/log.cc:19:15: error: 'x' was not declared\n" + "Building CXX object\n" * 40
    progress = Notes()
    cmake = RecordedCMake(refused=("--build",), errors=errors.encode())
    with pytest.raises(NotFound):
        ask_cmake(Inquiry(cmake, tmp_path, tmp_path, progress), FILES)

    assert progress.notes[1].splitlines()[:3] == [
        "cmake --build: exit code 1",
        "  first error: lib/log.cc:19: error: 'x' was not declared",
        "  Building CXX object",
    ]
