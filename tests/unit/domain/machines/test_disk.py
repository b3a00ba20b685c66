"""A machine keeps room on its disk, and evicts what it used last."""

from __future__ import annotations

import pytest

from service.domain.machines.disk import (
    DAY,
    IN_USE,
    UNUSED_KEPT,
    CachedDirectory,
    Disk,
    keeps_from_all,
    to_evict,
)

GIB = 1 << 30
NOW = 1e9


@pytest.mark.parametrize(
    ("total", "needed"),
    [(1000 * GIB, 10 * GIB), (100 * GIB, 5 * GIB), (20 * GIB, 2 * GIB), (4 << 20, 1 << 20)],
)
def test_a_build_needs_a_twentieth_of_the_disk_within_bounds(total: int, needed: int) -> None:
    assert Disk(total, needed).obstacle == ""
    assert Disk(total, needed - 1).obstacle


def test_the_obstacle_has_the_free_room_and_keeps_from_all_builds() -> None:
    obstacle = Disk(100 * GIB, 1181116006).obstacle

    assert obstacle == "its disk has 1.1 GiB free, and needs 5.0 GiB"
    assert keeps_from_all(obstacle)
    assert not keeps_from_all("other work takes 30% of its CPUs")


def test_a_program_is_stopped_later_than_builds_are_refused() -> None:
    assert not Disk(100 * GIB, GIB).is_full
    assert Disk(100 * GIB, GIB // 4).is_full


def evicted(free: int, *ages: float) -> list[float]:
    """Evict directories of 5 GiB with these ages from 100 GiB; return the ages of those that go."""
    gone: list[float] = []
    cached = [CachedDirectory(str(age), NOW - age) for age in ages]
    for each in to_evict(cached, NOW, lambda: Disk(100 * GIB, free + 5 * GIB * len(gone))):
        gone.append(float(each.path))  # noqa: PERF401 - the next one depends on it
    return gone


def test_the_least_recently_used_go_until_a_tenth_of_the_disk_is_free() -> None:
    assert evicted(2 * GIB, 3 * DAY, 5 * DAY, 4 * DAY) == [5 * DAY, 4 * DAY]


def test_what_was_not_used_for_thirty_days_goes_from_an_empty_disk_too() -> None:
    assert evicted(90 * GIB, UNUSED_KEPT + 1, UNUSED_KEPT - 1) == [UNUSED_KEPT + 1]


def test_what_a_build_may_use_stays_on_a_full_disk() -> None:
    assert evicted(0, IN_USE - 1, IN_USE + 1) == [IN_USE + 1]
