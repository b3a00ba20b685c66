from __future__ import annotations

from dataclasses import replace

import pytest

from dashboards.across import MOST_ROWS, Across, lay_across
from service.domain.search import parse_words
from service.ports.views import ComparisonView, MeasuredBuild, MeasuredPatchSet, MeasuredPatchSets
from tests.support.fake_reading import comparison

SAME = comparison(1, "BM_Same", 1.001, "same")
FASTER = comparison(2, "BM_Faster", 1.2, "faster")
SLOWER = comparison(3, "BM_Slower", 0.9, "slower")
SLOWEST = comparison(4, "BM_Slowest", 0.7, "slower")
BROKEN = comparison(5, "BM_Broken", None, "broken", reason="boom\u202e")


def patch_set(
    number: int, *rows: ComparisonView, parent: str = "a" * 40, tree: str = "t"
) -> MeasuredPatchSet:
    build = MeasuredBuild("perf", number, rows)
    return MeasuredPatchSet(number, f"{number}" * 40, number, parent, tree, (build,))


def across(*newest_first: MeasuredPatchSet, words: str = "", older: int = 0) -> Across:
    laid = lay_across(MeasuredPatchSets(newest_first, older), parse_words(words))
    assert laid is not None
    return laid


@pytest.mark.parametrize("patch_sets", [(), (patch_set(1, SAME),)])
def test_one_patch_set_alone_is_beside_nothing(patch_sets: tuple[MeasuredPatchSet, ...]) -> None:
    assert lay_across(MeasuredPatchSets(patch_sets, 0), parse_words("")) is None


def test_the_newest_patch_set_is_at_the_right() -> None:
    table = across(patch_set(3, SAME), patch_set(1, replace(SAME, verdict="slower", ratio=0.9)), older=2)
    assert [(column.number, column.revision) for column in table.columns] == [(1, "1" * 10), (3, "3" * 10)]
    assert [cell and cell.verdict for cell in table.rows[0].cells] == ["slower", "same"]
    assert table.older == 2


def test_rows_are_ordered_worst_first_by_the_newest_patch_set_and_what_it_lacks_comes_last() -> None:
    older = patch_set(1, replace(SAME, verdict="slower", ratio=0.1), comparison(9, "BM_Gone", 0.5, "slower"))
    newer = patch_set(2, SAME, FASTER, SLOWER, SLOWEST, BROKEN)
    names = [row.name for row in across(newer, older).rows]
    assert names == ["BM_Broken", "BM_Slowest", "BM_Slower", "BM_Faster", "BM_Same", "BM_Gone"]


def test_a_cell_says_change_verdict_and_interval_as_the_comparison_table_does() -> None:
    cell = across(patch_set(2, SLOWER), patch_set(1, SLOWER)).rows[0].cells[0]
    assert cell is not None
    assert (cell.sign, cell.verdict, cell.change, cell.interval) == (
        "▼",
        "slower",
        "−10.0 %",
        "[−10.5, −9.5]",
    )
    assert cell.details == "14.5 M/s → 13.1 M/s, 24 pairs"


def test_a_cell_without_a_ratio_tells_the_reason() -> None:
    newest, missing = across(patch_set(2, SAME), patch_set(1, BROKEN)).rows[1].cells[::-1]
    assert newest is None
    assert missing is not None
    assert (missing.change, missing.interval, missing.details) == ("", "", "boom")


def test_the_parent_is_that_of_the_newest_patch_set_with_a_value() -> None:
    third = replace(SAME, base=None, ratio=None, verdict="removed")
    table = across(patch_set(3, third), patch_set(2, replace(SAME, base=3e6)), patch_set(1, SAME))
    assert table.rows[0].parent == "3 M/s"


def test_the_same_name_in_another_job_suite_or_metric_is_another_row() -> None:
    others = (SAME, replace(SAME, suite="other"), replace(SAME, metric="bytes", unit="B"))
    newer = replace(
        patch_set(2, *others), builds=(MeasuredBuild("perf", 2, others), MeasuredBuild("docs", 1, (SAME,)))
    )
    rows = across(newer, patch_set(1, *others)).rows
    assert len(rows) == 4
    assert [row.facts.rpartition(" · ")[2] for row in rows if row.cells[0] is None] == ["docs"]


def test_the_parents_are_one_where_their_trees_are() -> None:
    amended = across(patch_set(2, SAME, parent="b" * 40), patch_set(1, SAME))
    rebased = across(patch_set(2, SAME, parent="b" * 40, tree="u"), patch_set(1, SAME))
    assert (amended.has_one_parent, rebased.has_one_parent) == (True, False)
    assert [column.parent for column in rebased.columns] == ["a" * 10, "b" * 10]


def test_words_narrow_by_benchmark_metric_and_suite() -> None:
    table = across(patch_set(2, SAME, FASTER), patch_set(1, SLOWER), words="bm_ -faster")
    assert [row.name for row in table.rows] == ["BM_Same", "BM_Slower"]
    assert across(patch_set(2, SAME), patch_set(1, SAME), words="perf").rows == ()


def test_more_rows_than_anyone_reads_are_counted() -> None:
    rows = [comparison(k, f"BM/{k}", 1.0, "same") for k in range(MOST_ROWS + 7)]
    table = across(patch_set(2, *rows), patch_set(1, *rows))
    assert (len(table.rows), table.hidden) == (MOST_ROWS, 7)
