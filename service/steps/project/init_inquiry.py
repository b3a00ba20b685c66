"""Run the commands that ``benchgate init`` asks a build system and its programs with."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from io import BytesIO
from mmap import ACCESS_READ, mmap
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from service.domain.building.compile_errors import first_error
from service.domain.building.missing_packages import missing_package
from service.domain.building.sandbox_command import Command, Limits
from service.domain.measuring.formats.google import names_in
from service.domain.measuring.formats.program import NotMeasured, Output
from service.domain.measuring.formats.suites import format_of
from service.domain.project.benchmark import Format, Suite
from service.domain.project.starter.fetched import fetchable
from service.domain.project.starter.file import Program
from service.domain.project.starter.libraries import ALL, spec_of
from service.domain.values.errors import CommandFailed
from service.domain.values.text import counted, plain

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from service.domain.building.sandbox_command import Completed
    from service.domain.project.starter.fetched import Fetched
    from service.ports.building import Progress, Sandbox

HIDDEN: Final = ("CPM_SOURCE_CACHE",)
"""The variables that ``runner`` hides: CPM must download anew, so that the downloads can be pinned."""

_COMMIT: Final = re.compile(r"^[0-9a-f]{40}$", re.MULTILINE)  # git may also print warnings
_BUILD: Final = Limits(log_bytes=None)  # as long as the service gives a command of a build
_ASK: Final = Limits(wall_seconds=60.0, log_bytes=16 << 20)  # listing runs no benchmark, but may read data
_LIST: Final = 'exec "$0" --benchmark_list_tests=true "$@" 2>/dev/null'
_COMPLAIN: Final = '"$0" --benchmark_list_tests=true 2>&1 >/dev/null | head -c 1000'
# Version 2 returns the number of tags as exit code.
_TAGS: Final = '"$0" --list-tags 2>/dev/null || :'
_QUICKLY: Final = {Format.CATCH2: ("--benchmark-samples", "1")}
_NONE: Final = "--benchmark_filter=^$"  # a name is never empty
# The name of the flag is in the code of the library, and its namespace in the names of dynamic symbols.
_TRACES: Final = (b"benchmark_list_tests", b"9benchmark")
_TAIL: Final = 12  # lines


class ToolFailed(CommandFailed):
    """A command of an inquiry failed; ``reason`` is the missing package, the first error, or how it ended."""

    def __init__(self, failed: CommandFailed, reason: str) -> None:
        super().__init__(failed.what, failed.end, failed.tail, limit=failed.limit)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Inquiry:
    """A project and the means to ask it.

    ``runner`` runs commands with the user's own permissions: the downloads of a configure run need the
    network, and a sandbox around the later commands would protect from nothing, since configuring runs any
    code of the project. ``scratch`` is an empty directory for builds. ``libraries`` has the libraries of
    sources, by their paths below the directory.
    """

    runner: Sandbox
    directory: Path
    scratch: Path
    progress: Progress
    libraries: Mapping[str, Format] = field(default_factory=dict)

    def run(self, *argv: str, limits: Limits = _BUILD) -> str:
        """Run a command in the project's directory and return its output.

        Raises:
            ToolFailed: it ended with another exit code than 0, or at a limit.
        """
        done, text = self._run(*argv, limits=limits)
        if not done.is_success:
            tail = "\n".join(f"  {line}" for line in self._shown(text))
            failed = CommandFailed(" ".join(argv[:2]), done.end, tail, limit=done.stopped_by or "")
            raise ToolFailed(failed, self._reason(text) or done.end)
        return text

    def _run(
        self,
        *argv: str,
        limits: Limits,
        env: Mapping[str, str] = MappingProxyType({}),
        cwd: Path | None = None,
    ) -> tuple[Completed, str]:
        output = BytesIO()
        command = Command(argv, cwd=str(cwd or self.directory), limits=limits, env=env)
        done = self.runner.run(command, log=output, watch=lambda: None)
        return done, output.getvalue().decode("utf-8", "replace")

    def commit_of(self, repository: str) -> str:
        """Return the commit that is checked out in a directory; empty if that is no repository.

        With ``-C``, git would name the commit of one above the directory, such as that of the project itself.
        """
        try:
            commit = _COMMIT.search(self.run("git", "--git-dir", f"{repository}/.git", "rev-parse", "HEAD"))
        except CommandFailed:
            return ""
        return commit[0] if commit else ""

    def rewritten(self, fetched: Iterable[Fetched]) -> tuple[Fetched, ...]:
        """Return downloads with the repositories that git's ``url.<base>.insteadOf`` gives instead of theirs.

        Machines do not have these settings of the user. Repositories that machines cannot fetch stay as they
        are, such as those that the user can push to by ssh.
        """
        return tuple(map(self._rewritten, fetched))

    def _rewritten(self, each: Fetched) -> Fetched:
        old = each.download.git
        if not fetchable(old):
            return each
        try:
            new = self.run("git", "ls-remote", "--get-url", old).strip()
        except CommandFailed:
            return each
        if new == old or not fetchable(new):
            return each
        self.progress.note(
            f"{plain(each.name)} comes from {plain(new)} instead of {plain(old)}, as url.*.insteadOf in your "
            "git settings says"
        )
        return replace(each, download=replace(each.download, git=new))

    def _reason(self, text: str) -> str:
        if package := missing_package(text.encode()):
            return f"package {package} is not found: install it"
        return first_error(text.encode(), str(self.directory)) or ""

    def _shown(self, text: str) -> Iterator[str]:
        """Yield the first error, which may be far above the end, and the last lines."""
        lines = [plain(line) for line in text.splitlines() if line.strip()][-_TAIL:]
        first = first_error(text.encode(), str(self.directory))
        message = first.partition(": ")[2] if first else ""  # without the place, which it shortens
        if first and not any(message in line for line in lines):
            yield f"first error: {first}"
        yield from lines

    def ask(self, build: Path, found: Sequence[Program]) -> tuple[Program, ...]:
        """Ask the built programs for their benchmarks; leave out, with a note, those that list none.

        Args:
            build: the build directory.
            found: the programs; their paths begin with ``build/``.
        """
        return tuple(self._asked(build, found))

    def _asked(self, build: Path, found: Sequence[Program]) -> Iterator[Program]:
        self.progress.say(f"list the benchmarks of {counted(len(found), 'program')}")
        for number, program in enumerate(found):
            file = build / program.path.removeprefix("build/")
            if not file.is_file():
                self.progress.note(f"left out: {program.path} was not built")
                continue
            if program.format is not Format.GOOGLE:
                yield from self._tried(file, program)
                continue
            if not _may_use_library(file):
                self.progress.note(f"left out: {program.path} links Google Benchmark, but uses nothing of it")
                continue
            self.progress.say(f"list the benchmarks of {program.path}", number / len(found))
            try:
                listing = self._list(file)
            except CommandFailed as failed:
                why = "" if failed.limit else self._first_error(file)
                self.progress.note(
                    f"left out: {program.path} lists no benchmark: {failed.end}{why}; "
                    "if it needs arguments or a file, add it with `args` or `cwd`"
                )
                continue
            if names := listing.difference(self._lines_beside(file) if listing else ()):
                yield Program(program.path, program.target, len(names))
            else:
                self.progress.note(f"left out: {program.path} lists no benchmark")

    def _tried(self, file: Path, program: Program) -> Iterator[Program]:
        """Run a program of another library: none of these lists its benchmarks otherwise."""
        self.progress.say(f"run {program.path}, which uses {program.format}")
        if program.format is Format.CATCH2:
            _, tags = self._run("sh", "-c", _TAGS, str(file), limits=_ASK)
            program = replace(program, filter=spec_of(tags))
        suite = Suite(
            name=program.format.value,
            program=program.path,
            filter=program.filter,
            args=_QUICKLY.get(program.format, ()),
            format=program.format,
        )
        started = format_of(suite).list(suite)
        with TemporaryDirectory(dir=self.scratch) as out:
            argv = ("sh", "-c", started.line, "sh", str(file), *started.arguments[1:])
            # Tests may write files: not into the sources, which no launch can write either.
            cwd = Path(out) if program.filter == ALL else self.directory
            done, text = self._run(*argv, limits=started.limits, env={"BENCHGATE_OUT": out}, cwd=cwd)
            result = Path(out, started.file)
            output = Output(done, result.read_bytes() if result.is_file() else b"", text.encode())
        try:
            names = format_of(suite).listed(output).names
            fault = "" if names else f"it runs no benchmark of {program.format}"
        except NotMeasured as failed:
            fault = failed.what
        if done.stopped_by:
            fault = f"{done.end}; choose its quick benchmarks by `args`"
        if fault:
            self.progress.note(f"left out: {program.path}: {fault}")
        else:
            yield replace(program, benchmarks=len(names))

    def _list(self, program: Path, *flags: str) -> frozenset[str]:
        return frozenset(names_in(self.run("sh", "-c", _LIST, str(program), *flags, limits=_ASK)))

    def _lines_beside(self, program: Path) -> frozenset[str]:
        """Return what a program prints beside names, asked with a filter that matches none."""
        try:
            return self._list(program, _NONE)
        except CommandFailed:  # it may end so if nothing matches its filter
            return frozenset()

    def _first_error(self, program: Path) -> str:
        """Return the first line of what a program reports if it is asked to list its benchmarks."""
        try:
            lines = self.run("sh", "-c", _COMPLAIN, str(program), limits=_ASK).strip().splitlines()
        except CommandFailed:
            return ""
        return f": {plain(lines[0])}" if lines else ""


def _may_use_library(program: Path) -> bool:
    """Return whether a program may use Google Benchmark; another one may run, whatever it is asked."""
    with program.open("rb") as file:
        if file.read(4) != b"\x7fELF":
            return True
        with mmap(file.fileno(), 0, access=ACCESS_READ) as content:
            return any(content.find(trace) >= 0 for trace in _TRACES)
