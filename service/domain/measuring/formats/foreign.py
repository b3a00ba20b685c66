"""Convert benchmarks of other libraries to Google Benchmark's JSON, so that all are judged alike."""

from __future__ import annotations

import json
import math
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from typing_extensions import override

from service.domain.measuring.formats.program import MAX_LISTED, Listed, NotMeasured, ProgramFormat, start
from service.domain.measuring.formats.row import ReadLimits
from service.domain.measuring.pair_record import RESULT_BYTES
from service.domain.measuring.sampled_stacks import SAMPLED, profile_of, results_and_profile
from service.domain.values.errors import BadResults
from service.domain.values.text import brief, clean

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from service.domain.measuring.formats.program import ForeignProgram, Invocation, Output
    from service.domain.measuring.repetitions import Repetitions
    from service.domain.measuring.sampled_stacks import Place, Profile
    from service.domain.project.benchmark import Suite

LARGEST: Final = 16 << 20  # bytes of a file; ten thousand benchmarks take 6 MB
_MOST_REPETITIONS: Final = 20  # the fastest are kept; only the best counts, and rows cost time and space
_LONGEST_NAME: Final = ReadLimits().name_characters
_NO_TIME: Final = "it reports no time"


class Repetition(NamedTuple):
    """One measurement: seconds and counters per iteration, and the number of iterations."""

    seconds: float
    iterations: int = 1
    counters: tuple[tuple[str, float], ...] = ()


class ForeignBenchmark(NamedTuple):
    """A benchmark with its measurements, or why it failed."""

    name: str
    repetitions: tuple[Repetition, ...] = ()
    error: str = ""


def name_of(*parts: str) -> str:
    """Join the non-empty parts of a name by slashes, without unprintable characters.

    Raises:
        BadResults: the name is empty or too long to be stored.
    """
    name = clean("/".join(part for part in map(str.strip, parts) if part)).strip()
    if not name:
        raise BadResults("a benchmark has no name")
    if len(name) > _LONGEST_NAME:
        what = f"the name {brief(name)} has {len(name)} characters; at most {_LONGEST_NAME} are allowed"
        raise BadResults(what)
    return name


def with_own_names(found: Iterable[ForeignBenchmark]) -> tuple[ForeignBenchmark, ...]:
    """Number benchmarks of the same name: ``sort``, ``sort #2``.

    Equal results count once, because a program may write them several times.

    Raises:
        BadResults: long names would make the rows far larger than the file.
    """
    known: Counter[str] = Counter()
    named = []
    for each in dict.fromkeys(found):
        known[each.name] += 1
        number = known[each.name]
        named.append(each if number == 1 else each._replace(name=f"{each.name} #{number}"))
    characters = sum(len(each.name) * len(each.repetitions[:_MOST_REPETITIONS]) for each in named)
    if characters > LARGEST:
        raise BadResults(f"the names of its rows have {characters} characters; at most {LARGEST} are allowed")
    return tuple(named)


def as_gbench(found: Iterable[ForeignBenchmark], names: Collection[str]) -> bytes:
    """Write the benchmarks with these names as Google Benchmark's JSON.

    The libraries report no CPU time, so both times are real time.
    """
    rows = [row for each in found if each.name in names for row in _rows(each)]
    return json.dumps({"context": {}, "benchmarks": rows}, separators=(",", ":"), ensure_ascii=False).encode()


def _rows(benchmark: ForeignBenchmark) -> list[dict[str, Any]]:
    row: dict[str, Any] = {
        "name": benchmark.name,
        "run_name": benchmark.name,
        "run_type": "iteration",
        "threads": 1,
    }
    best = sorted(benchmark.repetitions)[:_MOST_REPETITIONS]
    if benchmark.error or not best:
        error = {"error_occurred": True, "error_message": benchmark.error or _NO_TIME}
        return [row | {"repetitions": 1, "repetition_index": 0, "iterations": 1} | error]
    return [
        dict(each.counters)
        | row
        | {
            "repetitions": len(best),
            "repetition_index": index,
            "iterations": each.iterations,
            "real_time": each.seconds,
            "cpu_time": each.seconds,
            "time_unit": "s",
        }
        for index, each in enumerate(best)
    ]


class Sampler(NamedTuple):
    """Functions that sample a benchmark of a library.

    ``start`` is :meth:`ProgramFormat.sample`. ``place`` finds the benchmark's loop by the results of such a
    launch and the names in them; it raises BadResults if that is not sure.
    """

    start: Callable[[Suite, str], Invocation]
    place: Callable[[bytes, Sequence[str], str], Place]


@dataclass(frozen=True, slots=True)
class WholeProgram(ProgramFormat):
    """Programs of a library that chooses no benchmark by name: each launch runs and lists them all.

    ``parse`` reads the file that the shell ``line`` leaves, and raises BadResults.
    ``unreadable`` and ``empty`` are the likely faults of programs with unreadable results or no benchmark.
    """

    runs_all = True
    group_size = (MAX_LISTED, RESULT_BYTES)

    library: str
    line: str
    parse: Callable[[bytes], tuple[ForeignBenchmark, ...]]
    flags: Callable[[Suite], tuple[str, ...]] = lambda _: ()
    unreadable: ForeignProgram | None = None
    empty: ForeignProgram | None = None
    sampler: Sampler | None = None

    @override
    def listed(self, output: Output, before: Collection[str] = ()) -> Listed:
        names = tuple(each.name for each in self._benchmarks(output))
        if len(names) > MAX_LISTED:
            raise NotMeasured(f"has more than {MAX_LISTED} benchmarks")
        return Listed(names)

    @override
    def invoke(self, suite: Suite, names: Collection[str], repetitions: Repetitions) -> Invocation:
        return start(suite, self.line, self.flags(suite))

    @override
    def read(self, output: Output, names: Collection[str]) -> bytes:
        return as_gbench(self._benchmarks(output), frozenset(names))

    @override
    def sample(self, suite: Suite, name: str, repetitions: int = 1) -> Invocation:
        if not self.sampler:
            return ProgramFormat.sample(self, suite, name)
        return replace(self.sampler.start(suite, name), file=SAMPLED)

    @override
    def profile(self, output: Output, name: str) -> Profile:
        results, profile = results_and_profile(output.file)
        found = self.parse(results)
        fastest = (each._replace(repetitions=tuple(sorted(each.repetitions)[:1])) for each in found)
        times = as_gbench(fastest, {name})
        own = profile_of(b"%d\n%b%b" % (len(times), times, profile), name)
        names = [each.name for each in found]
        # The loop also runs, and is sampled, while the library finds out how often to iterate.
        place = self.sampler.place(results, names, name) if self.sampler else own.place
        return own._replace(timed=math.inf, place=place)

    def _benchmarks(self, output: Output) -> tuple[ForeignBenchmark, ...]:
        """Read all benchmarks of a launch, which may fail if one of them did."""
        failure = "" if output.done.is_success else output.end
        try:
            found = self.parse(output.file)
        except BadResults as error:
            if failure:
                raise NotMeasured(failure) from None
            raise NotMeasured(f"results of {self.library}: {error.what}", self.unreadable) from None
        if failure and not found:
            raise NotMeasured(f"{failure}, and no benchmark ran", self.empty)
        if failure and not any(each.error for each in found):
            raise NotMeasured(f"{failure}, although no benchmark failed")
        return found
