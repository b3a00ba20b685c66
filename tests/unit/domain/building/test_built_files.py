from __future__ import annotations

import pytest

from service.domain.building.built_files import (
    NOT_TOLD,
    BuiltFile,
    Opened,
    differing,
    programs_in,
    unchanged_suites,
)
from service.domain.project.benchmark import Suite

SUITES = (Suite("a", "build/a"), Suite("b", "./build/bin/b"))
NATIVE = {path: BuiltFile("1", is_native=True) for path in ("a", "bin/b", "lib.so")}
OTHER = BuiltFile("2", is_native=True)


def test_suites_of_equal_trees_are_unchanged() -> None:
    assert unchanged_suites(SUITES, NATIVE, NATIVE) == {"a", "b"}


def test_another_suites_program_does_not_concern_a_suite() -> None:
    assert unchanged_suites(SUITES, NATIVE, {**NATIVE, "bin/b": OTHER}) == {"a"}


@pytest.mark.parametrize("path", ["lib.so", "new.txt"])
def test_any_other_file_that_differs_concerns_every_suite(path: str) -> None:
    assert unchanged_suites(SUITES, NATIVE, {**NATIVE, path: OTHER}) == frozenset()
    assert unchanged_suites(SUITES, {**NATIVE, path: OTHER}, NATIVE) == frozenset()


def test_a_script_may_run_any_other_program() -> None:
    script = {**NATIVE, "a": BuiltFile("#!/bin/sh")}

    assert unchanged_suites(SUITES, script, {**script, "bin/b": OTHER}) == frozenset()


def test_two_suites_of_one_program_change_together() -> None:
    suites = (Suite("small", "build/a"), Suite("large", "/build/a", args=("--large",)))

    assert unchanged_suites(suites, NATIVE, {**NATIVE, "a": OTHER}) == frozenset()
    assert unchanged_suites(suites, NATIVE, NATIVE) == {"small", "large"}


def test_a_missing_program_is_not_the_same() -> None:
    assert unchanged_suites((Suite("c", "build/c"),), NATIVE, NATIVE) == frozenset()


def test_what_differs_or_was_opened_on_one_side_only_is_listed_in_order() -> None:
    base = {"a": BuiltFile("1"), "c": BuiltFile("3"), "d": BuiltFile("4")}
    patch = {"a": BuiltFile("1"), "c": BuiltFile("5"), "b": BuiltFile("2")}

    assert differing(base, patch) == ("b", "c", "d")
    assert differing(base, base) == ()


@pytest.mark.parametrize(
    ("paths", "unknown", "doubt"),
    [
        ({"build/a", "keys.h"}, "", ""),
        ({"build/a"}, "too many", "too many"),
        ({"keys.h"}, "", NOT_TOLD),
        ({"builder"}, "", NOT_TOLD),
        (set[str](), "", NOT_TOLD),
    ],
)
def test_opened_files_are_relied_on_if_a_program_is_among_them(
    paths: set[str], unknown: str, doubt: str
) -> None:
    """A kernel or file system without working watches reports nothing, which must not look like a proof."""
    assert Opened(frozenset(paths), unknown).doubt == doubt


def test_programs_are_native_and_no_shared_objects() -> None:
    files = {**NATIVE, "lib.so.1": OTHER, "a.sober": OTHER, "x.so/y": OTHER, "script": BuiltFile("#!/bin/sh")}

    assert programs_in(files) == ("a", "a.sober", "bin/b", "x.so/y")
