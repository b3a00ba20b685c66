"""Suite ``hash_table``: statistics in stripes, recorded and here."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from bench.native.launching import Arm, Run
from bench.native.measured import RATE, NotMeasured
from bench.native.recorded import HASH_TABLE, RECORDED_CPUS, RECORDED_LLCS, STATISTICS_BYTES
from bench.native.table import NOTHING, Change, Table, TableRow, Unit
from bench.native.variants import HASH_TABLE_SUITE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bench.native.measured import Measured

_SINGLE: Final = "single"
_PER_LLC: Final = "per_llc"
_PER_CORE: Final = "per_core"
_TWO_LLCS: Final = "per_llc --llcs=2"
_EPILOGUE: Final = "HTStatsEpilogue"
_FIXTURE: Final = "HashTableBench/"
_KINDS: Final = ("Insert", "Replace", "Delete", "FindForRead", "FindForWrite", _EPILOGUE)
_STRIPED: Final = (_PER_LLC, _PER_CORE, _TWO_LLCS)
_BYTES: Final = "StatsBytes"
_LLCS: Final = re.compile(r"(\d+) last-level cache")

PER_CORE_GAIN: Final = 2.0
PER_LLC_GAIN: Final = 0.9
TWO: Final = 2
ALIKE: Final = 0.10  # two stripes cost the same, by cores or by caches

RUNS: Final = (
    Run(
        HASH_TABLE_SUITE,
        (
            Arm(_SINGLE, _SINGLE),
            Arm(_PER_LLC, _PER_LLC),
            Arm(_PER_CORE, _PER_CORE),
            Arm(_TWO_LLCS, _PER_LLC, ("--llcs=2",)),
        ),
        rounds=11,
        flags=(f"--benchmark_filter={_FIXTURE}({'|'.join(_KINDS)})",),
    ),
)


def table(found: Measured) -> Table:
    """Tabulate items per second of processor time, as recorded: one instance against each way of striping."""
    rows = [row for kind in _KINDS for row in _rows(found, kind)]
    return Table("hash_table: `single` → `per_llc`, `per_core`", tuple(rows))


def _rows(found: Measured, kind: str) -> Iterator[TableRow]:
    # With one thread nobody contends.
    names = found.benchmarks(_SINGLE, rf"{_FIXTURE}{kind}.*/threads:{found.cpus}")
    if not names:
        raise NotMeasured(f"{kind} was not measured")
    for name in names:
        for arm in _STRIPED:
            yield _striped(found, name, arm)
        if kind == _EPILOGUE:
            yield _alike(found, name)
            yield from (_bytes(found, name, arm) for arm in _STRIPED)


def _what(name: str, before: str, after: str) -> str:
    return f"`{name.removeprefix(_FIXTURE)}`: `{before}` → `{after}`"


def _is(name: str, kind: str, found: Measured) -> bool:
    """Return whether the benchmark has a thread on every CPU; with fewer, threads may never contend."""
    return re.fullmatch(rf"{_FIXTURE}{kind}/iterations:\d+/threads:{found.cpus}", name) is not None


def _striped(found: Measured, name: str, arm: str) -> TableRow:
    here = found.change(_SINGLE, arm, name, Unit.PER_SECOND, RATE)
    required, is_met = NOTHING, None
    if _is(name, _EPILOGUE, found) and arm != _TWO_LLCS:
        least = {_PER_CORE: PER_CORE_GAIN, _PER_LLC: PER_LLC_GAIN}[arm]
        required, is_met = f"≥ {least:g}×", here.gain >= least
    return TableRow(_what(name, _SINGLE, arm), _recorded(found, name, arm), here.show(), required, is_met)


def _recorded(found: Measured, name: str, arm: str) -> str:
    """Return the recorded change: with its two last-level caches, it also has the way with two stripes."""
    kind = next((kind for kind in HASH_TABLE if _is(name, kind, found)), None)
    if kind is None:
        return NOTHING
    single, per_llc, per_core = HASH_TABLE[kind]
    return Change(single, per_core if arm == _PER_CORE else per_llc, Unit.PER_SECOND).show()


def _alike(found: Measured, name: str) -> TableRow:
    """Compare two ways to have as many stripes as CPUs; required only with two CPUs."""
    here = found.change(_PER_CORE, _TWO_LLCS, name, Unit.PER_SECOND, RATE)
    required, is_met = NOTHING, None
    if _is(name, _EPILOGUE, found) and found.cpus == TWO:
        required, is_met = f"1× ± {ALIKE * 100:.0f} %", abs(here.gain - 1) <= ALIKE
    return TableRow(_what(name, _PER_CORE, _TWO_LLCS), NOTHING, here.show(), required, is_met)


def _bytes(found: Measured, name: str, arm: str) -> TableRow:
    here = found.change(_SINGLE, arm, name, Unit.BYTES, _BYTES)
    what = f"{_what(name, _SINGLE, arm)}: `{_BYTES}`"
    if not _is(name, _EPILOGUE, found):
        return TableRow(what, NOTHING, here.show())
    recorded = STATISTICS_BYTES * (RECORDED_CPUS if arm == _PER_CORE else RECORDED_LLCS)
    stripes = _stripes(found, arm)
    return TableRow(
        what,
        Change(STATISTICS_BYTES, recorded, Unit.BYTES).show(),
        here.show(),
        f"{STATISTICS_BYTES} B × {stripes}",
        is_met=(here.before, here.after) == (STATISTICS_BYTES, STATISTICS_BYTES * stripes),
    )


def _stripes(found: Measured, arm: str) -> int:
    if arm == _TWO_LLCS:
        return TWO
    if arm == _PER_CORE:
        return found.cpus
    caches = _LLCS.search(str(found.contexts[arm].get("benchgate_topology", "")))
    return int(caches[1]) if caches else 1
