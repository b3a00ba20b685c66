"""Suite ``executor``: the cost of the tasks' owner for the pools, recorded and here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bench.native.launching import Arm, Run
from bench.native.recorded import ONE_SHOT
from bench.native.table import NOTHING, Change, Table, TableRow, Unit, significant, times
from bench.native.variants import EXECUTOR_SUITE

if TYPE_CHECKING:
    from bench.native.measured import Measured

_MOCK: Final = "mock_taskable"
_NULL: Final = "null_taskable"
_CALL: Final = "TaskStatsBench/LogQTime"
_POOL: Final = "PureFollyExecutorBench"
_LOCKED: Final = "CB3ExecutorPoolBench"
_PARKED: Final = "ParkedPerItem"
_TIMEOUTS: Final = tuple(f"TimeoutAddCancel/Timeouts:1000/real_time/threads:{n}" for n in (1, 2))

FASTER: Final = 5.0
FLATNESS: Final = 2.5
_CPUS: Final = 2  # one hand-off keeps as many busy

RUNS: Final = (
    Run(
        EXECUTOR_SUITE,
        (Arm(_MOCK, _MOCK), Arm(_NULL, _NULL)),
        rounds=5,
        flags=(
            "--benchmark_filter=LogQTime|OneShotScheduleRun|TimeoutAddCancel/Timeouts:1000/real_time/threads:[12]$",
            "--benchmark_min_time=0.2",
        ),
    ),
)


def table(found: Measured) -> Table:
    """Tabulate each thread count's hand-off with both owners, and what bounds the mock."""
    rows = [
        _row(found, _CALL),
        *(_hand_off(found, threads) for threads in ONE_SHOT),
        _flatness(found),
        _peak(found),
    ]
    rows += [_row(found, _one_shot(_LOCKED, threads)) for threads in ONE_SHOT]
    rows += [_row(found, f"{pool}/{name}") for pool in (_LOCKED, _POOL) for name in _TIMEOUTS]
    return Table("executor: `mock_taskable` → `null_taskable`", tuple(rows), f"`{_PARKED}`")


def _one_shot(pool: str, threads: int) -> str:
    return f"{pool}/OneShotScheduleRun/real_time/threads:{threads}"


def _row(found: Measured, benchmark: str) -> TableRow:
    change = found.change(_MOCK, _NULL, benchmark, Unit.NANOSECONDS)
    aside = _parked(found, benchmark) if "OneShot" in benchmark else ""
    return TableRow(f"`{benchmark}`", NOTHING, change.show(), aside=aside)


def _hand_off(found: Measured, threads: int) -> TableRow:
    benchmark = _one_shot(_POOL, threads)
    change = found.change(_MOCK, _NULL, benchmark, Unit.NANOSECONDS)
    required, is_met = NOTHING, None
    if threads == 1:
        required = f"≥ {significant(FASTER, 1)}×, given {_CPUS} CPUs"
        is_met = change.gain >= FASTER if found.cpus >= _CPUS else None
    recorded = Change(*ONE_SHOT[threads], Unit.NANOSECONDS)
    return TableRow(
        f"`{benchmark}`", recorded.show(), change.show(), required, is_met, aside=_parked(found, benchmark)
    )


def _parked(found: Measured, benchmark: str) -> str:
    before, after = (found.median(arm, benchmark, _PARKED) for arm in (_MOCK, _NULL))
    return f"{before:.2f} → {after:.2f}"


def _flatness(found: Measured) -> TableRow:
    here = [found.median(_MOCK, _one_shot(_POOL, threads)) for threads in ONE_SHOT]
    recorded = [before for before, _ in ONE_SHOT.values()]
    flatness = max(here) / min(here)
    return TableRow(
        f"`{_POOL}` with the mock: slowest ÷ fastest of 1 to 16 threads",
        times(max(recorded) / min(recorded)),
        times(flatness),
        f"≤ {FLATNESS}×",
        is_met=flatness <= FLATNESS,
    )


def _peak(found: Measured) -> TableRow:
    """Tabulate the peak: throughput rises only while each thread and its worker have a CPU of their own."""
    recorded = min(ONE_SHOT, key=lambda threads: ONE_SHOT[threads][1])
    here = min(ONE_SHOT, key=lambda threads: found.median(_NULL, _one_shot(_POOL, threads)))
    what = f"`{_POOL}` with the null owner: threads with the shortest time"
    return TableRow(what, str(recorded), f"{here} on {found.cpus} CPUs")
