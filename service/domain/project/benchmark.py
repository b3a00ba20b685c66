"""Configure benchmark jobs: how to build their programs, and how to measure them."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, ClassVar, Final

from service.domain.project.benchmark_names import BenchmarkName
from service.domain.project.build_commands import BuildCommands, InnerPath
from service.domain.project.configuration import Configuration, Work
from service.domain.project.forms import (
    OFF,
    Duration,
    Name,
    Record,
    Text,
    about,
    after,
    differ,
    not_empty,
    text,
    whole,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from service.domain.project.yaml_reader import Path

_SUITES: Final = not_empty("suite", minItems=1)
_NAMES_DIFFER: Final = differ("suite names", by="name")
_SECONDS_OR_NONE: Final = after(lambda seconds: seconds or None)

ALL_CPUS: Final = 0  # of the measured set; no project file can ask for it
Renamed = dict[BenchmarkName, BenchmarkName]
Unit = Annotated[str, text(r"[^\s\x00-\x1f\x7f]{1,16}", "units of 1 to 16 characters, without blanks")]
# With LD_PRELOAD and the like, code of the patch would run in the programs that set the limits of a launch.
# PATH finds these programs and Valgrind. Benchgate sets BENCHGATE_PAD for each pair.
_OWN_VARIABLES: Final = r"(?!LD_|BENCHGATE_|PATH(?![A-Za-z0-9_]))"
_VARIABLES: Final = (
    "names of letters, digits and _, except PATH, LD_… and BENCHGATE_…, which change how Benchgate starts it"
)
_Variable = Annotated[str, text(rf"{_OWN_VARIABLES}[A-Za-z_][A-Za-z0-9_]{{0,99}}", _VARIABLES)]
Environment = dict[_Variable, Text]


def _unambiguous(renamed: dict[str, str]) -> dict[str, str]:
    news = list(renamed.values())
    if twice := sorted({new for new in news if news.count(new) > 1}):
        raise ValueError(f"new names must differ; twice: {', '.join(twice)}")
    if chained := sorted(set(renamed) & set(news)):
        raise ValueError(f"a new name must not be renamed again: {', '.join(chained)}")
    return renamed


class Instructions(StrEnum):
    """Use of counted instructions: none, report an increase, or vote on it."""

    OFF = "off"
    REPORT = "report"
    VOTE = "vote"


class Format(StrEnum):
    """Benchmark libraries; each lists and reports benchmarks in its own format."""

    GOOGLE = "google"
    NANOBENCH = "nanobench"
    CATCH2 = "catch2"


@dataclass(frozen=True, slots=True)
class Suite(Record):
    """A benchmark program of a job, with its measurement options."""

    name: Annotated[Name, about("unique in the job")]
    program: Annotated[InnerPath, about("path below the build directory, such as build/measure/x")]
    filter: Annotated[Text, about("Google Benchmark's --benchmark_filter, or Catch2's test spec")] = ""
    args: Annotated[tuple[Text, ...], about("arguments of the program, before Benchgate's own")] = ()
    metrics: Annotated[tuple[Text, ...], differ("metrics"), about("default: each benchmark's own clock")] = ()
    higher_is_better: Annotated[tuple[Text, ...], about("counters that improve upwards")] = ()
    units: Annotated[dict[Text, Unit], about("units of counters, by name")] = field(
        default_factory=dict, hash=False
    )
    cpus: Annotated[int, whole(1, 1024), about("CPUs that each launch is pinned to")] = 1
    repetitions: Annotated[int | None, whole(1, 100), about("per launch; the best one counts")] = None
    min_time: Annotated[Duration | None, _SECONDS_OR_NONE, about("of one repetition")] = None
    timeout: Annotated[Duration, about("of one launch")] = 300.0
    env: Annotated[Environment, about("environment variables of the program")] = field(
        default_factory=dict, hash=False
    )
    cwd: Annotated[InnerPath, about("the directory of the sources in which the program runs")] = ""
    format: Annotated[Format, about("the library of the program")] = Format.GOOGLE
    renamed: Annotated[Renamed, after(_unambiguous), about("new name by old name of benchmarks")] = field(
        default_factory=dict, hash=False
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnSuite(Suite):
    """A suite that a job kind makes of its own keys, which also decide the format of its programs."""

    own: Configuration
    metrics: tuple[str, ...] = ("real_time",)
    cpus: int = ALL_CPUS  # the number of its threads is not known


def _with_metrics(suites: tuple[Suite, ...]) -> tuple[Suite, ...]:
    """Default to real time for libraries that report no CPU time."""
    return tuple(
        suite if suite.metrics or suite.format is Format.GOOGLE else replace(suite, metrics=("real_time",))
        for suite in suites
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchmarkConfiguration(Configuration):
    """Keys of jobs of kind benchmark."""

    work: ClassVar = Work.BENCHMARKS
    may_compare: ClassVar = True

    build: Annotated[BuildCommands, about("the build commands")] = field(default_factory=BuildCommands)
    suites: Annotated[
        tuple[Suite, ...], _SUITES, _NAMES_DIFFER, after(_with_metrics), about("the benchmark programs")
    ]
    instructions: Annotated[Instructions, OFF, about("also count instructions")] = Instructions.OFF

    @property
    def as_benchmark(self) -> BenchmarkConfiguration:
        """Itself."""
        return self

    @property
    def programs(self) -> tuple[str, ...]:
        """The programs of all suites, except installed ones."""
        return tuple(suite.program for suite in self.suites if suite.program)

    def faults(self) -> Iterator[tuple[Path, str]]:
        """Yield programs outside the build directory, which no build can keep, and keys without effect."""
        for position, program in enumerate(self.programs):
            if not posixpath.normpath(program).startswith("build/"):
                problem = f"{program!r} is not in the build directory; allowed are paths below build/"
                yield ("suites", position, "program"), problem
        for position, suite in enumerate(self.suites):
            yield from ((("suites", position, key), problem) for key, problem in _unsupported(suite))
        foreign = [suite.format for suite in self.suites if suite.format is not Format.GOOGLE]
        if foreign and self.instructions is not Instructions.OFF:
            problem = f"instructions are counted in programs of Google Benchmark only, not of {foreign[0]}"
            yield ("instructions",), f"{problem}; remove the key, or give the suite a job of its own"


def _unsupported(suite: Suite) -> Iterator[tuple[str, str]]:
    """Yield keys that have no effect with the suite's format, with advice."""
    if suite.format is Format.GOOGLE:
        return
    if suite.filter and suite.format is Format.NANOBENCH:
        yield (
            "filter",
            "nanobench has no filter: choose the benchmarks by `args`, if the program has some for it",
        )
    if "cpu_time" in suite.metrics:
        yield "metrics", f"{suite.format} measures no CPU time: use real_time"
    for key in ("repetitions", "min_time"):
        if getattr(suite, key) is not None:
            yield key, f"only Google Benchmark has it: set what {suite.format} has in `args`"
