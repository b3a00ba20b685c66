"""The inquiry of Meson projects, with a runner that replays recorded answers."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from service.domain.building.sandbox_command import Completed
from service.domain.project.starter.fetched import Download, Fetched
from service.domain.project.starter.file import BuildSystem, Program, ProjectFacts
from service.domain.values.errors import NotFound
from service.steps.project.init_inquiry import Inquiry
from service.steps.project.init_meson import ask_meson

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from service.domain.building.sandbox_command import Command
    from service.ports.building import ByteSink

SAMPLES: Final = Path(__file__).parents[3] / "samples" / "meson_introspect"
URL: Final = "https://example.org/v1.zip"
OPTION: Final = "-Dbench_extra=enabled"


@dataclass
class RecordedMeson:
    """A runner of meson; with ``needs_option``, only that option brings the benchmark program."""

    needs_option: bool = True
    refused: str = ""
    has_programs: bool = True
    notes: list[str] = field(default_factory=list)
    is_on: bool = False
    compiled: tuple[str, ...] = ()
    declared: tuple[str, ...] = ()
    wraps: bytes = b'"default",'

    def in_force(self) -> Mapping[str, str]:
        return {}

    def run(self, command: Command, *, log: ByteSink | None, watch: Callable[[], None]) -> Completed:
        assert log is not None
        argv = command.argv
        if self.refused in argv:
            return Completed(1, 0.1)
        if "setup" in argv:
            self.is_on = OPTION in argv
        elif "--buildoptions" in argv:
            log.write((SAMPLES / "buildoptions.json").read_bytes().replace(b'"default",', self.wraps, 1))
        elif "--targets" in argv:
            log.write(self._targets(argv[-1]))
        elif "--benchmarks" in argv:
            log.write(json.dumps([{"cmd": command.split()} for command in self.declared]).encode())
        elif "--projectinfo" in argv:
            log.write((SAMPLES / "projectinfo.json").read_bytes())
        elif "compile" in argv:
            self.compiled = argv[argv.index("-C") + 2 :]
            program = Path(argv[argv.index("-C") + 1], "perf/speed")
            program.parent.mkdir(parents=True)
            program.touch()
        elif "--benchmark_filter=^$" not in argv:
            log.write(b"BM_Push/8\n")
        return Completed(0, 0.1)

    def _targets(self, build: str) -> bytes:
        if not self.has_programs or (self.needs_option and not self.is_on):
            return b"[]"
        return (SAMPLES / "targets.json").read_bytes().replace(b"/home/dev/build", build.encode())

    def say(self, text: str, done: float | None = None) -> None:
        pass

    def note(self, text: str) -> None:
        self.notes.append(text)


def ask(tmp_path: Path, meson: RecordedMeson) -> ProjectFacts:
    return ask_meson(Inquiry(meson, tmp_path, tmp_path, meson))


@pytest.mark.parametrize(("needs_option", "options"), [(True, (OPTION,)), (False, ())])
def test_an_option_is_switched_on_if_it_brings_a_program(
    tmp_path: Path, options: tuple[str, ...], *, needs_option: bool
) -> None:
    found = (Program("build/perf/speed", "perf/speed", 1),)
    assert ask(tmp_path, RecordedMeson(needs_option)) == ProjectFacts(
        BuildSystem.MESON, found, options, is_tried=True
    )


def test_only_the_benchmark_programs_are_built(tmp_path: Path) -> None:
    meson = RecordedMeson()
    ask(tmp_path, meson)

    assert meson.compiled == ("--ninja-args=-k0", "perf/speed")


@pytest.mark.parametrize(
    ("wraps", "options"), [("default", ("--wrap-mode=nodownload", OPTION)), ("nofallback", (OPTION,))]
)
def test_the_wraps_of_subprojects_in_use_are_pinned(
    tmp_path: Path, wraps: str, options: tuple[str, ...]
) -> None:
    subprojects = tmp_path / "subprojects"
    subprojects.mkdir()
    for name in ("google-benchmark", "unused"):
        wrap = f"[wrap-file]\nsource_url = {URL}\nsource_filename = {name}.zip\nsource_hash = {'a' * 64}\n"
        (subprojects / f"{name}.wrap").write_text(wrap)
    found = ask(tmp_path, RecordedMeson(wraps=f'"{wraps}",'.encode()))

    assert found.dependencies == (Fetched("google-benchmark.zip", Download(URL), "a" * 64),)
    assert found.options == options


def test_an_option_that_cannot_be_set_up_is_named_and_left_out(tmp_path: Path) -> None:
    meson = RecordedMeson(needs_option=False, refused=OPTION)

    assert ask(tmp_path, meson).options == ()
    assert meson.notes == [f"not used: {OPTION}: meson setup: exit code 1\n"]


def test_a_project_without_benchmark_programs_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="no program of this Meson project links Google Benchmark"):
        ask(tmp_path, RecordedMeson(has_programs=False))


def test_the_benchmarks_of_other_libraries_are_named(tmp_path: Path) -> None:
    meson = RecordedMeson(has_programs=False, declared=("/srv/tests -ts=bench", "perf.py"))
    with pytest.raises(
        NotFound, match=r"Benchmark, also with .*; its own benchmarks are /srv/tests -ts=bench, perf\.py: "
    ):
        ask(tmp_path, meson)


def test_a_program_that_is_not_built_is_named(tmp_path: Path) -> None:
    meson = RecordedMeson(refused="compile")
    with pytest.raises(NotFound, match="can be built here"):
        ask(tmp_path, meson)
    assert meson.notes[-1] == "left out: build/perf/speed was not built"


def test_what_was_tried_is_named(tmp_path: Path) -> None:
    meson = RecordedMeson(has_programs=False)
    with pytest.raises(NotFound, match=f"links Google Benchmark, also with {OPTION}$"):
        ask(tmp_path, meson)
    assert meson.notes == [f"tried {OPTION}: 0 benchmark programs"]
