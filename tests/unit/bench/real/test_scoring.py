"""Score verdicts on a change of known effect."""

from __future__ import annotations

import re
from typing import Any

import pytest

from bench.real.projects import Change, Edit
from bench.real.scoring import Score, score

EDIT = (Edit(file="a.cc", insert="", replace="x"),)
NOTHING = Change(name="a comment", percent=0, edit=EDIT)
SLOWER = Change(
    name="more work",
    percent=5,
    edit=EDIT,
    benchmarks=re.compile("^Hash/"),
    partly=re.compile("^Both"),
)


def row(name: str, verdict: str, ratio: float | None = 1.05, spread: float | None = 0.02) -> dict[str, Any]:
    return {
        "name": name,
        "metric": "cpu_time",
        "verdict": verdict,
        "ratio": ratio,
        "better": "lower",
        "pairs": 12,
        "spread": spread,
    }


def scored(change: Change, *rows: dict[str, Any]) -> Score:
    return score(change, {"benchmarks": list(rows), "jobs": []})


def test_a_slow_down_counts_as_found_where_it_was_planted() -> None:
    found = scored(
        SLOWER,
        row("Hash/1", "slower"),
        row("Hash/2", "undecided"),
        row("Both", "slower"),
        row("Sort", "same"),
    )

    assert found.found == (1, 2)
    assert [each.name for each in found.others] == ["Sort"]
    assert found.false == ()


def test_a_benchmark_counts_as_steady_if_its_pairs_spread_by_five_percent_or_less() -> None:
    found = scored(
        SLOWER,
        row("Hash/1", "slower", spread=0.05),
        row("Hash/2", "slower", spread=0.051),
        row("Hash/3", "undecided", spread=None),
    )

    assert found.found == (2, 3)
    assert found.found_steady == (1, 1)


@pytest.mark.parametrize("verdict", ["slower", "faster", "broken", "removed", "new"])
def test_a_verdict_on_what_did_not_change_is_false(verdict: str) -> None:
    assert [each.name for each in scored(NOTHING, row("Hash/1", verdict)).false] == ["Hash/1"]
    assert [each.name for each in scored(SLOWER, row("Sort", verdict)).false] == ["Sort"]


@pytest.mark.parametrize("verdict", ["same", "undecided", "failing"])
def test_other_verdicts_on_what_did_not_change_are_not_false(verdict: str) -> None:
    assert scored(NOTHING, row("Hash/1", verdict)).false == ()


@pytest.mark.parametrize("verdict", ["same", "faster", "broken", "removed", "new"])
def test_calling_a_planted_slow_down_something_else_is_a_false_verdict(verdict: str) -> None:
    assert [each.name for each in scored(SLOWER, row("Hash/1", verdict)).false] == ["Hash/1"]


@pytest.mark.parametrize("verdict", ["slower", "undecided", "failing"])
def test_not_denying_a_planted_slow_down_is_no_false_verdict(verdict: str) -> None:
    assert scored(SLOWER, row("Hash/1", verdict)).false == ()


@pytest.mark.parametrize(("verdict", "is_false"), [("slower", False), ("same", False), ("faster", True)])
def test_a_slow_down_of_unknown_size_makes_nothing_faster(verdict: str, *, is_false: bool) -> None:
    assert bool(scored(SLOWER, row("Both", verdict)).false) is is_false


def test_a_benchmark_with_two_clocks_counts_once() -> None:
    real = {**row("Hash/1", "undecided", 1.08, spread=0.3), "metric": "real_time"}
    found = scored(SLOWER, row("Hash/1", "slower", spread=0.02), real, {**row("Sort", "same"), "suite": "a"})

    assert found.found == found.found_steady == (1, 1)
    assert found.slowing == pytest.approx(0.05)
    assert len(found.others) == 1


def test_a_false_verdict_by_one_of_two_clocks_counts() -> None:
    real = {"metric": "real_time"}
    of_affected = scored(SLOWER, row("Hash/1", "slower"), row("Hash/1", "same") | real)
    of_other = scored(SLOWER, row("Sort", "same"), row("Sort", "slower") | real)

    assert (of_affected.found, len(of_affected.false)) == ((0, 1), 1)
    assert [each.verdict for each in of_other.false] == ["slower"]


def test_benchmarks_of_the_same_name_in_two_suites_are_two() -> None:
    found = scored(SLOWER, {**row("Hash/1", "slower"), "suite": "a"}, {**row("Hash/1", "same"), "suite": "b"})

    assert (found.found, len(found.false)) == ((1, 2), 1)


def test_a_false_verdict_on_bytes_of_what_did_not_change_counts() -> None:
    found = scored(SLOWER, row("Sort", "same"), {**row("Sort", "slower"), "metric": "max_bytes_used"})

    assert [each.verdict for each in found.false] == ["slower"]


def test_only_times_and_rates_are_slowed_down() -> None:
    found = scored(SLOWER, row("Hash/1", "slower"), {**row("Hash/1", "same"), "metric": "max_bytes_used"})

    assert (found.found, found.false) == ((1, 1), ())


def test_the_measured_slow_down_is_the_median_in_terms_of_time() -> None:
    rate = {**row("Hash/3", "slower", 1 / 1.10), "better": "higher"}
    found = scored(SLOWER, row("Hash/1", "slower", 1.04), row("Hash/2", "slower", 1.06), rate)

    assert found.slowing == pytest.approx(0.06)
    assert scored(NOTHING, row("Hash/1", "same")).slowing is None


def test_scores_of_several_changes_add_up() -> None:
    whole = scored(SLOWER, row("Hash/1", "slower")) + scored(SLOWER, row("Hash/1", "same"))

    assert whole.found == (1, 2)
    assert len(whole.false) == 1
