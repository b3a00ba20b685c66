"""Claims that are worth storing, and messages that take a change back."""

from __future__ import annotations

from collections import Counter

import pytest

from service.domain.claims.find import claims_to_keep, find_claims
from service.domain.claims.values import Fault

TITLES = "Benchmark            Time           CPU Iterations\n"


def message(benchmarks: int, subject: str = "Speed up", body: str = "", tables: int = 1) -> str:
    """Write a table before and some after a change."""
    headings = ["Before:", *(["After:"] if tables == 1 else [f"Variant {k}:" for k in range(tables)])]
    text = f"{subject}\n\n{body}\n"
    for at, heading in enumerate(headings):
        rows = (f"BM/{k}   {1000 - 100 * at} ns   {1000 - 100 * at} ns   10000\n" for k in range(benchmarks))
        text += f"\n{heading}\n\n{TITLES}{''.join(rows)}"
    return text


@pytest.mark.parametrize(
    ("subject", "body"),
    [
        ('Revert "Speed up"', ""),
        ('[cache] Revert "Speed up"', ""),
        ("revert: speed up", ""),
        ("Back out the pool", ""),
        ("Undo the pool", "This reverts commit 0123456789abcdef."),
    ],
)
def test_a_change_that_is_taken_back_claims_nothing(subject: str, body: str) -> None:
    found = find_claims(message(1, subject, body))
    assert (found.claims, [each.fault for each in found.refused]) == ((), [Fault.REVERTED])


def test_a_word_of_the_body_takes_nothing_back() -> None:
    assert find_claims(message(1, body="Otherwise we would revert to the old table.")).claims


def test_whole_benchmarks_are_kept() -> None:
    kept = claims_to_keep(message(150))
    assert len(kept) == 200
    assert {each.benchmark for each in kept} == {f"BM/{k}" for k in range(100)}
    variants = Counter(each.benchmark for each in claims_to_keep(message(60, tables=2)))
    assert (len(variants), set(variants.values())) == (50, {4})


def test_what_tells_tables_apart_is_not_kept() -> None:
    kept = claims_to_keep(message(2, tables=2))
    assert {(each.before_label, each.after_label, each.table) for each in kept} == {("", "", None)}
