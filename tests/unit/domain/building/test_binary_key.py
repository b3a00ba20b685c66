from __future__ import annotations

from dataclasses import fields, replace

import pytest

from service.domain.building.spec import BinaryKey

KEY = BinaryKey("tree", "build", "gcc 14")


@pytest.mark.parametrize("name", [each.name for each in fields(BinaryKey)])
def test_every_part_makes_another_binary(name: str) -> None:
    assert replace(KEY, **{name: "other"}).digest != KEY.digest


def test_binaries_of_unreviewed_code_are_never_taken_for_a_parent() -> None:
    assert replace(KEY, trust="unreviewed").digest != KEY.digest


def test_each_relink_has_a_key_and_a_seed_of_its_own() -> None:
    keys = [
        KEY,
        *(key.relinked(variant) for key in (KEY, replace(KEY, tree="other")) for variant in (1, 2, 3)),
    ]

    assert len({key.digest for key in keys}) == len({key.link_seed for key in keys}) == 7
    assert all(0 < key.link_seed < 2**31 - 1 for key in keys)


def test_equal_parts_make_an_equal_key() -> None:
    assert BinaryKey("tree", "build", "gcc 14").digest == KEY.digest
    assert len(KEY.digest) == 64
