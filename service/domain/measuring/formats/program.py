"""One interface for what runs: list, group, start and count benchmarks, and read what a program leaves.

A format does no I/O: it makes invocations, and reads what they leave. Each kind of program has a file of its
own in this folder, or in the folder of the job kind that brings it.
"""

from __future__ import annotations

import posixpath
import re
import shlex
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, ClassVar, Final

from service.domain.building.sandbox_command import Limits
from service.domain.measuring.launch_order import MAX_CHARACTERS, MAX_NAMES, groups_of
from service.domain.measuring.pair_record import RESULT_BYTES
from service.domain.measuring.repetitions import SHORT
from service.domain.measuring.sampled_stacks import FREQUENCY, SAMPLED, profile_of
from service.domain.values.errors import BadResults
from service.domain.values.text import plain

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from service.domain.building.sandbox_command import Completed
    from service.domain.measuring.formats.reader import GBenchRun
    from service.domain.measuring.repetitions import Repetitions
    from service.domain.measuring.sampled_stacks import Profile
    from service.domain.project.benchmark import Suite

MAX_LISTED: Final = 10_000  # more rows than that are an attack on the database
RESULT: Final = "result.json"
# Without a sandbox, BENCHGATE_OUT names the directory that takes the place of /out.
OUT: Final = "${BENCHGATE_OUT:-/out}"

_PROFILER: Final = "libprofiler.so.0"
# Without the library, the loader prints an error, and starts the program nevertheless.
HAS_PROFILER: Final = f"""
if [ -n "$(LD_PRELOAD={_PROFILER} env true 2>&1)" ]; then echo "{_PROFILER} is missing" >&2; exit 127; fi
"""
# Timers of processor time tick as seldom as the kernel does, those of elapsed time as often as they are
# asked to.
PROFILED: Final = (
    f'LD_PRELOAD="{_PROFILER} $LD_PRELOAD" CPUPROFILE="{OUT}/profile" CPUPROFILE_REALTIME=1'
    f" CPUPROFILE_FREQUENCY={FREQUENCY}"
)
JOINED: Final = f'cd "{OUT}" && {{ wc -c <{RESULT}; cat {RESULT} profile; }} >{SAMPLED}'
"""Shell line that writes the results and the profile of a program into one file."""


@dataclass(frozen=True, slots=True)
class Invocation:
    """One start of a program: a shell line with arguments, its own environment, limits and file in /out."""

    line: str
    arguments: tuple[str, ...]
    limits: Limits
    env: Mapping[str, str] = field(default_factory=dict)  # besides that of the suite
    file: str = RESULT


@dataclass(frozen=True, slots=True)
class Output:
    """Result of a launch: the end of the program, its file and its standard error."""

    done: Completed
    file: bytes
    log: bytes

    @property
    def end(self) -> str:
        """The end in words, with the last lines of standard error."""
        lines = plain(self.log[-2000:].decode("utf-8", "replace"), 300)
        return f"{self.done.end}: {lines}" if lines else self.done.end


@dataclass(frozen=True, slots=True)
class Listed:
    """Benchmarks that a program lists. ``seconds`` has the durations of tests that passed, by name."""

    names: tuple[str, ...] = ()
    seconds: Mapping[str, float] = field(default_factory=dict)


class NotMeasured(BadResults):
    """A launch left nothing to compare; ``program`` is the kind of the program if that explains it."""

    def __init__(self, what: str, program: ForeignProgram | None = None) -> None:
        super().__init__(what)
        self.program = program


class ProgramFormat(ABC):
    """Lists and runs the benchmarks of one kind of programs."""

    lists_by_running: ClassVar = True  # else a listing has lines, and is no proof that they are benchmarks
    runs_all: ClassVar = False  # each launch runs all benchmarks, whatever it is asked for
    may_fail: ClassVar = True  # a non-zero exit code is no failure if the program wrote the file
    nothing: ClassVar = "lists no benchmark"
    group_size: ClassVar = (MAX_NAMES, MAX_CHARACTERS)  # of a launch: benchmarks, characters of its filter

    @property
    def written(self) -> tuple[str, ...]:
        """Directories in the sources that are empty and writable during each launch."""
        return ()

    def list(self, suite: Suite) -> Invocation:
        """List the benchmarks of a program, by a launch of all of them unless there is another way."""
        return self.invoke(suite, (), SHORT)

    @abstractmethod
    def listed(self, output: Output, before: Collection[str] = ()) -> Listed:
        """Read a listing; ``before`` has the parent's names. Raises NotMeasured if there are too many."""

    def group(self, names: Iterable[str], long: Collection[str]) -> tuple[tuple[str, ...], ...]:
        """Divide benchmarks, some with ``long`` repetitions, into groups of one launch each."""
        names = tuple(names)
        short = groups_of((name for name in names if name not in long), *self.group_size)
        return (*short, *groups_of((name for name in names if name in long), *self.group_size))

    @abstractmethod
    def invoke(self, suite: Suite, names: Collection[str], repetitions: Repetitions) -> Invocation:
        """Run these benchmarks, or all if there are none."""

    @abstractmethod
    def read(self, output: Output, names: Collection[str]) -> bytes:
        """Convert the results of these benchmarks to Google Benchmark's JSON.

        Raises:
            NotMeasured: they cannot be read, or the program failed without a failed benchmark.
        """

    def count(self, suite: Suite, name: str, *, has_events: bool = False) -> Invocation:
        """Run one benchmark under Valgrind, for its dumps.

        Args:
            suite: its program is run.
            name: of the benchmark.
            has_events: whether misses, system calls and atomic operations are counted beside instructions.

        Raises:
            NotMeasured: Valgrind finds no timed loops in such programs.
        """
        what = "events" if has_events else "instructions"
        raise NotMeasured(f"{what} of {suite.name} cannot be counted: {name}")

    def sample(self, suite: Suite, name: str, repetitions: int = 1) -> Invocation:  # noqa: ARG002 - for those that can be sampled
        """Run one benchmark under a sampling profiler, for its results and stacks in one file.

        Only Google Benchmark needs more repetitions, if a benchmark fixes its iterations.

        Raises:
            NotMeasured: in such programs, no function is known to have the timed loop.
        """
        raise NotMeasured(f"{suite.name} cannot be sampled: {name}")

    def profile(self, output: Output, name: str) -> Profile:
        """Read what :meth:`sample` left of the benchmark; raises BadResults if that is damaged."""
        return profile_of(output.file, name)


def start(suite: Suite, line: str, flags: Iterable[str], limits: Limits | None = None) -> Invocation:
    """Start the program in the suite's directory, by a relative path of equal length on both sides."""
    program = f"./{posixpath.relpath(suite.program, suite.cwd or '.')}"
    if suite.cwd:
        line = f"cd {shlex.quote(f'./{suite.cwd}')} && {line}"
    limits = limits or Limits(suite.timeout, file_bytes=RESULT_BYTES)
    return Invocation(line, (program, *suite.args, *flags), limits)


_NAMED: Final = 3  # missing benchmarks that a message names


def ran_of(run: GBenchRun, benchmarks: Iterable[str]) -> frozenset[str]:
    """List those of the benchmarks that ran; errors and skips are results.

    If the reader warned about a row, it may be any of them, so all of them are listed.
    """
    if any(warning.row is not None for warning in run.warnings):
        return frozenset(benchmarks)
    found = {name for row in run.rows for name in (row.name, row.run_name)}
    return frozenset(name for name in benchmarks if name in found)


def missing_of(run: GBenchRun, benchmarks: Sequence[str]) -> str:
    """Name the benchmarks that did not run although they were asked for; empty if all ran."""
    ran = ran_of(run, benchmarks)
    missing = [name for name in benchmarks if name not in ran]
    if not missing:
        return ""
    if run.damage:
        return f"{RESULT}: {run.damage}"
    named = ", ".join(plain(name, 100) for name in missing[:_NAMED])
    more = f" and {len(missing) - _NAMED} more" if len(missing) > _NAMED else ""
    return f"did not run what it lists: {named}{more}"


_READ: Final = 64 << 10  # characters at each end of the output, where errors are


class ForeignProgram(StrEnum):
    """Reasons that a program's output shows for not being measured."""

    CATCH2 = "Catch2"
    NANOBENCH = "nanobench"
    DOCTEST = "doctest"
    GOOGLE_TEST = "GoogleTest"
    REFUSES_FLAGS = "refuses flags"
    WANTS_ARGUMENTS = "wants arguments"
    MISSES_FILE = "misses a file"
    NO_TABLE = "no table"  # the suite's format is nanobench
    NO_BENCHMARK = "no benchmark"  # the suite's format is Catch2


_CANNOT: Final = r"(?:can ?not|can't|could not|couldn't|unable to|failed to) (?:open|read|load|find)\b"
# Ordered: a nanobench program may use doctest too, and a program that refuses a flag may print its usage.
_MARKS: Final = (
    (
        ForeignProgram.CATCH2,
        r"^Run with -\? for usage|Unrecognised token: -+benchmark_list_tests|^Catch2? v\d",
    ),
    (ForeignProgram.NANOBENCH, r"^\| .*\| +err% +\| .*\| "),
    (ForeignProgram.DOCTEST, r"^\[doctest\] "),
    (ForeignProgram.GOOGLE_TEST, r"^\[={10}\] Running \d+ tests? from "),
    (ForeignProgram.REFUSES_FLAGS, r"benchmark_list_tests"),
    (ForeignProgram.WANTS_ARGUMENTS, r"^[^\w\n]{0,20}usage\b"),
    (ForeignProgram.MISSES_FILE, rf"No such file or directory|{_CANNOT}|(?:file|path) (?:was )?not found"),
)
_PATTERNS: Final = tuple((kind, re.compile(mark, re.MULTILINE | re.IGNORECASE)) for kind, mark in _MARKS)
# The dynamic loader and the shell use the same words for libraries and programs, which are not data files.
_NO_DATA: Final = re.compile(r"shared librar|shared object|^sh: ", re.MULTILINE)


def recognise(output: str) -> ForeignProgram | None:
    """Find the first reason in a program's output; None if it shows none."""
    text = output if len(output) <= 2 * _READ else f"{output[:_READ]}\n{output[-_READ:]}"
    found = next((kind for kind, pattern in _PATTERNS if pattern.search(text)), None)
    return None if found is ForeignProgram.MISSES_FILE and _NO_DATA.search(text) else found
