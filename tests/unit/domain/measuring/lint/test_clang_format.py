"""Read the differences that clang-format would make, from recordings."""

from __future__ import annotations

from difflib import unified_diff
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.domain.failures.failure import Failure, FailureKind
from service.domain.measuring.lint.clang_format import (
    HEADLINE,
    TEXT,
    FormatFault,
    fault_in,
    format_failure,
    read_format_diff,
)

SAMPLES = Path(__file__).parents[4] / "samples" / "linting"
TOUCHED = (range(2, 3), range(6, 7), range(9, 13), range(15, 18))
LINES = st.lists(st.sampled_from(["", "a", "  b", "-- x", "++ y", "@@ -1 +1 @@", "\\ z"]), max_size=12)
RUNS = st.sets(st.integers(1, 14), min_size=1).map(lambda all_: tuple(range(n, n + 1) for n in sorted(all_)))


def found(old: list[str], new: list[str], *touched: range) -> list[tuple[int, str]]:
    diff = "\n".join(unified_diff(old, new, "a.cc", "b.cc", lineterm="", n=0))
    findings = read_format_diff(f"{diff}\n".encode(), "a.cc", touched or (range(1, len(old) + 1),))
    return [(finding.line, finding.text.removeprefix(TEXT)) for finding in findings]


def test_each_difference_is_a_finding_on_its_first_touched_line() -> None:
    diff = (SAMPLES / "clang_format_14.diff").read_bytes()
    findings = read_format_diff(diff, "src/a.cc", TOUCHED)

    assert {finding.path for finding in findings} == {"src/a.cc"}
    assert [(finding.line, finding.text.removeprefix(TEXT)) for finding in findings] == [
        (2, " (2 lines)"),
        (6, ": indent the line by 2 blanks"),
        (9, " (6 lines)"),
        (17, ""),
    ]


def test_a_short_line_is_quoted_as_it_should_be() -> None:
    assert found(["int f(){return 1;}"], ["int f() { return 1; }"]) == [
        (1, ": write `int f() { return 1; }`")
    ]


@pytest.mark.parametrize(
    ("old", "new", "advice"),
    [
        ("x;  ", "x;", ": remove the blanks at the end of the line"),
        ("x;", "    x;", ": indent the line by 4 blanks"),
        ("x;", "\tx;", ""),
        ("x;   // y", "x;  // y", ""),  # blanks in a quotation would not be seen
        (f"f({'x' * 100});", f"f( {'x' * 100});", ""),
    ],
)
def test_the_advice_says_how_if_that_is_short(old: str, new: str, advice: str) -> None:
    assert found([old], [new]) == [(1, advice)]


def test_a_finding_keeps_its_text_when_its_lines_move() -> None:
    before, after = ["a;  b;", "c;  d;"], ["a; b;", "c; d;"]
    (first,), (moved,) = found(before, after), found(["x", *before], ["x", *after])

    assert (first[1], moved[1]) == (" (2 lines)", " (2 lines)")
    assert (first[0], moved[0]) == (1, 2)


def test_a_line_that_should_not_be_there_is_named() -> None:
    assert found(["a", "", "b"], ["a", "b"]) == [(2, ": remove the line")]


def test_a_difference_on_other_lines_is_a_finding_on_the_nearest_touched_line() -> None:
    before, after = ["a", "b", "c", "d", "e"], ["A", "b", "c", "d", "E"]

    assert [line for line, _ in found(before, after, range(2, 3), range(4, 5))] == [2, 4]
    assert [line for line, _ in found(before, after, range(3, 4))] == [3]
    assert [line for line, _ in found(["a", "b"], ["a", "x", "b"], range(2, 3))] == [2]


def test_an_incomplete_difference_at_the_end_is_ignored() -> None:
    diff = b"@@ -1 +1 @@\n-a\n+b\n@@ -5,3 +5,3 @@\n-c\n-d\n"

    assert [finding.line for finding in read_format_diff(diff, "a.cc", (range(1, 9),))] == [1]


def test_the_failures_of_a_file_have_one_headline() -> None:
    (finding,) = read_format_diff(b"@@ -7 +7 @@\n-a;b\n+a; b\n", "src/a.cc", (range(7, 8),))

    assert format_failure(finding) == Failure(
        FailureKind.FORMAT,
        "src/a.cc",
        HEADLINE,
        "src/a.cc:7: code should be clang-formatted: write `a; b`",
        "src/a.cc:7",
    )


def test_a_fault_names_the_place_of_an_error_in_the_configuration() -> None:
    errors = (SAMPLES / "clang_format_14_bad_configuration.txt").read_bytes()

    assert fault_in(errors) == FormatFault(".clang-format", ".clang-format:2: unknown key 'Foo'")


def test_a_fault_without_a_place_is_the_first_line() -> None:
    errors = (SAMPLES / "clang_format_14_missing_file.txt").read_bytes()

    assert fault_in(errors) == FormatFault("", "No such file or directory")
    assert fault_in(b"") == FormatFault("", "")


@given(LINES, LINES, RUNS)
def test_a_difference_is_found_if_and_only_if_there_is_one(
    old: list[str], new: list[str], touched: tuple[range, ...]
) -> None:
    places = [line for line, _ in found(old, new, *touched)]

    assert bool(places) == (old != new)
    assert set(places) <= {run.start for run in touched}


@given(st.binary(max_size=300))
@pytest.mark.parametrize("before", [b"", b"@@ -1,2 +1 @@\n", b"a.cc:1:1: error: "])
def test_any_output_is_read(before: bytes, output: bytes) -> None:
    read_format_diff(before + output, "a.cc", (range(1, 2),))
    fault_in(before + output)
