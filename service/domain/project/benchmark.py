"""The configuration of a benchmark job: how its programs are built, and which of them are measured."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, ClassVar, Final

from service.domain.benchmark_names import BenchmarkName
from service.domain.forms import OFF, Duration, Name, Record, Text, about, after, differ, limit, text, whole
from service.domain.project.build_commands import BuildCommands, InnerPath
from service.domain.project.job_kinds import Configuration

if TYPE_CHECKING:
    from collections.abc import Iterator

    from service.domain.project.yaml_reader import Path

_SUITES: Final = limit(min_length=1)
_NAMES_DIFFER: Final = differ("suite names", by="name")
_SECONDS_OR_NONE: Final = after(lambda seconds: seconds or None)


Renamed = dict[BenchmarkName, BenchmarkName]


Unit = Annotated[str, text(r"[^\s\x00-\x1f\x7f]{1,16}", "units of 1 to 16 characters, without blanks")]


def _unambiguous(renamed: dict[str, str]) -> dict[str, str]:
    news = list(renamed.values())
    if twice := sorted({new for new in news if news.count(new) > 1}):
        raise ValueError(f"new names must differ; twice: {', '.join(twice)}")
    if chained := sorted(set(renamed) & set(news)):
        raise ValueError(f"a new name must not be renamed again: {', '.join(chained)}")
    return renamed


class Instructions(StrEnum):
    """The ways to count instructions: not at all, to report more of them, or to vote on more of them."""

    OFF = "off"
    REPORT = "report"
    VOTE = "vote"


@dataclass(frozen=True, slots=True)
class Suite(Record):
    """One benchmark program of a job, with the options of its measurement."""

    name: Annotated[Name, about("unique in the job")]
    program: Annotated[InnerPath, about("path below the build directory, such as build/measure/x")]
    filter: Annotated[Text, about("Google Benchmark's --benchmark_filter")] = ""
    args: Annotated[tuple[Text, ...], about("further arguments of the program")] = ()
    metrics: Annotated[tuple[Text, ...], differ("metrics"), about("default: each benchmark's own clock")] = ()
    higher_is_better: Annotated[tuple[Text, ...], about("counters that improve upwards")] = ()
    units: Annotated[dict[Text, Unit], about("units of counters, by name")] = field(
        default_factory=dict, hash=False
    )
    cpus: Annotated[int, whole(1, 1024), about("CPUs that each launch is pinned to")] = 1
    repetitions: Annotated[int | None, whole(1, 100), about("per launch; the best one counts")] = None
    min_time: Annotated[Duration | None, _SECONDS_OR_NONE, about("of one repetition")] = None
    timeout: Annotated[Duration, about("of one launch")] = 300.0
    renamed: Annotated[Renamed, after(_unambiguous), about("new name by old name of benchmarks")] = field(
        default_factory=dict, hash=False
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchmarkConfiguration(Configuration):
    """The keys that only jobs of kind benchmark have."""

    may_compare: ClassVar = True

    build: Annotated[BuildCommands, about("the build commands")] = field(default_factory=BuildCommands)
    suites: Annotated[tuple[Suite, ...], _SUITES, _NAMES_DIFFER, about("the benchmark programs")]
    instructions: Annotated[Instructions, OFF, about("also count instructions")] = Instructions.OFF

    @property
    def compares(self) -> bool:
        """Each build compares the patch's side with the base's."""
        return True

    @property
    def as_benchmark(self) -> BenchmarkConfiguration:
        """Itself."""
        return self

    @property
    def programs(self) -> tuple[str, ...]:
        """One program per suite, except suites of an installed program."""
        return tuple(suite.program for suite in self.suites if suite.program)

    def faults(self) -> Iterator[tuple[Path, str]]:
        """Yield the programs that no build can keep, because they are outside the build directory."""
        for position, program in enumerate(self.programs):
            if not posixpath.normpath(program).startswith("build/"):
                problem = f"{program!r} is not in the build directory; allowed are paths below build/"
                yield ("suites", position, "program"), problem
