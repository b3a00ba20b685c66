"""MeasuredRow benchmarks that a claim of another name may mean."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.domain.claims.answers import Obstacle
from service.domain.claims.near import MOST_COMPARED, explained, near_names
from service.domain.claims.values import NearName
from tests.support.reading.claimed import CONFIRMED, NO_BENCHMARK

DEMO = (
    "HashTableBench/Insert/iterations:100000/threads:2",
    "HashTableBench/Delete/iterations:100000/threads:2",
    "MapBench/Insert/iterations:100000/threads:2",
    "PoolFixture<FollyPool>/Schedule/Tasks:16/real_time/threads:2",
    "PoolFixture<OwnPool>/Schedule/Tasks:16/real_time/threads:2",
    "FlushVBucket/0/100/1",
    "FlushVBucket/0/1/0",
    "BM_Sort<int>/64",
    "BM_Parse/8/min_time:0.500/min_warmup_time:0.100/repeats:3/process_time",
    "map/find",
    "BM_GetOrInsert/uniform",
    "hash_table_bench2/Flush/8",
)


@pytest.mark.parametrize(
    ("claimed", "differs", "near"),
    [
        ("HTB/Insert/iterations:100000/threads:24", ["fixture", "threads"], DEMO[:1]),
        ("Delete/iterations:100000/threads:2", ["fixture"], DEMO[1:2]),
        ("Insert/iterations:100000/threads:2", ["fixture"], DEMO[0:3:2]),
        ("ep/HashTableBench/Delete/iterations:100000/threads:2", ["fixture"], DEMO[1:2]),
        ("HashTableBench/Insert/iterations:5/threads:2", ["iterations"], DEMO[:1]),
        ("HashTableBench/Insert", ["iterations", "threads"], DEMO[:1]),
        ("Schedule/Tasks:16/threads:2", ["fixture", "template arguments", "real_time"], DEMO[3:5]),
        ("PoolFixture/Schedule/Tasks:16/real_time/threads:2", ["template arguments"], DEMO[3:5]),
        ("PoolFixture<OwnPool>/Schedule/Tasks:64/real_time/threads:2", ["arguments"], DEMO[4:5]),
        ("FlushVBucket/0/100/0", ["arguments"], DEMO[5:7]),
        ("FlushVBucket/0/1/1024", ["arguments"], DEMO[6:7]),
        ("BM_Sort<long>/64", ["template arguments"], DEMO[7:8]),
        ("BM_Sort<long>/8", ["template arguments", "arguments"], DEMO[7:8]),
        (
            "BM_Parse/8/manual_time",
            ["min_time", "min_warmup_time", "repeats", "process_time", "manual_time"],
            DEMO[8:9],
        ),
        ("find", ["fixture"], DEMO[9:10]),
        ("HTB2/Flush/8", ["fixture"], DEMO[11:]),
        ("HB/Flush/8", ["fixture"], DEMO[11:]),
    ],
)
def test_names_of_the_same_function_are_near(claimed: str, differs: list[str], near: list[str]) -> None:
    assert near_names([claimed], DEMO) == {claimed: tuple(NearName(name, tuple(differs)) for name in near)}


@pytest.mark.parametrize(
    "claimed",
    [
        "HTB/Find/iterations:100000/threads:2",  # no such function
        "SetBench/Insert/iterations:100000/threads:2",  # a fixture of its own
        "Insert/64",  # another fixture and other arguments
        "Sort<int>/64",  # of BM_Sort
        "BM_Get/uniform",  # another function
        "Bench/Flush/8",  # not the initials
        "BTH/Flush/8",
        "map",
        "64",
        "",
        "/",
        "threads:2",
        DEMO[0],
    ],
)
def test_names_of_other_functions_are_not(claimed: str) -> None:
    assert near_names([claimed], DEMO) == {claimed: ()}


def test_names_beyond_the_most_and_long_ones_are_not_looked_at() -> None:
    names = [f"BM_{number}/8" for number in range(MOST_COMPARED)]
    claims = ["BM_0/9", "BM_late/9", f"BM_{'x' * 300}/9"]
    found = near_names(claims, [*names, "BM_late/8", f"BM_{'x' * 300}/8"])
    assert [bool(found[name]) for name in claims] == [True, False, False]
    assert not any(near_names(claims[2:], [f"BM_{'x' * 300}/8"]).values())


@given(st.lists(st.text("aB/<>:1_", max_size=40), max_size=20), st.text("aB/<>:1_", max_size=40))
def test_any_names_have_at_most_two_near_ones_that_differ(compared: list[str], claimed: str) -> None:
    [near] = near_names([claimed], compared).values()
    assert len(near) <= 2
    assert {each.benchmark for each in near} <= {*compared} - {claimed}
    assert all(each.differs for each in near)


def test_only_claims_without_a_benchmark_are_explained() -> None:
    names = ("BM_a/8_mean", "BM_a/16", "BM_a/9", "BM_a/8")
    obstacles = (Obstacle.NO_BENCHMARK, "", Obstacle.OTHER_VARIANT, Obstacle.NO_BENCHMARK)
    found = [
        replace(NO_BENCHMARK, benchmark=name, obstacle=of) for name, of in zip(names, obstacles, strict=True)
    ]
    near = (NearName("BM_a/32", ("arguments",)),)
    expected = (replace(found[0], near=near), *found[1:3], replace(found[3], near=near))
    assert explained(found, lambda: ["BM_a/16", "BM_a/32"]) == expected


def test_the_names_are_asked_only_if_a_benchmark_is_missing() -> None:
    found = (CONFIRMED,)
    assert explained(found, lambda: pytest.fail("asked")) == found
