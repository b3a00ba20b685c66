from __future__ import annotations

import pytest

from service.domain.measuring.launch import Launch
from service.domain.measuring.machine_time import MachineTime
from service.domain.values.identity import Side


def launches(base: float, patch: float, pairs: int) -> list[Launch]:
    seconds = {Side.BASE: base, Side.PATCH: patch}
    return [
        Launch(pair, side, "suite", {}, {}, seconds=seconds[side]) for pair in range(pairs) for side in Side
    ]


def test_all_that_took_time_is_charged_if_both_sides_take_as_long() -> None:
    time = MachineTime.after(60.0, 25.0, launches(1.0, 1.0, 10))

    assert (time.left, time.is_overdrawn, time.is_used_up_by_patch) == (35.0, False, False)


def test_extra_time_of_the_patchs_launches_is_not_charged() -> None:
    time = MachineTime.after(60.0, 105.0, launches(1.0, 9.0, 10))

    assert time.left == 35.0


def test_a_parent_that_takes_longer_is_charged() -> None:
    assert MachineTime.after(60.0, 105.0, launches(9.0, 1.0, 10)).left == -45.0


@pytest.mark.parametrize(("base", "patch", "is_of_patch"), [(1.0, 30.0, True), (15.0, 16.0, False)])
def test_the_patch_used_it_up_if_the_parents_launches_would_have_left_some(
    base: float, patch: float, *, is_of_patch: bool
) -> None:
    time = MachineTime.after(60.0, 250.0, launches(base, patch, 8))

    assert time.is_overdrawn
    assert time.is_used_up_by_patch is is_of_patch
