from __future__ import annotations

from dataclasses import replace

import pytest

from dashboards.formatting import details
from dashboards.review.patch_set_table import MOST_ROWS, PatchSetTable, lay_out
from service.domain.values.search import parse_words
from service.domain.verdict.inference.verdict import Verdict
from service.ports.verdict import Comparison, MeasuredBuild, MeasuredPatchSet, MeasuredPatchSets
from tests.support.reading.views import comparison

SAME = comparison(1, "BM_Same", 1.001, Verdict.SAME)
FASTER = comparison(2, "BM_Faster", 1.2, Verdict.FASTER)
SLOWER = comparison(3, "BM_Slower", 0.9, Verdict.SLOWER)
SLOWEST = comparison(4, "BM_Slowest", 0.7, Verdict.SLOWER)
BROKEN = comparison(5, "BM_Broken", None, Verdict.BROKEN, reason="boom\u202e")


def patch_set(number: int, *rows: Comparison, parent: str = "a" * 40, tree: str = "t") -> MeasuredPatchSet:
    build = MeasuredBuild("perf", number, rows)
    return MeasuredPatchSet(number, f"{number}" * 40, number, parent, tree, (build,))


def side_by_side(*newest_first: MeasuredPatchSet, words: str = "", older: int = 0) -> PatchSetTable:
    laid = lay_out(MeasuredPatchSets(newest_first, older), parse_words(words))
    assert laid is not None
    return laid


@pytest.mark.parametrize("patch_sets", [(), (patch_set(1, SAME),)])
def test_one_patch_set_alone_has_no_table(patch_sets: tuple[MeasuredPatchSet, ...]) -> None:
    assert lay_out(MeasuredPatchSets(patch_sets, 0), parse_words("")) is None


def test_the_newest_patch_set_comes_first() -> None:
    table = side_by_side(
        patch_set(3, SAME), patch_set(1, replace(SAME, verdict=Verdict.SLOWER, ratio=0.9)), older=2
    )
    assert [column.number for column in table.columns] == [3, 1]
    assert [cell and cell.verdict for cell in table.rows[0].cells] == ["same", "slower"]
    assert table.older == 2


def test_rows_are_sorted_worst_first_by_the_newest_patch_set() -> None:
    older = patch_set(
        1, replace(SAME, verdict=Verdict.SLOWER, ratio=0.1), comparison(9, "BM_Gone", 0.5, Verdict.SLOWER)
    )
    newer = patch_set(2, SAME, FASTER, SLOWER, SLOWEST, BROKEN)
    names = [row.newest.benchmark for row in side_by_side(newer, older).rows]
    assert names == ["BM_Broken", "BM_Slowest", "BM_Slower", "BM_Faster", "BM_Same", "BM_Gone"]


def test_a_cell_without_a_ratio_has_its_reason() -> None:
    newest, missing = side_by_side(patch_set(2, SAME), patch_set(1, BROKEN)).rows[1].cells
    assert newest is None
    assert missing is not None
    assert (missing.change_text, missing.interval_text, details(missing)) == ("", "", "boom")


def test_the_parent_is_that_of_the_newest_patch_set_with_a_value() -> None:
    third = replace(SAME, base=None, ratio=None, verdict=Verdict.REMOVED)
    table = side_by_side(patch_set(3, third), patch_set(2, replace(SAME, base=3e6)), patch_set(1, SAME))
    assert (table.rows[0].newest, table.rows[0].newest_with_base.base) == (third, 3e6)


def test_the_same_name_in_another_job_suite_or_metric_is_another_row() -> None:
    others = (SAME, replace(SAME, suite="other"), replace(SAME, metric="bytes", unit="B"))
    newer = replace(
        patch_set(2, *others), builds=(MeasuredBuild("perf", 2, others), MeasuredBuild("docs", 1, (SAME,)))
    )
    rows = side_by_side(newer, patch_set(1, *others)).rows
    assert len(rows) == 4
    assert [row.job for row in rows if row.cells[1] is None] == ["docs"]


def test_parents_with_equal_trees_are_one_parent() -> None:
    amended = side_by_side(patch_set(2, SAME, parent="b" * 40), patch_set(1, SAME))
    rebased = side_by_side(patch_set(2, SAME, parent="b" * 40, tree="u"), patch_set(1, SAME))
    assert (amended.has_one_parent, rebased.has_one_parent) == (True, False)
    assert [column.parent for column in rebased.columns] == ["b" * 40, "a" * 40]


def test_one_parent_is_shared_although_its_tree_is_known_of_one_patch_set_only() -> None:
    older = replace(patch_set(1, SAME), parent_tree=None)
    assert side_by_side(patch_set(2, SAME), older).has_one_parent
    assert not older.has_base_of(replace(older, parent=None))
    assert not replace(older, parent=None).has_base_of(replace(older, parent=None))


def test_words_narrow_by_benchmark_metric_and_suite() -> None:
    table = side_by_side(patch_set(2, SAME, FASTER), patch_set(1, SLOWER), words="bm_ -faster")
    assert [row.newest.benchmark for row in table.rows] == ["BM_Same", "BM_Slower"]
    assert side_by_side(patch_set(2, SAME), patch_set(1, SAME), words="perf").rows == ()


def test_rows_beyond_the_limit_are_counted() -> None:
    rows = [comparison(k, f"BM/{k}", 1.0, Verdict.SAME) for k in range(MOST_ROWS + 7)]
    table = side_by_side(patch_set(2, *rows), patch_set(1, *rows))
    assert (len(table.rows), table.hidden) == (MOST_ROWS, 7)
