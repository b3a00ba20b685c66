from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from dashboards.verdict.comparison_table import (
    ComparisonTable,
    RowFilter,
    filter_named,
    lay_out,
    search_for,
    sign_of,
    word_of,
    worst_of,
)
from dashboards.verdict.interval_bar import WIDTH, Bar, Mark
from service.domain.measuring.metric import Better
from service.domain.values.search import parse_words
from service.domain.verdict.inference.verdict import Verdict
from tests.support.reading.views import build_view, comparison

if TYPE_CHECKING:
    from service.ports.verdict import Comparison

ROWS = [
    comparison(1, "BM_Same/1", 1.001, Verdict.SAME),
    comparison(2, "BM_Faster/1", 1.2, Verdict.FASTER),
    comparison(3, "BM_Slower/1", 0.95, Verdict.SLOWER),
    comparison(4, "BM_Slower/2", 0.80, Verdict.SLOWER),
    comparison(5, "BM_New/1", None, Verdict.NEW),
    comparison(6, "BM_Open/1", 0.99, Verdict.UNDECIDED),
    comparison(7, "BM_Broken/1", None, Verdict.BROKEN, reason="boom"),
]
ALL_WORDS = parse_words("")
BUILD, OTHER = build_view(1, 1), build_view(2, 2)


def names(show: str, words: str = "") -> list[str]:
    return [row.benchmark for row in lay_out(ROWS, filter_named(show), parse_words(words), 0.01).rows]


def table_of(*rows: Comparison) -> ComparisonTable:
    return lay_out(rows, RowFilter.ALL, ALL_WORDS, 0.01)


def bar_of(row: Comparison) -> Bar:
    bar = table_of(row).bar(row)
    assert bar is not None
    return bar


def test_by_default_changed_and_undecided_rows_are_shown_the_worst_first() -> None:
    assert names("significant") == [
        *("BM_Broken/1", "BM_Slower/2", "BM_Slower/1"),
        *("BM_Open/1", "BM_Faster/1", "BM_New/1"),
    ]


def test_hidden_rows_are_counted() -> None:
    table = lay_out(ROWS, RowFilter.SIGNIFICANT, ALL_WORDS, 0.01)
    assert table.hidden == 1
    assert table.counts == {"broken": 1, "slower": 2, "undecided": 1, "faster": 1, "new": 1, "same": 1}


def test_one_verdict_alone_can_be_shown() -> None:
    assert names("same") == ["BM_Same/1"]


def test_other_metrics_get_worse_and_their_sign_shows_the_direction() -> None:
    heap = comparison(8, "BM_Heap", 1.172, Verdict.SLOWER, metric="max_bytes_used", unit="B")
    table = table_of(heap)
    assert (sign_of(heap.verdict, heap, heap.metric), word_of(heap.verdict, heap.metric)) == ("▲", "worse")
    assert (bar_of(heap).mark, table.words[Verdict.SLOWER]) == (Mark.UP, "worse")
    assert table_of(heap, ROWS[2]).words[Verdict.SLOWER] == "slower or worse"
    assert table_of(ROWS[2]).words[Verdict.SLOWER] == "slower"
    assert sign_of(ROWS[2].verdict, ROWS[2], ROWS[2].metric) == "▼"


def test_an_unknown_filter_shows_what_matters() -> None:
    assert names("';--") == names("significant")


def test_words_narrow_and_a_minus_excludes() -> None:
    assert names("all", "bm_slower -/1") == ["BM_Slower/2"]


def test_no_change_is_drawn_in_the_middle_and_the_floor_around_it() -> None:
    row = comparison(1, "BM", 1.0, Verdict.SAME)
    table, bar = table_of(row), bar_of(row)
    assert bar.centre == WIDTH / 2
    assert table.place(-0.01) < bar.left < bar.centre < bar.right < table.place(0.01)


def test_an_interval_beyond_the_scale_is_cut_and_marked() -> None:
    bar = bar_of(comparison(1, "BM", 53.0, Verdict.FASTER))
    assert (bar.is_cut_right, bar.is_centre_cut, bar.is_cut_left) == (True, True, False)
    assert bar.right == WIDTH


def test_one_huge_effect_leaves_the_others_readable() -> None:
    small = [comparison(k, f"BM/{k}", 1.02, Verdict.FASTER) for k in range(8)]
    assert table_of(*small, comparison(99, "BM/99", 53.0, Verdict.FASTER)).scale < 0.05


def test_unchanged_rows_do_not_set_the_scale() -> None:
    same = [comparison(k, f"BM_same/{k}", 1.0, Verdict.SAME) for k in range(460)]
    slower = [comparison(1000 + k, f"BM_slower/{k}", 0.9 - 0.01 * k, Verdict.SLOWER) for k in range(9)]
    wide = [
        comparison(2000 + k, f"BM_open/{k}", 1.4, Verdict.UNDECIDED, low=0.96, high=1.9) for k in range(31)
    ]
    table = table_of(*same, *slower, *wide)
    bars = [bar for row in slower if (bar := table.bar(row))]
    assert len(bars) == 9
    assert not any(bar.is_centre_cut for bar in bars)


def test_if_no_row_is_slower_or_faster_all_rows_set_the_scale() -> None:
    table = table_of(*(comparison(k, f"BM_{k}", 1.4, Verdict.UNDECIDED, low=0.9, high=1.5) for k in range(4)))
    assert table.scale > 0.5


def test_a_row_without_a_ratio_has_no_bar() -> None:
    table = lay_out(ROWS, Verdict.BROKEN, ALL_WORDS, 0.01)
    assert table.bar(table.rows[0]) is None


@pytest.mark.parametrize("verdict", Verdict)
def test_every_verdict_has_a_sign_and_a_mark(verdict: Verdict) -> None:
    assert sign_of(verdict)
    assert bar_of(comparison(1, "BM", 1.1, verdict)).mark in Mark


def test_an_interval_is_written_as_its_ratio_is() -> None:
    """Also one that reaches below twofold: "×2.42 [+35.2, +164.0]" reads as two different things."""
    row = comparison(1, "BM_a", 2.42, Verdict.FASTER, low=1.352, high=2.64)
    assert row.interval_text == "[×1.35, ×2.64]"


def test_an_explanation_that_rows_share_is_one_footnote() -> None:
    first = comparison(1, "BM_a", 0.9, Verdict.SLOWER, explained=("it was linked again",))
    second = comparison(2, "BM_b", 1.0, Verdict.UNDECIDED, explained=("pairs vary", "it was linked again"))
    table = table_of(first, second, comparison(3, "BM_c", 1.0, Verdict.SAME))
    assert table.footnotes == ("it was linked again", "pairs vary")
    assert [table.marks(row) for row in table.rows] == ["1", "2 1", ""]


def test_rows_are_ordered_by_a_column_and_those_without_a_value_come_last() -> None:
    rows = [
        comparison(1, "BM_b", 0.9, Verdict.SLOWER),
        comparison(2, "BM_a", None, Verdict.BROKEN),
        comparison(3, "BM_c", 1.2, Verdict.FASTER),
        comparison(4, "BM_d", math.nan, Verdict.SAME),
    ]

    def ordered(sort: str) -> list[str]:
        table = lay_out(rows, RowFilter.ALL, ALL_WORDS, 0.01, sort)
        return [row.benchmark.removeprefix("BM_") for row in table.rows]

    assert ordered("change") == ["b", "c", "a", "d"]
    assert ordered("-change") == ["c", "b", "a", "d"]
    assert ordered("-benchmark") == ["d", "c", "b", "a"]
    assert ordered("") == ordered("no such column") == ["a", "b", "c", "d"]


def test_values_of_one_unit_stay_together_in_the_order() -> None:
    rows = [
        replace(comparison(k, f"BM_{k}", 0.9, Verdict.SLOWER), unit=unit, base=base)
        for k, (unit, base) in enumerate([("s", 2.0), ("B", 9.0), ("s", 1.0), ("B", 5.0)])
    ]
    table = lay_out(rows, RowFilter.ALL, ALL_WORDS, 0.01, "base")
    assert [row.series_id for row in table.rows] == [3, 1, 2, 0]
    assert table.sort == "base"


def test_the_order_of_changes_begins_with_what_got_worse_most() -> None:
    """Bytes and times get worse by growing."""
    rows = [
        comparison(1, "BM_faster", 1.3, Verdict.FASTER),
        comparison(2, "BM_slower", 0.9, Verdict.SLOWER),
        replace(comparison(3, "BM_heap", 1.5, Verdict.SLOWER, metric="max_bytes_used"), better=Better.LOWER),
        replace(comparison(4, "BM_hits", 0.8, Verdict.SLOWER, metric="hits"), better=Better.HIGHER),
        replace(comparison(5, "BM_time", 1.05, Verdict.SLOWER, metric="cpu_time"), better=Better.LOWER),
    ]
    table = lay_out(rows, RowFilter.ALL, ALL_WORDS, 0.01, "change")
    assert [row.series_id for row in table.rows] == [3, 4, 2, 5, 1]


class TestWorst:
    @pytest.mark.parametrize("verdict", Verdict)
    def test_what_is_worse_or_unknown_is_among_them(self, verdict: Verdict) -> None:
        good = {Verdict.FASTER, Verdict.NEW, Verdict.SAME}
        shown, _ = worst_of([(BUILD, "", [comparison(1, "BM_a", 0.9, verdict)])])
        assert bool(shown) is (verdict not in good)

    def test_they_are_three_of_all_builds_and_the_others_are_counted(self) -> None:
        shown, more = worst_of([(BUILD, "", ROWS[:4]), (OTHER, "", ROWS[4:])])
        assert [(build, row.series_id) for build, row in shown] == [(OTHER, 7), (BUILD, 4), (BUILD, 3)]
        assert more == 1

    def test_what_does_not_count_is_left_out(self) -> None:
        waiting = replace(ROWS[3], not_counted="waits for a calibration")
        assert worst_of([(BUILD, "waived by Dana", ROWS), (OTHER, "", [waiting])]) == ([], 0)


@pytest.mark.parametrize(
    ("name", "search"),
    [("BM_a/threads:4", "BM_a/threads:4"), ("BM_a -fast", ""), ("-fast", ""), ("x" * 300, "x" * 200)],
)
def test_a_search_finds_the_benchmark(name: str, search: str) -> None:
    assert search_for(name) == search
    assert parse_words(search_for(name)).matches(name)
