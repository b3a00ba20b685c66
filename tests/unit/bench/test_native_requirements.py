"""Check each workload's table of requirements on the figures of the recorded changes."""

from __future__ import annotations

from itertools import product

import pytest

from bench.native import executor, flush_vbucket, hash_table, send_buffer
from bench.native.measured import CPU, RATE, REAL, Launch, Measured
from bench.native.recorded import (
    FLUSH_CPU,
    HASH_TABLE,
    LARGE_SIZE,
    ONE_SHOT,
    PEAK_FLUSH_BYTES,
)

FOLLY = "PureFollyExecutorBench/OneShotScheduleRun/real_time/threads"
EPILOGUE = "`HTStatsEpilogue/iterations:100000/threads:2`"
EPILOGUE = "`HTStatsEpilogue/iterations:100000/threads:2`"
ARMS = ("single", "per_llc", "per_core", "per_llc --llcs=2")


def executor_found(*, cpus: int = 2, **seconds: float) -> Measured:
    """The recorded hand-offs; ``null_1=…`` replaces one of them."""
    found = Measured(cpus)
    for side, arm in enumerate(("mock_taskable", "null_taskable")):
        short = arm.partition("_")[0]
        timed = {
            f"{FOLLY}:{n}": seconds.get(f"{short}_{n}", pair[side] / 1e9) for n, pair in ONE_SHOT.items()
        }
        timed |= {f"CB3ExecutorPoolBench/OneShotScheduleRun/real_time/threads:{n}": 1e-5 for n in ONE_SHOT}
        for pool, n in product(("CB3ExecutorPoolBench", "PureFollyExecutorBench"), (1, 2)):
            timed[f"{pool}/TimeoutAddCancel/Timeouts:1000/real_time/threads:{n}"] = 1e-6
        timed["TaskStatsBench/LogQTime"] = (2e-6, 2e-9)[side]
        values = {(name, REAL): each for name, each in timed.items()}
        found.add(arm, Launch(values | {(name, "ParkedPerItem"): 0.5 for name in timed}))
    return found


def test_the_recorded_hand_offs_meet_the_requirements() -> None:
    table = executor.table(executor_found())
    assert table.missed == ()
    assert sum(row.is_met is True for row in table.rows) == 2


def test_a_null_owner_less_than_five_times_as_fast_is_missed() -> None:
    assert executor.table(executor_found(null_1=1.3e-6)).missed == (f"`{FOLLY}:1`",)


def test_nothing_is_asked_of_a_hand_off_on_one_cpu() -> None:
    assert executor.table(executor_found(cpus=1, null_1=1.3e-6)).missed == ()


def test_a_mock_that_scales_is_missed() -> None:
    (missed,) = executor.table(executor_found(mock_8=2.1e-6)).missed
    assert "slowest ÷ fastest" in missed


def flush_found(after_more: dict[tuple[int, int], float] | None = None) -> Measured:
    """The recorded flushes twice; in the second launch those cases need more bytes afterwards."""
    found = Measured(2)
    for launch, (side, arm) in product(
        range(2), enumerate(("per_item_callback", "per_transaction_callback"))
    ):
        values: dict[tuple[str, str], float] = {}
        for (items, mode), peaks in PEAK_FLUSH_BYTES.items():
            name = f"MemTrackingVBucketBench/FlushVBucket/0/{items}/{mode}"
            more = (after_more or {}).get((items, mode), 0.0) * side * launch
            values[name, "PeakFlushBytes"] = round(peaks[0] - 48 * items * side + more, 3)
            values[name, CPU] = FLUSH_CPU[items, mode][side] / 1e9
        found.add(arm, Launch(values))
    return found


def test_flushes_that_need_48_bytes_less_meet_the_requirements() -> None:
    table = flush_vbucket.table(flush_found())
    assert table.missed == ()
    assert sum(row.is_met is True for row in table.rows) == 6


def test_one_launch_that_differs_is_missed() -> None:
    missed = flush_vbucket.table(flush_found({(100, 0): 101.0, (10_000, 1): 101.0, (100, 1): 99.0})).missed
    assert missed == (
        "`FlushVBucket/0/100/0` (insert): `PeakFlushBytes` ÷ items",
        "`FlushVBucket/0/10000/1` (replace): `PeakFlushBytes` ÷ items",
    )


def table_found(epilogue: dict[str, float], stripes: tuple[int, ...] = (1, 1, 2, 2)) -> Measured:
    """The recorded rates in names of two threads, with other ones for the epilogue."""
    found = Measured(2)
    for arm, count in zip(ARMS, stripes, strict=True):
        side = min(ARMS.index(arm), 2)
        rates = {kind: each[side] for kind, each in HASH_TABLE.items()}
        rates |= {"FindForRead": 1e6, "FindForWrite": 1e6, "HTStatsEpiloguePadded": 1e7}
        rates["HTStatsEpilogue"] = epilogue[arm]
        values = {
            (f"HashTableBench/{kind}/iterations:100000/threads:2", RATE): r for kind, r in rates.items()
        }
        for name, size in (("HTStatsEpilogue", 144.0), ("HTStatsEpiloguePadded", 192.0)):
            values[f"HashTableBench/{name}/iterations:100000/threads:2", "StatsBytes"] = size * count
        found.add(
            arm, Launch(values, {"benchgate_topology": "2 CPUs, 2 cores, 1 last-level cache, 1 NUMA node"})
        )
    return found


def test_stripes_that_pay_meet_the_requirements() -> None:
    table = hash_table.table(table_found(dict(zip(ARMS, (1e7, 0.95e7, 4e7, 3.9e7), strict=True))))
    assert table.missed == ()
    assert sum(row.is_met is True for row in table.rows) == 6


@pytest.mark.parametrize(
    ("rates", "missed"),
    [
        ((1e7, 1e7, 1.9e7, 1.9e7), f"{EPILOGUE}: `single` → `per_core`"),
        ((1e7, 0.8e7, 4e7, 4e7), f"{EPILOGUE}: `single` → `per_llc`"),
        ((1e7, 1e7, 4e7, 3e7), f"{EPILOGUE}: `per_core` → `per_llc --llcs=2`"),
    ],
)
def test_stripes_that_do_not_pay_are_missed(rates: tuple[float, ...], missed: str) -> None:
    assert hash_table.table(table_found(dict(zip(ARMS, rates, strict=True)))).missed == (missed,)


def test_statistics_of_another_size_are_missed() -> None:
    found = table_found(dict(zip(ARMS, (1e7, 1e7, 4e7, 4e7), strict=True)), stripes=(1, 2, 2, 2))
    assert hash_table.table(found).missed == (f"{EPILOGUE}: `single` → `per_llc`: `StatsBytes`",)


def sender_found(**milliseconds: float) -> Measured:
    """The recorded tests; ``plain=…`` and ``compressed=…`` replace the after of the JSON ones."""
    found = Measured(2)
    other = {
        ("ServerRejectsLargeSize", "JsonYes"): milliseconds.get("plain"),
        ("ServerRejectsLargeSizeCompressed", "JsonYes"): milliseconds.get("compressed"),
    }
    for arm in ("copy_and_send", "send_per_chunk", "sendmsg"):
        values = {("SendBuffer/Set", REAL): 1e-3}
        for (name, json), pair in LARGE_SIZE.items():
            took = (other.get((name, json)) or pair[1]) if arm == "sendmsg" else pair[0]
            values[f"TransportProtocols/GetSetTest.{name}/Mcbp_XattrYes_{json}_SnappyYes", REAL] = took / 1e3
        found.add(arm, Launch(values))
    return found


def test_the_recorded_tests_meet_the_requirements() -> None:
    table = send_buffer.table(sender_found())
    assert table.missed == ()
    assert sum(row.is_met is True for row in table.rows) == 4


def test_a_plain_test_less_than_three_times_as_fast_is_missed() -> None:
    assert send_buffer.table(sender_found(plain=1000)).missed == ("`ServerRejectsLargeSize`, JsonYes, TSan",)


def test_a_control_that_saves_more_than_a_tenth_is_missed() -> None:
    (missed,) = send_buffer.table(sender_found(compressed=260)).missed
    assert missed.startswith("`ServerRejectsLargeSizeCompressed`, JsonYes, TSan: saved")
