"""Suite ``flush_vbucket``: bytes that a flush needs per item, recorded and here."""

from __future__ import annotations

from dataclasses import replace
from statistics import median
from typing import TYPE_CHECKING, Final

from bench.native.launching import Arm, Run
from bench.native.measured import CPU
from bench.native.recorded import FLUSH_CASES, FLUSH_CPU, PEAK_FLUSH_BYTES
from bench.native.table import NOTHING, Change, Table, TableRow, Unit
from bench.native.variants import FLUSH_VBUCKET_SUITE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bench.native.measured import Measured

_BEFORE: Final = "per_item_callback"
_AFTER: Final = "per_transaction_callback"
_FLUSH: Final = "MemTrackingVBucketBench/FlushVBucket"
_QUEUE: Final = "MemTrackingVBucketBench/QueueDirty"
_PEAK: Final = "PeakFlushBytes"
_MODES: Final = ("insert", "replace")

SAVED: Final = 48.0  # bytes per item: 32 in the request, 16 in the callback's own block
# What a block of requests that is not full adds to the last item, shared among all of them.
NEAR: Final = {100: 1.0, 10_000: 0.01, 1_000_000: 0.01}

# A million items in the second store take minutes, and nothing is required of them; the queue knows no store.
_SMALL: Final = "FlushVBucket/[01]/(1|100|10000)/|QueueDirty/0/"
_LARGE: Final = "FlushVBucket/0/1000000/"
_ARMS: Final = (Arm(_BEFORE, _BEFORE), Arm(_AFTER, _AFTER))
RUNS: Final = (
    Run(
        FLUSH_VBUCKET_SUITE,
        _ARMS,
        rounds=3,
        flags=(f"--benchmark_filter={_SMALL}", "--benchmark_min_time=0.1"),
    ),
    Run(FLUSH_VBUCKET_SUITE, _ARMS, rounds=3, flags=(f"--benchmark_filter={_LARGE}",)),
)


def table(found: Measured) -> Table:
    """Tabulate bytes for every size and mode, then processor time, the other store and the queue."""
    rows = [_bytes(found, 0, items, mode) for items, mode in FLUSH_CASES]
    rows += [_cpu(found, items, mode) for items, mode in FLUSH_CASES]
    rows += [
        _bytes(found, 1, items, mode)
        for items, mode in FLUSH_CASES
        if found.benchmarks(_BEFORE, f"{_FLUSH}/1/{items}/{mode}(/.*)?")
    ]
    rows += [_queued(found, name) for name in found.benchmarks(_BEFORE, f"{_QUEUE}/.*")]
    return Table("flush_vbucket: `per_item_callback` → `per_transaction_callback`", tuple(rows))


def _name(found: Measured, store: int, items: int, mode: int) -> str:
    """Return the benchmark's name with what its registration puts behind the arguments."""
    stem = f"{_FLUSH}/{store}/{items}/{mode}"
    names = found.benchmarks(_BEFORE, f"{stem}(/[a-z_]+.*)?")
    return names[0] if names else stem


def _bytes(found: Measured, store: int, items: int, mode: int) -> TableRow:
    """Tabulate bytes per item with their fraction, which the program's own counter may round away."""
    name = _name(found, store, items, mode)
    before, after = ([each / items for each in found.values(arm, name, _PEAK)] for arm in (_BEFORE, _AFTER))
    here = Change(median(before), median(after), Unit.BYTES).show()
    spread = max(max(each) - min(each) for each in (before, after))
    launches = f"the same in {len(before)} launches" if spread == 0 else f"spread of launches {spread:.4f} B"
    what = f"`FlushVBucket/{store}/{items}/{mode}` ({_MODES[mode]}): `{_PEAK}` ÷ items"
    row = TableRow(what, NOTHING, f"{here}, {launches}")
    return _beside_recorded(row, before, after, items, mode) if store == 0 else row


def _beside_recorded(
    row: TableRow, before: Sequence[float], after: Sequence[float], items: int, mode: int
) -> TableRow:
    """Add the recorded change, which measured the first store only: nothing is required of another."""
    recorded = _rounded(*(each / items for each in PEAK_FLUSH_BYTES[items, mode])).show()
    if items not in NEAR:
        return replace(row, recorded=recorded)
    saved = (min(before) - max(after), max(before) - min(after))
    return replace(
        row,
        recorded=recorded,
        required=f"−{SAVED:.0f} ± {NEAR[items]:g} B in every launch",
        is_met=all(abs(each - SAVED) <= NEAR[items] for each in saved),
    )


def _rounded(before: float, after: float) -> Change:
    """Round to hundredths: the recorded figures have six digits."""
    return Change(round(before, 2), round(after, 2), Unit.BYTES)


def _cpu(found: Measured, items: int, mode: int) -> TableRow:
    name = _name(found, 0, items, mode)
    here = found.change(_BEFORE, _AFTER, name, Unit.MILLISECONDS, CPU)
    before, after = FLUSH_CPU[items, mode]
    recorded = Change(before / 1e6, after / 1e6, Unit.MILLISECONDS)
    return TableRow(
        f"`FlushVBucket/0/{items}/{mode}` ({_MODES[mode]}): processor time", recorded.show(), here.show()
    )


def _queued(found: Measured, name: str) -> TableRow:
    here = found.change(_BEFORE, _AFTER, name, Unit.NANOSECONDS, CPU)
    return TableRow(
        f"`{name.removeprefix('MemTrackingVBucketBench/')}`: processor time", NOTHING, here.show()
    )
