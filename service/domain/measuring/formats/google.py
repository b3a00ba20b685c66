"""Programs of Google Benchmark: they list without running, and choose benchmarks by a regular expression."""

from __future__ import annotations

import shlex
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from typing_extensions import override

from service.domain.measuring.callgrind import EVENT_OPTIONS, LOGGING, OPTIONS
from service.domain.measuring.formats.program import (
    HAS_PROFILER,
    JOINED,
    MAX_LISTED,
    OUT,
    PROFILED,
    RESULT,
    Listed,
    NotMeasured,
    ProgramFormat,
    recognise,
    start,
)
from service.domain.measuring.formats.row import ReadLimits
from service.domain.measuring.launch_order import filter_for
from service.domain.measuring.repetitions import Repetitions
from service.domain.measuring.sampled_stacks import ENOUGH, SAMPLED
from service.domain.values.text import clean

if TYPE_CHECKING:
    from collections.abc import Collection

    from service.domain.measuring.formats.program import Invocation, Output
    from service.domain.project.benchmark import Suite

_LONGEST: Final = ReadLimits().name_characters
# The library prints it instead of names if the filter matches nothing.
_NO_MATCH: Final = "Failed to match any benchmarks"
# Standard output is discarded: a program may flood it, and the results come in a file.
_MEASURE: Final = f'exec "$@" --benchmark_out="{OUT}/{RESULT}" >/dev/null'
_DUMPS: Final = "callgrind.out"
# A tenth of the last trial's minimum time is longer than Valgrind needs to translate.
_COUNTED: Final = Repetitions(1, 0.2)
_SAMPLE: Final = f"""{HAS_PROFILER}
{PROFILED} "$@" --benchmark_out="{OUT}/{RESULT}" >/dev/null || exit
{JOINED}
"""


class GoogleBenchmark(ProgramFormat):
    """Programs that are linked with Google Benchmark."""

    lists_by_running = False
    may_fail = False

    @override
    def list(self, suite: Suite) -> Invocation:
        chosen = [f"--benchmark_filter={suite.filter}"] if suite.filter else []
        return start(suite, f'exec "$@" >"{OUT}/{RESULT}"', ["--benchmark_list_tests=true", *chosen])

    @override
    def listed(self, output: Output, before: Collection[str] = ()) -> Listed:
        printed = output.file.decode("utf-8", "replace")
        if len(names := names_in(printed)) > MAX_LISTED:
            raise NotMeasured(f"prints more than {MAX_LISTED} lines", recognise(printed))
        return Listed(names)

    @override
    def invoke(self, suite: Suite, names: Collection[str], repetitions: Repetitions) -> Invocation:
        return start(suite, _MEASURE, _flags(names, repetitions))

    @override
    def read(self, output: Output, names: Collection[str]) -> bytes:
        return output.file

    @override
    def count(self, suite: Suite, name: str, *, has_events: bool = False) -> Invocation:
        options = shlex.join((*OPTIONS, *(EVENT_OPTIONS if has_events else ())))
        line = f'exec valgrind -q --vgdb=no {options} --callgrind-out-file="{OUT}/{_DUMPS}" "$@" >/dev/null'
        counted = start(suite, line, (*_flags((name,), _COUNTED), *LOGGING))
        # Lazy binding would cost the first iteration extra instructions.
        return replace(counted, env={"LD_BIND_NOW": "1"}, file=_DUMPS)

    @override
    def sample(self, suite: Suite, name: str, repetitions: int = 1) -> Invocation:
        return replace(start(suite, _SAMPLE, _flags((name,), Repetitions(repetitions, ENOUGH))), file=SAMPLED)


GOOGLE: Final = GoogleBenchmark()


def names_in(printed: str) -> tuple[str, ...]:
    """Read the names that a program lists, one per line, including other lines that could be names.

    Names that the reader of results would change or refuse are left out: no result could match them.
    """
    # Not splitlines(), which also splits at characters that the reader of results keeps in names.
    return tuple(
        line
        for line in printed.split("\n")
        if 0 < len(line) <= _LONGEST and line == clean(line) and not line.startswith(_NO_MATCH)
    )


def _flags(names: Collection[str], repetitions: Repetitions) -> tuple[str, ...]:
    return (
        "--benchmark_out_format=json",
        f"--benchmark_filter={filter_for(names)}",
        f"--benchmark_repetitions={repetitions.count}",
        # A plain number is the one form that needs no probing: versions before 1.8 refuse a unit, later
        # ones want one (0.05s), take the number as seconds nevertheless, and say so on standard error.
        f"--benchmark_min_time={repetitions.min_time:g}",
    )
