"""Parse what a person writes to name an end of a comparison."""

from __future__ import annotations

import pytest

from service.domain.trunk.reference import WAYS, Reference, ReferenceKind, parse_reference
from service.domain.values.errors import BadInput
from service.domain.values.identity import ChangeAddress

COMMIT, DATE, TIP, PATCH_SET = ReferenceKind


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("f1db58c", Reference("f1db58c", COMMIT, "f1db58c")),
        (" F1DB58C\n", Reference("F1DB58C", COMMIT, "f1db58c")),
        ("1" * 40, Reference("1" * 40, COMMIT, "1" * 40)),
        ("2026-11-20", Reference("2026-11-20", DATE, "2026-11-20")),
        ("tip", Reference("tip", TIP)),
        ("Tip", Reference("Tip", TIP)),  # as a phone writes it
        ("release/7.6", Reference("release/7.6", TIP)),
        ("4711/3", Reference("4711/3", PATCH_SET, change=ChangeAddress(4711), patch_set=3)),
        ("4711", Reference("4711", PATCH_SET, change=ChangeAddress(4711))),
        ("1234567/3", Reference("1234567/3", PATCH_SET, change=ChangeAddress(1234567), patch_set=3)),
        ("a~b~7/3", Reference("a~b~7/3", PATCH_SET, change=ChangeAddress(7, "a~b"), patch_set=3)),
        ("core~1234567", Reference("core~1234567", PATCH_SET, change=ChangeAddress(1234567, "core"))),
    ],
)
def test_each_way_to_name_an_end_is_understood(written: str, expected: Reference) -> None:
    assert parse_reference(written, "release/7.6", "base") == expected


def test_seven_digits_alone_are_a_commit() -> None:
    assert parse_reference("1234567", "master", "base").kind is COMMIT


@pytest.mark.parametrize(
    "written",
    [
        *("", " ", "v7.6.3", "abcdef", "0", "4711/0", "4711/", "/3", "4711/3/1", "12345678901/1"),
        *("\0" * 8, "g" * 40, "f" * 65, "\u0664\u0667", "2026-1-2", "HEAD~", "~7"),
    ],
)
def test_the_error_for_anything_else_lists_what_may_be_written(written: str) -> None:
    with pytest.raises(BadInput) as caught:
        parse_reference(written, "master", "patch")
    assert (caught.value.where, WAYS in caught.value.what) == ("patch", True)


@pytest.mark.parametrize("written", ["f1db58c", "2026-11-20", "tip"])
def test_without_a_branch_only_a_patch_set_can_be_named(written: str) -> None:
    with pytest.raises(BadInput, match="base: choose a branch"):
        parse_reference(written, "", "base")
    assert parse_reference("4711/3", "", "base").kind is PATCH_SET


@pytest.mark.parametrize("day", ["2026-02-30", "2026-13-01", "0000-01-01"])
def test_a_day_that_does_not_exist_is_named(day: str) -> None:
    with pytest.raises(BadInput, match=f"there is no day {day}"):
        parse_reference(day, "master", "base")
