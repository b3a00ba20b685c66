"""A tiny kind of jobs that compares: its program writes lines of a lap and seconds."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, ClassVar, Final

from service.domain.measuring.formats.foreign import ForeignBenchmark, Repetition, WholeProgram
from service.domain.measuring.formats.program import OUT, RESULT
from service.domain.project.benchmark import BenchmarkConfiguration, OwnSuite
from service.domain.project.build_commands import BuildCommands, InnerPath
from service.domain.project.configuration import Configuration, Work
from service.domain.project.forms import about


def read_laps(data: bytes) -> tuple[ForeignBenchmark, ...]:
    laps = (line.split() for line in data.decode().splitlines())
    return tuple(ForeignBenchmark(name, (Repetition(float(seconds)),)) for name, seconds in laps)


LAPS: Final = WholeProgram("stopwatch", f'exec "$@" >"{OUT}/{RESULT}"', read_laps)


@dataclass(frozen=True, slots=True, kw_only=True)
class StopwatchConfiguration(Configuration):
    work: ClassVar = Work.BENCHMARKS
    may_compare: ClassVar = True

    build: Annotated[BuildCommands, about("the build commands")] = field(default_factory=BuildCommands)
    program: Annotated[InnerPath, about("writes its laps to standard output")]

    @property
    def as_benchmark(self) -> BenchmarkConfiguration:
        suites = (OwnSuite(name="laps", program=self.program, own=self),)
        return BenchmarkConfiguration(build=self.build, suites=suites)
