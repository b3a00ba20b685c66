"""``benchgate init``: write a first benchgate.yaml from the answers of the build system."""

from __future__ import annotations

import json
import os
import shlex
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

import click

from service.adapters.building.sandbox.unsandboxed import DirectRunner
from service.adapters.sources.repository import top_of
from service.cli import EXIT_OK
from service.cli.local.progress import TerminalProgress
from service.cli.local.trial import Trial, try_job
from service.domain.project.project_file import FILE_NAME, parse_project_file
from service.domain.project.starter.cmake_files import FOREIGN, PRESETS, benchmark_projects
from service.domain.project.starter.fetched import fetched_from
from service.domain.project.starter.file import (
    BUILD_FILES,
    BuildSystem,
    ProjectFacts,
    programs_in_text,
    starter_file,
)
from service.domain.project.starter.libraries import SOURCES, libraries_in, not_measured, without_google
from service.domain.values.errors import BadInput, BenchgateError, NotFound
from service.domain.values.text import plain
from service.steps.project.init_cmake import ask_cmake
from service.steps.project.init_inquiry import HIDDEN, Inquiry, ToolFailed
from service.steps.project.init_meson import ask_meson

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping

    from service.domain.project.benchmark import Format

EXIT_TO_EDIT: Final = 1
"""The exit code if a person must work on the file."""

_CMAKE_FILES: Final = (".cmake", ".cmake.in", ".txt.in")
_MOST_FILES: Final = 2000
_MOST_BYTES: Final = 1 << 20
_TOOLS: Final = {BuildSystem.CMAKE: "cmake", BuildSystem.MESON: "meson"}
_UNKNOWN: Final = {
    BuildSystem.MAKE: "nothing lists the programs of a Makefile, so edit the lines marked EDIT",
    BuildSystem.BAZEL: "init does not ask Bazel, so edit the lines marked EDIT",
    BuildSystem.OTHER: "there is no build file at the top, so edit the lines marked EDIT",
}


@click.command()
@click.argument("file", default=FILE_NAME, type=click.Path(dir_okay=False, path_type=Path))
@click.option("--force", is_flag=True, help="Replace FILE if it exists.")
@click.pass_context
def command(ctx: click.Context, file: Path, *, force: bool) -> None:
    """Write a first benchgate.yaml, with comments that explain it.

    Looks at the project in the directory of FILE. A project of CMake or Meson is configured and built in a
    temporary directory, with your own permissions and network, as if you called its tools yourself. Each
    program that links Google Benchmark lists its benchmarks. If there is none, init runs the programs of
    nanobench and Catch2 once. In other projects, the lines to edit are marked. At the end, the project is
    built once as FILE says and as a gate does it: in the sandbox, without network.

    Exit code 0: FILE is written, and the project builds with it; 1: FILE is written and needs your work;
    2: wrong usage, or FILE exists; 3: the project has no benchmark program.
    """
    if file.exists() and not force:
        raise BadInput(
            "exists already; `benchgate check` lists its errors, and `--force` replaces it", str(file)
        )
    if not file.parent.is_dir():
        raise BadInput("No such directory", str(file.parent))
    facts = _look_at(file.parent.resolve())
    text = starter_file(facts)
    try:
        with file.open("w" if force else "x", encoding="utf-8") as stream:
            stream.write(text)
    except OSError as error:
        raise BadInput(error.strerror or str(error), str(file)) from None
    allowed = fetched_from(facts.dependencies)
    is_right = _report(file, text, facts, allowed)
    setting = f"BENCHGATE_FETCH_FROM='{json.dumps(allowed)}' " if allowed else ""
    click.echo(f"try it on the last commit before you commit it:\n  {setting}{_trial(file)}")
    ctx.exit(EXIT_OK if is_right else EXIT_TO_EDIT)


def _report(file: Path, text: str, facts: ProjectFacts, allowed: Collection[str]) -> bool:
    """Try the written file if the project was asked; print the result, and return whether it is right."""
    trial = _try(file.parent, text, allowed) if facts.is_tried else Trial()
    click.echo(f"wrote {file} for {facts.system}")
    for program in facts.programs:
        count = "" if program.benchmarks is None else f", benchmarks: {program.benchmarks}"
        click.echo(f"  benchmark program {program.path}{count}")
    for cause in trial.causes:
        click.echo(f"  without network: {cause}")
    if trial.log:
        click.echo(f"  the whole log: {trial.log}")
    has_edits = "# EDIT" in text
    if facts.failure:
        click.echo(f"  it does not configure here: {plain(facts.failure)}")
        click.echo(
            "  install what is missing and call `benchgate init --force`, or edit the lines marked EDIT"
        )
    elif not facts.is_tried:
        click.echo(f"  {_UNKNOWN.get(facts.system, 'nothing of it was tried: check the lines marked EDIT')}")
    elif has_edits:
        click.echo("  check the lines marked EDIT")
    elif not trial.causes:
        click.echo("  it builds in the sandbox, without network")
    return not (trial.causes or has_edits)


def _try(directory: Path, text: str, allowed: Collection[str]) -> Trial:
    if _top_of(directory) != directory.resolve():
        return Trial(("it could not be tried, because this is not the top of the repository",))
    (job,) = parse_project_file(text).jobs
    with TerminalProgress() as progress:
        return try_job(directory, job, allowed, progress)


def _trial(file: Path) -> str:
    """Write the command that tries a project file; print a note if Benchgate does not read it there."""
    top = _top_of(file.parent)
    if top != file.parent.resolve():
        click.echo(
            f"note: {file.parent} is not the top of the repository, where Benchgate reads {FILE_NAME} and "
            f"runs its commands: move the file to {top}, and let the commands and programs begin there",
            err=True,
        )
    repo = () if _top_of(Path()) == top else ("--repo", str(file.parent))
    return shlex.join(("benchgate", "gate", *repo, "--project-file", str(file)))


def _top_of(directory: Path) -> Path:
    try:
        return top_of(directory).resolve()
    except BadInput:  # there is no git
        return directory.resolve()


class _NotAskedError(BenchgateError):
    """A build system could not be asked: why, and the error if the project did not configure."""

    def __init__(self, why: str, failure: str = "") -> None:
        super().__init__(why)
        self.failure = failure


def _look_at(directory: Path) -> ProjectFacts:
    """Ask the build systems until one has benchmark programs; search the build files if none can be asked."""
    without = list[str]()
    not_asked = dict[BuildSystem, _NotAskedError]()
    libraries = libraries_in(_sources(directory))
    facts: ProjectFacts | None = None
    for system in _systems_of(directory, libraries):
        try:
            facts = _ask(directory, system, libraries)
            break
        except NotFound as none:
            without.append(str(none))
        except _NotAskedError as why:
            not_asked[system] = why
    else:
        searched = (
            ProjectFacts(
                system, programs_in_text(system, _own_build_files(directory, system)), failure=why.failure
            )
            for system, why in not_asked.items()
        )
        facts = next((found for found in searched if found.programs or not without), None)
    known = {each.format for each in facts.programs} if facts else set()
    others = without_google(libraries)
    left = {path: library for path, library in others.items() if library not in known}
    sentences = (*without, *map(str, not_asked.values()), *not_measured(left))
    if facts is None:
        raise NotFound("; ".join(sentences))
    for sentence in sentences:
        click.echo(sentence, err=True)
    return facts


def _ask(directory: Path, system: BuildSystem, libraries: Mapping[str, Format]) -> ProjectFacts:
    """Ask a build system, given the libraries of the project's sources.

    Raises:
        NotFound: it has no benchmark program.
        _NotAskedError: it is not installed, too old, or the project does not configure.
    """
    tool = _TOOLS.get(system)
    if not tool:
        raise _NotAskedError(f"init does not ask {system}")
    if not shutil.which(tool):
        raise _NotAskedError(f"{system} is not installed, so it could not be asked")
    click.echo(
        f"asking {system}: configuring and building in a temporary directory, with your own permissions and "
        "network",
        err=True,
    )
    with TemporaryDirectory(prefix="benchgate-init-") as scratch, TerminalProgress() as progress:
        try:
            runner = DirectRunner(without=HIDDEN)
            inquiry = Inquiry(runner, directory, Path(scratch).resolve(), progress, libraries)
            if system is BuildSystem.MESON:
                return ask_meson(inquiry)
            return ask_cmake(inquiry, dict(_build_files(directory, system)))
        except ToolFailed as failed:
            progress.note(f"{failed}\n{failed.tail}")
            raise _NotAskedError(f"{system} could not configure the project", failed.reason) from None
        except BadInput as failed:  # a version that does not answer in this way
            raise _NotAskedError(f"{system} could not be asked: {failed}") from None


def _systems_of(directory: Path, libraries: Mapping[str, Format]) -> tuple[BuildSystem, ...]:
    """Return the build systems that can list their programs; else the first of the others."""
    found = [
        system for system, names in BUILD_FILES.items() if any((directory / name).is_file() for name in names)
    ]
    if not found and benchmark_projects(dict(_build_files(directory, BuildSystem.CMAKE)), libraries):
        found = [BuildSystem.CMAKE]  # several projects, and none at the top
    return tuple(system for system in found if system in _TOOLS) or (*found, BuildSystem.OTHER)[:1]


def _build_files(directory: Path, system: BuildSystem) -> Iterator[tuple[str, str]]:
    """Yield the paths and texts of the build files below a directory."""
    names = BUILD_FILES.get(system, ())

    def is_wanted(name: str, place: str) -> bool:
        is_presets = name == PRESETS and place == str(directory)
        is_cmake = system is BuildSystem.CMAKE and (name.endswith(_CMAKE_FILES) or is_presets)
        return name in names or is_cmake

    return _texts(directory, is_wanted)


def _own_build_files(directory: Path, system: BuildSystem) -> dict[str, str]:
    """Return the build files that are not in a directory of third-party code."""
    return {
        path: text
        for path, text in _build_files(directory, system)
        if FOREIGN.isdisjoint(path.lower().split("/"))
    }


def _sources(directory: Path) -> Iterator[tuple[str, str]]:
    """Yield the paths and texts of the project's own sources."""
    return _texts(directory, lambda name, _: name.endswith(SOURCES), FOREIGN)


def _texts(
    directory: Path, is_wanted: Callable[[str, str], bool], without: Collection[str] = ()
) -> Iterator[tuple[str, str]]:
    """Yield the paths and texts of files below a directory; skip hidden and build directories.

    Args:
        directory: the project's.
        is_wanted: chooses files by their names and directories.
        without: names of directories to skip, in lower case.
    """
    left = _MOST_FILES
    for place, below, files in os.walk(directory):
        below[:] = sorted(
            name for name in below if not name.startswith((".", "build")) and name.lower() not in without
        )
        for path in (Path(place, name) for name in files if is_wanted(name, place)):
            if left == 0:
                return
            left -= 1
            if path.is_file() and path.stat().st_size <= _MOST_BYTES:
                yield path.relative_to(directory).as_posix(), path.read_text("utf-8", "replace")
