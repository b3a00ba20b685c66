"""Planted causes, and the scores of their explanations."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import pytest

from bench.why.planted import Cause, lay_out, read
from bench.why.scoring import Said, Score, score, shares

if TYPE_CHECKING:
    from pathlib import Path

LOCKED: Final = Cause("locked", "a.cpp", "old", "new", "Ring", ("push", "pass_through"), ("locks",))
HARMLESS: Final = replace(LOCKED, first=(), kinds=())


@pytest.mark.parametrize(
    ("function", "kind", "right"),
    [
        ("lib::(anonymous namespace)::push(unsigned long)", "locks", Score.RIGHT),
        ("unsigned long lib::pass_through<int>(lib::push)", "locks", Score.RIGHT),
        ("lib::Queue<std::less<int>>::push[abi:cxx11](unsigned long)", "locks", Score.RIGHT),
        ("lib::push_back(unsigned long)", "locks", Score.WRONG),
        ("std::vector<lib::push>::pop(int)", "locks", Score.WRONG),
        ("lib::push(unsigned long)", "instructions", Score.WRONG),
        ("lib::push(unsigned long)", "", Score.NOT_EXPLAINED),
        ("", "", Score.NOT_EXPLAINED),
    ],
)
def test_an_explanation_is_right_if_function_and_kind_are(function: str, kind: str, right: Score) -> None:
    assert score(LOCKED, Said(function, kind)) is right


def test_a_change_without_effect_must_name_nothing() -> None:
    assert score(HARMLESS, Said()) is Score.RIGHT
    assert score(HARMLESS, Said("lib::push(unsigned long)", "locks")) is Score.WRONG
    assert score(HARMLESS, Said("", "layout only")) is Score.LAYOUT


def test_a_cause_without_a_function_is_right_if_none_is_named() -> None:
    cause = replace(LOCKED, first=("",), kinds=("layout only",))
    assert score(cause, Said("", "layout only")) is Score.RIGHT
    assert score(cause, Said()) is Score.NOT_EXPLAINED


def test_equal_files_stay_as_they_are_for_the_build(tmp_path: Path) -> None:
    cause = read("seen")[0]
    before = {file.name: file.stat().st_mtime_ns for file in lay_out(tmp_path).iterdir()}
    after = {file.name: file.stat().st_mtime_ns for file in lay_out(tmp_path, cause).iterdir()}
    assert {name for name in before if before[name] != after[name]} == {cause.file}


def test_changes_without_effect_are_counted_apart() -> None:
    scored = [
        (LOCKED, Score.RIGHT),
        (LOCKED, Score.NOT_EXPLAINED),
        (HARMLESS, Score.WRONG),
        (HARMLESS, Score.LAYOUT),
    ]
    assert shares(scored) == (
        "1 of 2 right, 0 of 2 wrong, 1 of 2 not explained; "
        "1 of 2 changes without effect named something, 1 only the layout"
    )


@pytest.mark.parametrize("cause", [*read("seen"), *read("unseen")], ids=lambda cause: cause.name)
def test_every_cause_fits_the_library(tmp_path: Path, cause: Cause) -> None:
    assert cause.new in (lay_out(tmp_path, cause) / cause.file).read_text(encoding="utf-8")
    assert bool(cause.first) == bool(cause.kinds)


def test_a_cause_that_fits_twice_is_refused() -> None:
    with pytest.raises(ValueError, match="2 times"):
        LOCKED.plant("old old")
