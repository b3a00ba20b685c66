"""The contract of reading patch sets side by side; the tests of an adapter inherit it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

import pytest

from service.domain.errors import NotFound

if TYPE_CHECKING:
    from service.ports.reading import Reading

CHANGE: Final = 7
PARENT, OTHER_PARENT = "a" * 40, "b" * 40


class ReviewSite(Protocol):
    """A store with the change ``CHANGE``, to which a test adds rounds of builds."""

    @property
    def reading(self) -> Reading: ...

    def measure(self, patch_set: int, *benchmarks: str, parent: str = PARENT, is_check: bool = True) -> None:
        """One more round on a patch set, which is added where it is new; its build compares benchmarks."""


class MeasuredPatchSetsContract:
    """Inherit, and define a fixture ``stage``."""

    def numbers(self, stage: ReviewSite, limit: int = 9, before: int | None = None) -> tuple[list[int], int]:
        found = stage.reading.measured_patch_sets(CHANGE, limit, before)
        return [each.number for each in found.patch_sets], found.older

    def test_patch_sets_come_newest_first_with_their_own_parent(self, stage: ReviewSite) -> None:
        stage.measure(1, "BM_b", "BM_a")
        stage.measure(2, "BM_b", parent=OTHER_PARENT)
        newer, older = stage.reading.measured_patch_sets(CHANGE, 9).patch_sets
        assert (newer.number, newer.parent, older.number, older.parent) == (2, OTHER_PARENT, 1, PARENT)
        assert [[row.benchmark for row in build.comparisons] for build in older.builds] == [["BM_b", "BM_a"]]
        assert newer.builds[0].number != older.builds[0].number
        assert newer.run_id > older.run_id

    def test_a_comparison_is_the_one_that_its_build_shows(self, stage: ReviewSite) -> None:
        stage.measure(1, "BM_a")
        (measured,) = stage.reading.measured_patch_sets(CHANGE, 9).patch_sets
        (shown,) = stage.reading.patch_set(CHANGE, 1).builds
        assert (measured.builds[0].job, measured.builds[0].number) == (shown.job, shown.number)
        assert list(measured.builds[0].comparisons) == list(
            stage.reading.comparisons(shown.id, shown.created_at)
        )

    def test_older_ones_are_counted_and_read_on_from(self, stage: ReviewSite) -> None:
        for number in range(1, 6):
            stage.measure(number, "BM_a")
        assert self.numbers(stage, 2) == ([5, 4], 3)
        assert self.numbers(stage, 2, before=4) == ([3, 2], 1)
        assert self.numbers(stage, 2, before=2) == ([1], 0)
        assert self.numbers(stage, 2, before=1 << 70) == ([5, 4], 3)

    def test_a_patch_set_without_comparisons_is_left_out(self, stage: ReviewSite) -> None:
        stage.measure(1, "BM_a")
        stage.measure(2)
        assert self.numbers(stage) == ([1], 0)

    def test_a_newer_round_hides_the_older_only_once_it_has_comparisons(self, stage: ReviewSite) -> None:
        stage.measure(1, "BM_old")
        stage.measure(1)
        (found,) = stage.reading.measured_patch_sets(CHANGE, 9).patch_sets
        assert [row.benchmark for row in found.builds[0].comparisons] == ["BM_old"]
        stage.measure(1, "BM_new")
        (found,) = stage.reading.measured_patch_sets(CHANGE, 9).patch_sets
        assert [row.benchmark for row in found.builds[0].comparisons] == ["BM_new"]

    def test_what_is_measured_after_the_merge_is_left_out(self, stage: ReviewSite) -> None:
        stage.measure(1, "BM_a", is_check=False)
        assert self.numbers(stage) == ([], 0)

    def test_a_change_that_does_not_exist_is_not_found(self, stage: ReviewSite) -> None:
        stage.measure(1, "BM_a")
        for number in (CHANGE + 1, 1 << 40):
            with pytest.raises(NotFound):
                stage.reading.measured_patch_sets(number, 9)
