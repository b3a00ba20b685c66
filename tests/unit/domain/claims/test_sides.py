"""Sides of tables, and the choice of the tables that are compared."""

from __future__ import annotations

import pytest

from service.domain.claims.find import find_claims
from service.domain.claims.values import Fault


def table(heading: str, time: int, name: str = "BM_A") -> str:
    return f"{heading}\n\nBenchmark   Time   CPU   Iterations\n{name}   {time} ns   {time} ns   7\n\n"


def compared(message: str) -> list[tuple[float | None, float | None]]:
    found = find_claims(f"Parse: avoid a copy\n\n{message}")
    assert found.refused == ()
    return [(claim.before, claim.after) for claim in found.claims if claim.metric == "real_time"]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Before:", "After:"),
        ("[BEFORE]", "[AFTER]"),
        ("**Old**", "### New"),
        ("Was", "Now"),
        ("Results without this patch:", "Results with this patch:"),
        ("Baseline (before this change)", "Striped"),
        ("Before:", "Some prose about it."),
        ("The test is constrained to this:", "By switching to an array, the test gets this:"),
        ("Bench run at current stage (regression):", "Bench run after regression fixed:"),
        ("master", "this PR"),
        ("Before the change:", "After the change, with both locks held:"),
        ("Before 1234abc:", "After commit 5678def:"),
        ("Before (release build, 8 threads):", "After (8 threads, release build):"),
        ("Old implementation:", "New hash implementation:"),
        ("Old code (123456f):", "Patched code (89abcde):"),
        ("Before the fix it reaches 150k items/s:", "After the fix it reaches 3.8M items/s:"),
        ("Old results -", "New results -"),
        ("Before (prior to PARSE-6381):", "After PARSE-6381, which avoids a copy:"),
        ("Previous version:", "New version on master:"),
    ],
)
def test_headings_name_the_sides(first: str, second: str) -> None:
    assert compared(table(first, 30) + table(second, 20)) == [(30, 20)]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Before master node failover:", "After master node failover:"),
        ("Results before eviction:", "Results after eviction:"),
        ("Before (first call):", "After (second call):"),
        ("Before (1000000 keys):", "After (2000000 keys):"),
        ("Baseline (8 threads)", "After (16 threads)"),
        ("Old version of the data:", "New version of the data:"),
        ("Before (cold cache):", "After (warm cache):"),
        ("Base class:", "Derived class:"),
    ],
)
def test_headings_that_name_more_than_the_change_are_refused(first: str, second: str) -> None:
    found = find_claims(f"Parse: avoid a copy\n\n{table(first, 30)}{table(second, 20)}")
    assert [refusal.fault for refusal in found.refused] == [Fault.OTHER_CONDITIONS]
    assert found.claims == ()


def test_new_values_may_come_first() -> None:
    assert compared(table("After", 20) + table("Before", 30)) == [(30, 20)]
    assert compared(
        table("It is fast.", 20) + table("If we compare these to the previous implementation:", 30)
    ) == [(30, 20)]
    pairs = table("New:", 1) + table("Old:", 2) + table("New:", 3) + table("Old:", 4)
    assert compared(pairs) == [(2, 1), (4, 3)]


def test_each_pair_of_tables_is_compared_on_its_own() -> None:
    pairs = table("Before:", 1) + table("After:", 2) + table("Before:", 3) + table("After:", 4)
    assert compared(pairs) == [(1, 2), (3, 4)]


def test_several_variants_are_compared_with_one_baseline() -> None:
    found = find_claims("\n\n" + table("Baseline", 30) + table("Per core", 20) + table("Per cache", 25))
    assert [
        (claim.table, claim.after, claim.after_label) for claim in found.claims if claim.metric == "cpu_time"
    ] == [
        (1, 20, "Per core"),
        (2, 25, "Per cache"),
    ]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("a) MacBook:", "b) Server:"),
        # The change removes the tasks, so that "without" is the new side: the words do not tell.
        ("With extra tasks", "Without extra tasks"),
        ("Before and after:", "The other machine:"),
        ("On the old machine:", "On the new machine:"),
        ("On the main server:", "On a laptop:"),
        ("Fixed size, optimized:", "Improved and fixed:"),
        ("Measured on a laptop.", "After:"),
        ("Before:", "With clang 19:"),
        ("Baseline:", "With PGO:"),
        ("After:", "With a larger cache:"),
        ("Faster than before:", "Slower than before:"),
        ("Same as before:", "Compared with the new one:"),
        ("Something:", "By measuring again:"),
        ("8 threads:", "And this is now with 16 threads:"),
    ],
)
def test_two_tables_whose_sides_nothing_names_claim_nothing(first: str, second: str) -> None:
    assert compared(table(first, 30) + table(second, 20)) == []


def test_a_third_table_is_no_variant_beside_an_after() -> None:
    assert compared(table("Before:", 30) + table("After:", 20) + table("With a cache too:", 10)) == [(30, 20)]


def test_the_subject_introduces_no_table() -> None:
    found = find_claims(f"Parse faster than before\nBM_A   30 ns   30 ns   7\n\n{table('After:', 20)}")
    assert [table.heading for table in found.tables] == [None, "After:"]


def test_the_columns_of_a_table_with_both_sides_are_not_compared_with_other_tables() -> None:
    drawn = "Benchmark  baseline  contender\nBM_A  30 ns  20 ns\n\n"
    assert compared(table("Some prose.", 25) + drawn + table("After:", 22)) == [(30, 20), (25, 22)]


@pytest.mark.parametrize(
    "text",
    [
        "Compared to the previous revision:",
        "Fast path vs. parent commit:",
        "Here is the old parser versus the new one:",
        "Old is master, new is with the cache:",
        "It is more than 10 % faster than before:",
        "The cache is now better than the map.\nOn a server:\nold code, new code:",
        "Master vs. PR (neither with a cache):",
    ],
)
def test_a_text_may_compare_with_the_code_before_the_change(text: str) -> None:
    drawn = "Benchmark  baseline  contender\nBM_A  30 ns  20 ns\n"
    assert compared(f"{text}\n{drawn}") == [(30, 20)]


def test_a_text_counts_for_all_tables_below_it() -> None:
    drawn = "Benchmark  baseline  contender\n{}  30 ns  20 ns\n\n"
    tables = drawn.format("BM_A") + drawn.format("BM_B")
    found = find_claims(f"Parse: avoid a copy\n\nThe map vs. the vector:\n\n{tables}")
    assert [refusal.fault for refusal in found.refused] == [Fault.OTHER_BASE, Fault.OTHER_BASE]
    assert found.claims == ()


def test_both_sides_may_be_printed_once_for_each_machine() -> None:
    drawn = "Benchmark  baseline  contender\nBM_A  {} ns  {} ns\n"
    first, second = drawn.format(30, 20), drawn.format(60, 50)
    assert compared(f"First machine:\n{first}\nSecond machine:\n{second}") == [(30, 20), (60, 50)]


@pytest.mark.parametrize(
    "body",
    [
        "* Avoid a copy.\n\n{}\n* Fix a typo",
        "{}\n* Avoid a copy\n\n* Be faster",
        "* Use a pool\n\n{}",
        "* Use a pool\n  for nodes\n* Use a map\n\n{}",
    ],
)
def test_squashed_commits_may_show_the_whole_change(body: str) -> None:
    drawn = "Benchmark  baseline  contender\nBM_A  30 ns  20 ns\n"
    assert compared(f"Avoid a copy (#12)\n\n{body.format(drawn)}") == [(30, 20)]


def test_no_side_is_guessed_beside_a_table_that_is_refused() -> None:
    damaged = table("Before:", 30).replace("30 ns   7", "30 us   7")
    found = find_claims(damaged + table("Some prose.", 25) + table("After:", 22))
    assert (len(found.refused), found.claims) == (1, ())


def test_tables_of_other_benchmarks_claim_nothing() -> None:
    assert compared(table("Before:", 30) + table("After:", 20, "BM_B")) == []


def test_of_repetitions_only_the_aggregates_are_compared() -> None:
    rows = [("BM_A", 9), ("BM_A", 7), ("BM_A_mean", 8), ("BM_A_median", 8), ("BM_A_stddev", 1)]
    side = "\n".join(f"{name}   {time} ns   {time} ns   5" for name, time in rows)
    found = find_claims(f"Before:\n{side}\n\nAfter:\n{side}")
    assert found.refused == ()
    assert {claim.benchmark for claim in found.claims} == {"BM_A_mean", "BM_A_median"}
