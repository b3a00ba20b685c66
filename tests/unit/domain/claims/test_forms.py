"""The forms of tables, as authors paste, quote, wrap and draw them."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Final

import pytest

from service.domain.claims.find import find_claims
from service.domain.claims.values import Claim, Role, Row

BEFORE = "Parse: avoid a copy\n\nBefore:\nBM_Parse/64    31.0 ns    30.9 ns    22412345\n"


def claims(message: str) -> list[tuple[object, ...]]:
    found = find_claims(message)
    assert found.refused == ()
    return [(claim.benchmark, claim.metric, claim.before, claim.after) for claim in found.claims]


def row(message: str) -> Row:
    (table,) = find_claims(message).tables
    (read,) = table.rows
    return read


@pytest.mark.parametrize(
    "after",
    [
        "BM_Parse/64    24.0 ns    23.9 ns    28412345",
        "    BM_Parse/64\t24.0 ns\t23.9 ns\t28412345",
        "BM_Parse/64    24.0 ns    23.9 ns    28,412,345",
        "BM_Parse/64    0.024 us    0.0239 us    28412345",
        "BM_Parse/64    0.024 µs    0.0239 µs    28412345",
        "\x1b[32mBM_Parse/64\x1b[m    24.0 ns    23.9 ns    28412345",
        "Benchmark   Time(ns)    CPU(ns) Iterations\nBM_Parse/64   24.0   23.9   28412345",
        "Benchmark   Time   CPU\nBM_Parse/64   24.0 ns   23.9 ns",
        "Benchmark | Time | CPU | Iterations\n--|--|--|--\n`BM_Parse/64` | 24.0 ns | 23.9 ns | 28412345",
        "Benchmark  Time  CPU  Iterations\nBM_Parse/64  24.0 ns  23.9 ns  7\nBM_Parse_BigO  2 N  2 N",
        "Benchmark  Time  CPU  Iterations\nBM_Map  ERROR OCCURRED: 'x'\nBM_Parse/64  24.0 ns  23.9 ns  7",
    ],
)
def test_a_row_is_read_however_it_is_printed(after: str) -> None:
    assert claims(f"{BEFORE}\nAfter:\n{after}") == [
        ("BM_Parse/64", "real_time", 31.0, pytest.approx(24.0)),
        ("BM_Parse/64", "cpu_time", 30.9, pytest.approx(23.9)),
    ]


def test_a_table_may_be_quoted_once() -> None:
    message = f"{BEFORE}\nAfter:\nBM_Parse/64    24.0 ns    23.9 ns    28412345"
    assert claims("\n".join(f"> {line}" for line in message.split("\n"))) == claims(message) != []


@pytest.mark.parametrize(
    ("head", "cells", "name", "value"),
    [
        ("CPU Iterations", "12.5k items/s", "items_per_second", 12_800),
        ("CPU Iterations", "211.5MB/s", "bytes_per_second", 211.5 * 1024**2),
        ("CPU Iterations", "Peak=2k", "Peak", 2048),
        ("CPU   Iterations", "Peak=2k", "Peak", 2000),
        ("CPU   Iterations", "Peak=2Ki", "Peak", 2048),
        ("CPU   Iterations", "items_per_second=12.5k/s", "items_per_second", 12_500),
        ("CPU   Iterations", "bytes_per_second=1.5G/s", "bytes_per_second", 1.5 * 1024**3),
        ("CPU   Iterations", "bytes_per_second=1.5Gi/s", "bytes_per_second", 1.5 * 1024**3),
        ("CPU   Iterations", "Pop=13.5u", "Pop", 13.5e-6),
    ],
)
def test_a_prefix_counts_as_the_version_that_printed_it_meant(
    head: str, cells: str, name: str, value: float
) -> None:
    read = row(f"Benchmark   Time   {head}\nBM_Parse/64   24 ns   23 ns   28412345 {cells} store:a mode:b")
    assert read.counters[name] == pytest.approx(value)
    assert read.label == "store:a mode:b"


def test_a_label_may_look_like_a_counter_and_a_counter_may_be_no_number() -> None:
    read = row("BM_Parse/64   24 ns   23 ns   28412345 Hits=nan 12.5G/s kind=fast")
    assert (read.counters, read.label) == ({}, "12.5G/s kind=fast")


MARKDOWN = """\
| Benchmark | Before | After | Speedup |
|---|---:|---:|---|
| `BM_A/1` | 3.1 µs | **2.4 µs** | 1.3x |
"""
TITLED = """\
| Test | Time (us) - before | Time (us) - this change | Improvement (%) |
| BM_A/1 | 3.1 | 2.4 | 22.6 |
"""
RST_GRID = """\
+-----------+--------+---------+
| Benchmark | Before | After   |
+===========+========+=========+
| BM_A/1    | 3.1 us | 2400 ns |
+-----------+--------+---------+
"""
RST_SIMPLE = """\
=========  ======  ======
Benchmark  Before  After
=========  ======  ======
BM_A/1     3.1 us  2.4 us
=========  ======  ======
"""
BETWEEN_BLANKS = """\
Benchmark    master    this PR
BM_A/1       3.1us     2.4us
"""
BENCHSTAT = """\
name        old time/op  new time/op  delta
BM_A/1      3.10µs ± 1%  2.40µs ±13%  -22.5%  (p=0.000 n=37+35)
"""


@pytest.mark.parametrize("table", [MARKDOWN, TITLED, RST_GRID, RST_SIMPLE, BETWEEN_BLANKS, BENCHSTAT])
def test_a_drawn_table_has_a_column_for_each_side(table: str) -> None:
    assert claims(f"Parse faster\n\n{table}\n\nThat is all.") == [
        ("BM_A/1", "real_time", 3.1, pytest.approx(2.4))
    ]


def test_columns_may_be_rates_and_a_cell_may_be_empty() -> None:
    titles = "| Test | Old CPU (ms) | New CPU (ms) |\n|-|-|-|\n"
    table = f"{titles}| fill/seq | 1,250.5 | 1,100 |\n| read/seq | 7 | - |"
    assert claims(table) == [("fill/seq", "cpu_time", 1250.5, 1100.0)]
    assert claims("benchmark  baseline  contender  change %\nBM_A  2 GiB/sec  3 GB/s  +39.7") == [
        ("BM_A", "bytes_per_second", 2.0 * 1024**3, 3e9)
    ]
    assert claims(
        "name  old speed  new speed  delta\nhash  1.05GB/s ± 3%  1.16GB/s ± 0%  +10.3%  (p=0.0 n=5+5)"
    ) == [("hash", "bytes_per_second", 1.05e9, 1.16e9)]
    assert claims(
        "name  old cpu/op  new cpu/op  delta\nhash  21ns ± 3%  20ns ± 0%  -3.81%  (p=0.0 n=5+5)"
    ) == [("hash", "cpu_time", 21.0, 20.0)]
    assert claims("| Test | Old | New |\n| BM_A | 2k items/s | 3 M ops/s |") == [
        ("BM_A", "items_per_second", 2e3, 3e6)
    ]


def test_compare_py_prints_ratios_that_are_more_precise_than_its_times() -> None:
    found = find_claims(
        "Comparing ./a.out to ./b.out\n"
        "Benchmark            Time       CPU  Time Old  Time New   CPU Old   CPU New\n"
        "---------------------------------------------------------------------------\n"
        "BM_A/8            +0.0020   -0.0468        36        36        76        73\n"
        "BM_A/8_pvalue      0.2207    0.6831    U Test, Repetitions: 2.\n"
        "OVERALL_GEOMEAN   +0.0010   -0.0200         0         0         0         0\n"
    )
    assert found.refused == ()
    assert found.claims == (
        Claim(4, "BM_A/8", "real_time", 36.0, 36.0, 1.002, "", "Old", "New", rounding=half(0.00005 / 1.002)),
        Claim(4, "BM_A/8", "cpu_time", 76.0, 73.0, 0.9532, "", "Old", "New", rounding=half(0.00005 / 0.9532)),
    )


def half(share: float) -> float:
    return -math.log1p(-share)


@pytest.mark.parametrize(
    ("old", "new", "rounding"),
    [
        ("1.2 GB/s", "2.40 GB/s", half(0.05 / 1.2) + half(0.005 / 2.4)),
        ("1,200 items/s", "3k ops/s", half(0.5 / 1200) + half(0.5 / 3)),
        ("31 us", "24.00 ns", half(0.5 / 31) + half(0.005 / 24)),
        ("100 ns", "1.20e+03 ns", half(0.5 / 100) + half(0.005 / 1.2)),
        ("0.5 ns", "0.00 ns", math.inf),
    ],
)
def test_the_last_printed_digits_tell_how_far_the_ratio_is_rounded(
    old: str, new: str, rounding: float
) -> None:
    (claim,) = find_claims(f"Faster\n\n| Benchmark | Old | New |\n|-|-|-|\n| BM_A | {old} | {new} |").claims
    assert claim.rounding == pytest.approx(rounding)


def test_times_counters_and_rates_of_the_console_are_rounded_as_they_are_printed() -> None:
    old = "BM_A   31.0 ns   30 ns   7 Peak=2.50k bytes_per_second=1.5Gi/s"
    new = "BM_A   0.024 us   0 us   7 Peak=3k bytes_per_second=1.25Gi/s"
    head = "Benchmark   Time   CPU   Iterations"
    found = find_claims(f"Faster\n\nBefore:\n{head}\n{old}\n\nAfter:\n{head}\n{new}")
    assert {claim.metric: claim.rounding for claim in found.claims} == pytest.approx(
        {
            "real_time": half(0.05 / 31) + half(0.5 / 24),
            "cpu_time": math.inf,
            "Peak": half(0.005 / 2.5) + half(0.5 / 3),
            "bytes_per_second": half(0.05 / 1.5) + half(0.005 / 1.25),
        }
    )


def test_rates_between_blanks_and_durations_of_tests_are_rounded_too() -> None:
    head = "Benchmark   Time   CPU Iterations"
    sides = [f"{head}\nBM_A  9 ns  9 ns  7 {rate}k items/s\n\n" for rate in (12.5, 211.5)]
    *_, claim = find_claims("Faster\n\nBefore:\n{}After:\n{}".format(*sides)).claims
    assert claim.metric == "items_per_second"
    assert claim.rounding == pytest.approx(half(0.05 / 12.5) + half(0.05 / 211.5))
    (duration,) = find_claims("S\n\nBefore:\n[ OK ] S.R (30 ms)\n\nAfter:\n[ OK ] S.R (4 ms)").claims
    assert duration.rounding == pytest.approx(half(0.5 / 30) + half(0.5 / 4))


SEED: Final = Path(__file__).parents[3] / "samples" / "claims" / "tests.txt"


def test_two_logs_of_tests_claim_durations() -> None:
    found = find_claims(SEED.read_text(encoding="utf-8"))
    assert found.refused == ()
    assert [table.role for table in found.tables] == [Role.BEFORE, Role.AFTER]
    claims = [(each.benchmark, each.before, each.after, each.unit) for each in found.claims]
    assert len(claims) == 8
    assert claims[0] == (
        "TransportProtocols/GetSetTest.ServerRejectsLargeSize/Mcbp_XattrYes_JsonYes_SnappyYes",
        *(2912.0, 541.0, "ms"),
    )
