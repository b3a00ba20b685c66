"""Sentences claim what they say of one benchmark: by old and new value, or by a share of its time."""

from __future__ import annotations

import pytest

from service.domain.claims.find import find_claims

Claimed = tuple[int, str, str, float, float, str]
TABLE = "\n\n| Benchmark | Before | After |\n|---|---|---|\n| BM_A/1 | 31.2 ns | 24.1 ns |"


def claimed(body: str) -> list[Claimed]:
    found = find_claims(
        f"Parse: avoid a copy\n\n{body}\n\nChange-Id: I0184\nTested-by: Build Bot <b@example.com>"
    )
    assert found.refused == ()
    keys = ("line", "benchmark", "metric", "before", "after", "unit")
    return [tuple(getattr(each, key) for key in keys) for each in found.claims]


@pytest.mark.parametrize(
    ("text", "claim"),
    [
        ("BM_A/1 goes from 3.1 us to 2.4 us.", (3, "BM_A/1", "real_time", 3.1, 2.4, "us")),
        ("With this change, BM_A/1 improves from 31 ns to 24 ns", (3, "BM_A/1", "real_time", 31, 24, "ns")),
        ("Reduce the time of BM_A/1 by 12.5 %.", (3, "BM_A/1", "real_time", 100, 87.5, "%")),
        ("bm_parse: 3.1µs → 2.4µs", (3, "bm_parse", "real_time", 3.1, 2.4, "us")),
        (
            "* `BM_A<int>/8` drops from 1,200 ns\n  to 900 ns.",
            (4, "BM_A<int>/8", "real_time", 1200, 900, "ns"),
        ),
        ('Speeds up "Foo/64" from 2 s to 900 ms!', (3, "Foo/64", "real_time", 2, 0.9, "s")),
        ("It copies.\nNow BM_A: 3.1 ns => 2.4 ns (23 % less)", (4, "BM_A", "real_time", 3.1, 2.4, "ns")),
        (
            "By hashing rows once, the CPU time of\nFixture/Case/8/real_time falls from 3.1 ms to 2.4 ms.",
            (4, "Fixture/Case/8/real_time", "cpu_time", 3.1, 2.4, "ms"),
        ),
        ("ParserBench/Rows: 4 ns -> 2 ns", (3, "ParserBench/Rows", "real_time", 4, 2, "ns")),
        ("yield_threads/12 falls from 9 us to 7 us.", (3, "yield_threads/12", "real_time", 9, 7, "us")),
        ("Reduced from 3.1 us to 2.4 us, as measured by BM_A.", (3, "BM_A", "real_time", 3.1, 2.4, "us")),
        ("Results:\n\n- BM_A: 12k items/s -> 15k items/s", (5, "BM_A", "items_per_second", 12e3, 15e3, "")),
        (
            "Throughput of BM_A/8 improves from 1.2 GB/s to 2.4 GB/s.",
            (3, "BM_A/8", "bytes_per_second", 1.2e9, 2.4e9, ""),
        ),
        ("BM_A: 2 MiB/s -> 3 MiB/s", (3, "BM_A", "bytes_per_second", 2 << 20, 3 << 20, "")),
        ("The CPU time of BM_A is reduced by 12 %.", (3, "BM_A", "cpu_time", 100, 88, "%")),
        ("BM_A takes 12.5 % less time with this patch.", (3, "BM_A", "real_time", 100, 87.5, "%")),
        ("Real time of BM_A is down by 3%.", (3, "BM_A", "real_time", 100, 97, "%")),
    ],
)
def test_a_sentence_claims_its_change_on_the_line_of_the_new_value(text: str, claim: Claimed) -> None:
    assert claimed(text) == [claim]


def test_a_share_may_be_rounded() -> None:
    (claim,) = find_claims("Parse\n\nBM_A takes 12 % less time.").claims
    assert (claim.ratio, claim.rounding) == pytest.approx((0.88, 0.5 / 88), rel=0.01)


def test_each_sentence_claims_its_own_and_the_first_of_two_that_agree_counts() -> None:
    text = "* BM_A: 3 ns -> 2 ns\n* BM_B: 5 ns -> 4 ns\n\nNow BM_A takes 33 % less time."
    assert [each[:2] for each in claimed(text)] == [(3, "BM_A"), (4, "BM_B")]


def test_a_table_says_it_better_than_a_sentence() -> None:
    text = f"BM_A/1 goes from 31 ns to 24 ns.{TABLE}"
    assert claimed(text) == [(7, "BM_A/1", "real_time", 31.2, 24.1, "ns")]
