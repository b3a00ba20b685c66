"""Read the instructions of each timed loop from Callgrind's dumps and the library's log, and store them."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Final

from service.domain.measuring.callgrind_functions import FunctionCount
from service.domain.measuring.callgrind_loop import LOOP_ENDS
from service.domain.values.errors import BadResults
from service.domain.values.identity import Side

# Callgrind resets its counts when the library starts a timed loop and dumps them when the loop ends, so a
# dump has neither set-up nor the library's bookkeeping. Every version of the library has both functions; a
# program that inlined them, or is stripped, writes no dumps.
OPTIONS: Final = (
    "--tool=callgrind",
    "--combine-dumps=yes",
    "--zero-before=benchmark::State::StartKeepRunning()",
    "--dump-before=benchmark::State::FinishKeepRunning()",
)
# What else Callgrind can count, by instruction and not by line. The simulated caches are fixed: virtual
# machines often misreport theirs.
EVENT_OPTIONS: Final = (
    "--cache-sim=yes",
    "--branch-sim=yes",
    "--collect-bus=yes",
    "--collect-systime=yes",
    "--dump-instr=yes",
    "--dump-line=no",
    "--I1=32768,8,64",
    "--D1=32768,8,64",
    "--LL=8388608,16,64",
)
# Makes the library log each number of iterations that it tries.
LOGGING: Final = ("--v=2",)
MAX_LOOPS: Final = 10_000  # per launch of one benchmark; the library never tries that many
_MAX_COUNT: Final = 10**18
_EVENTS: Final = re.compile(rb"^events: (.*)$", re.MULTILINE)
_TOTALS: Final = re.compile(rb"^totals: ([0-9]{1,18}(?: [0-9]{1,18}){0,15})$", re.MULTILINE)
_RUNNING: Final = b"Running %s for "


@dataclass(frozen=True, slots=True)
class Trial:
    """One timed loop: its iterations, and the instructions (Ir) that they took."""

    iterations: int
    instructions: int


@dataclass(frozen=True, slots=True)
class Counted:
    """Timed loops of one benchmark on one side, by launch, or ``why`` there are none.

    ``functions`` executed most of the last loop of the last launch; empty if that is not known.
    """

    launches: tuple[tuple[Trial, ...], ...] = ()
    why: str = ""
    functions: tuple[FunctionCount, ...] = ()

    def to_mapping(self) -> dict[str, Any]:
        """Convert to plain values for JSON."""
        launches = [[(each.iterations, each.instructions) for each in trials] for trials in self.launches]
        # Beside the launches: a worker of the previous version refuses a loop of more than two numbers.
        functions = {"functions": [list(each) for each in self.functions]} if self.functions else {}
        return {"why": self.why, "launches": launches, **functions}

    @staticmethod
    def from_mapping(found: object) -> Counted:
        """Read what :meth:`to_mapping` wrote; treat anything else as not counted."""
        match found:
            case {"why": str(why), "launches": list(launches), **others}:
                with suppress(TypeError, ValueError):
                    trials = ((Trial(_count(n, 1), _count(ir)) for n, ir in each) for each in launches)
                    read = Counted(tuple(map(tuple, trials)), why)
                    with suppress(ValueError):  # the counts are as good without them
                        return replace(read, functions=_functions(others.get("functions")))
                    return read
        return Counted(why="its record cannot be read")


Counts = dict[tuple[str, Side], dict[str, Counted]]
"""By suite and side, then by benchmark."""


def trials(dumps: bytes, log: bytes, benchmark: str) -> tuple[Trial, ...]:
    """Read the timed loops of a launch of one benchmark, in order.

    Google Benchmark tries 1, 10, 100, … iterations until a trial takes a tenth of the minimum time,
    predicts the number that it needs, and reports that trial (``BenchmarkRunner::PredictNumItersNeeded``).
    So launches have trials of equal length even with versions that cannot fix the number of iterations.

    Args:
        dumps: Callgrind's output with :data:`OPTIONS`.
        log: standard error of the program, started with :data:`LOGGING`.
        benchmark: its name.

    Raises:
        BadResults: the dumps do not count instructions, or do not fit the log.
    """
    counted = numbered_loops(dumps, log, benchmark)
    return tuple(Trial(number, loop[0]) for number, loop in counted)


def numbered_loops(
    dumps: bytes, log: bytes, benchmark: str, events: bytes = b"Ir"
) -> tuple[tuple[int, tuple[int, ...]], ...]:
    """Read the iterations of each timed loop and its totals of these ``events``; else as :func:`trials`."""
    loops = _timed_loops(dumps, events)
    if not loops:
        raise BadResults("no timed loop was found; a program that is stripped, or a script, shows none")
    numbers = _numbers(log, benchmark)
    if len(numbers) != len(loops) or not all(numbers):
        raise BadResults(f"{len(loops)} timed loops, but the library's log names {len(numbers)}")
    return tuple(zip(numbers, loops, strict=True))


def _timed_loops(dumps: bytes, events: bytes) -> tuple[tuple[int, ...], ...]:
    """Read the totals of every timed loop, in the order of their ends.

    ``dumps`` is Callgrind's output, all parts in one file (Valgrind manual, "Callgrind Format
    Specification"). Costs outside of timed loops, such as the part written at the program's end, are left
    out; so is a truncated last part.

    Raises:
        BadResults: the dumps count other events, or there are too many loops.
    """
    if dumps and not dumps.startswith(b"# callgrind format\n"):
        raise BadResults("not an output of callgrind")
    if any(counted != events for counted in _EVENTS.findall(dumps)):
        raise BadResults("the dumps count something else than instructions")
    loops = (loop.partition(b"\npart: ")[0] for loop in dumps.split(b"\n" + LOOP_ENDS)[1:])
    found = [tuple(map(int, total[1].split(b" "))) for loop in loops if (total := _TOTALS.search(loop))]
    if len(found) > MAX_LOOPS:
        raise BadResults(f"more than {MAX_LOOPS} timed loops")
    width = len(events.split(b" "))  # Callgrind leaves out zeros at the end
    return tuple(costs + (0,) * (width - len(costs)) for costs in found if len(costs) <= width)


def _numbers(log: bytes, benchmark: str) -> list[int]:
    said = (line.partition(_RUNNING % benchmark.encode()) for line in log.split(b"\n"))
    return [int(number) for _, running, number in said if running and re.fullmatch(rb"[0-9]{1,18}", number)]


def _count(value: object, at_least: int = 0) -> int:
    if type(value) is not int or not at_least <= value <= _MAX_COUNT:
        raise ValueError(value)
    return value


def _functions(found: object) -> tuple[FunctionCount, ...]:
    functions = []
    for each in found if isinstance(found, list) else ():
        match each:
            case [str(name), count, str(library), str(caller)]:
                functions.append(FunctionCount(name, _count(count), library, caller))
            case _:
                raise ValueError(each)
    return tuple(functions)
