"""Build the command line and environment of each kind of launch."""

from __future__ import annotations

import posixpath
import shlex
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from service.domain.building.sandbox_command import Limits
from service.domain.measuring.callgrind import OPTIONS
from service.domain.measuring.whole_programs import WHOLE_PROGRAMS
from service.domain.values.text import plain

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from service.domain.measuring.formats.reader import GBenchRun
    from service.domain.measuring.tests.timed import TimedSuite
    from service.domain.project.benchmark import Suite


RESULT: Final = "result.json"
DUMPS: Final = "callgrind.out"
# Without a sandbox, BENCHGATE_OUT names the directory that takes the place of /out.
_OUT: Final = "${BENCHGATE_OUT:-/out}"
# Standard output is discarded: a program may flood it, and the results come in a file.
_MEASURE: Final = f'exec "$@" --benchmark_out="{_OUT}/{RESULT}" >/dev/null'
_LIST: Final = f'exec "$@" >"{_OUT}/{RESULT}"'
_COUNT: Final = (
    f"exec valgrind -q --vgdb=no {' '.join(map(shlex.quote, OPTIONS))}"
    f' --callgrind-out-file="{_OUT}/{DUMPS}" "$@"'
    " >/dev/null"
)


@dataclass(frozen=True, slots=True)
class Invocation:
    """One start of a program: a shell line with arguments, CPUs, environment, and its result file in /out.

    ``written`` are directories in the sources that are empty and writable during the launch. ``may_fail``: a
    non-zero exit code is no failure if the program wrote the file.
    """

    line: str
    arguments: tuple[str, ...]
    cpus: tuple[int, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    file: str = RESULT
    limits: Limits | None = None  # None: those of a benchmark
    written: tuple[str, ...] = ()
    may_fail: bool = False


def to_list(suite: Suite, cpus: tuple[int, ...]) -> Invocation:
    """List the benchmarks of a Google Benchmark program; the file has its standard output."""
    flags = ["--benchmark_list_tests=true"]
    if suite.filter:
        flags.append(f"--benchmark_filter={suite.filter}")
    return _started(suite, _LIST, flags, cpus)


def to_measure(
    suite: Suite, flags: Sequence[str], cpus: tuple[int, ...], env: Mapping[str, str]
) -> Invocation:
    """Run the benchmarks that the flags choose."""
    return _started(suite, _MEASURE, flags, cpus, env)


def to_count(suite: Suite, flags: Sequence[str], cpus: tuple[int, ...]) -> Invocation:
    """Run the benchmarks that the flags choose under Valgrind; the file has its dumps."""
    # Lazy binding would cost the first iteration extra instructions.
    return replace(_started(suite, _COUNT, flags, cpus, {"LD_BIND_NOW": "1"}), file=DUMPS)


def to_run_whole(suite: Suite, cpus: tuple[int, ...], env: Mapping[str, str]) -> Invocation:
    """Run all benchmarks of another library's program, which may fail if a benchmark does."""
    library = WHOLE_PROGRAMS[suite.format]
    line = f'exec "$@" {library.output.format(f"{_OUT}/{RESULT}")}'
    return replace(_started(suite, line, library.flags(suite), cpus, env), may_fail=True)


def to_test(
    suite: TimedSuite, names: Sequence[str], cpus: tuple[int, ...], env: Mapping[str, str]
) -> Invocation:
    """Run these tests, or all if there are none; a failing test is a result."""
    return Invocation(
        suite.line,
        suite.arguments(names),
        cpus,
        env,
        limits=Limits(suite.timeout, suite.memory),
        written=suite.written,
        may_fail=True,
    )


def _started(
    suite: Suite,
    line: str,
    flags: Iterable[str],
    cpus: tuple[int, ...],
    env: Mapping[str, str] = MappingProxyType({}),
) -> Invocation:
    """Start the program in the suite's directory, by a relative path of equal length on both sides."""
    program = f"./{posixpath.relpath(suite.program, suite.cwd or '.')}"
    if suite.cwd:
        line = f"cd {shlex.quote(f'./{suite.cwd}')} && {line}"
    arguments = (program, *suite.args, *flags)
    return Invocation(line, arguments, cpus, {**suite.env, **env})


_NAMED: Final = 3  # missing benchmarks that a message names


def ran_of(run: GBenchRun, benchmarks: Iterable[str]) -> frozenset[str]:
    """List those of the benchmarks that ran; errors and skips are results.

    If the reader warned about a row, it may be any of them, so all of them are listed.
    """
    if any(warning.row is not None for warning in run.warnings):
        return frozenset(benchmarks)
    found = {name for row in run.rows for name in (row.name, row.run_name)}
    return frozenset(name for name in benchmarks if name in found)


def missing_of(run: GBenchRun, benchmarks: Sequence[str], file: str) -> str:
    """Name the benchmarks that did not run although they were asked for; empty if all ran.

    ``file`` is the name of the result file.
    """
    ran = ran_of(run, benchmarks)
    missing = [name for name in benchmarks if name not in ran]
    if not missing:
        return ""
    if run.damage:
        return f"{file}: {run.damage}"
    named = ", ".join(plain(name, 100) for name in missing[:_NAMED])
    more = f" and {len(missing) - _NAMED} more" if len(missing) > _NAMED else ""
    return f"did not run what it lists: {named}{more}"
