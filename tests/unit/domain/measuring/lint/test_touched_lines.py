"""Touched lines, read from real diffs and from generated ones."""

from __future__ import annotations

from contextlib import suppress
from difflib import SequenceMatcher
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.domain.building.findings import Finding
from service.domain.measuring.lint.touched_lines import lines_in, touched
from service.domain.values.errors import BadInput

SAMPLES = Path(__file__).parents[4] / "samples" / "linting"
TOUCHED = {
    "blank.cc": {1, 2},
    "dos.cc": {2},
    "kept.cc": {6, 7, 12, 13, 14},
    'na"ïve.cc': {1},
    "new.cc": {1, 2},
    "noeol.cc": {1, 2},
    "two words.cc": {2},
}
# Lines that look like parts of a diff, and lines that no other tool likes.
TEXTS = st.sampled_from(
    [
        b"",
        b"a",
        b"b",
        b"++ b/x.cc",
        b"-- a/x.cc",
        b"@@ -1 +1 @@",
        b"\\ x",
        b"diff --git a/x b/x",
        b"\xff\r",
        b" ",
    ]
)
SIDES = st.lists(TEXTS, max_size=12)


def numbers(diff: bytes) -> dict[str, set[int]]:
    return {path: {number for run in runs for number in run} for path, runs in lines_in(diff).items()}


def diff_of(old: list[bytes], new: list[bytes], name: bytes = b"x.cc") -> tuple[bytes, set[int]]:
    """Make a diff without context, and the numbers of its touched lines."""
    parts = [b"diff --git a/%s b/%s" % (name, name), b"--- a/%s" % name, b"+++ b/%s" % name]
    added: set[int] = set()
    for tag, i, j, m, n in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag != "equal":
            parts.append(b"@@ -%d,%d +%d,%d @@ f()" % (i + (i != j), j - i, m + (m != n), n - m))
            parts += [b"-" + line for line in old[i:j]] + [b"+" + line for line in new[m:n]]
            added |= set(range(m + 1, n + 1))
    return b"".join(part + b"\n" for part in parts), added


@pytest.mark.parametrize("sample", ["git_zero_context.diff", "git_context.diff"])
def test_the_lines_of_a_real_diff_are_those_of_its_new_side(sample: str) -> None:
    assert numbers((SAMPLES / sample).read_bytes()) == TOUCHED


def test_adjacent_lines_are_one_range() -> None:
    diff = (SAMPLES / "git_zero_context.diff").read_bytes()

    assert lines_in(diff)["kept.cc"] == (range(6, 8), range(12, 15))


def test_an_empty_diff_touches_nothing() -> None:
    assert lines_in(b"") == {}


@given(SIDES, SIDES)
def test_a_line_that_looks_like_a_header_is_counted_as_a_line(old: list[bytes], new: list[bytes]) -> None:
    diff, added = diff_of(old, new)

    assert numbers(diff).get("x.cc", set()) == added
    assert set(lines_in(diff)) <= {"x.cc"}


@given(SIDES, SIDES, SIDES)
def test_the_lines_of_a_file_do_not_depend_on_the_files_before_it(
    old: list[bytes], new: list[bytes], other: list[bytes]
) -> None:
    diff, added = diff_of(old, new)
    before, _ = diff_of(other, new, b"before.cc")

    assert numbers(before + diff).get("x.cc", set()) == added


@given(SIDES, SIDES)
def test_ranges_are_in_order_and_neither_overlap_nor_adjoin(old: list[bytes], new: list[bytes]) -> None:
    runs = lines_in(diff_of(old, new)[0]).get("x.cc", ())

    assert all(run for run in runs)
    assert all(one.stop < other.start for one, other in pairwise(runs))


@given(SIDES, SIDES, st.integers(1, 14))
def test_a_finding_is_kept_if_and_only_if_its_line_is_touched(
    old: list[bytes], new: list[bytes], line: int
) -> None:
    diff, added = diff_of(old, new)
    finding = Finding("x.cc", line, "warning: it is odd")

    assert touched([finding], lines_in(diff)) == ((finding,) if line in added else ())
    assert touched([Finding("y.cc", line, "warning: it is odd")], lines_in(diff)) == ()


@pytest.mark.parametrize(
    "diff",
    [
        b"@@ -1 +1 @@\n-a\n+b\n",
        b"+++ b/x.cc\n@@ -1,2 +1,2 @@\n-a\n+b\n",
        b"+++ b/x.cc\n@@ -1 +1 @@\n-a\ndiff --git a/y b/y\n",
        b"+++ b/x.cc\n@@ -1 +1 @@\n-a\n-b\n",
        b"+++ x.cc\n@@ -1 +1 @@\n-a\n+b\n",
        b"diff --git a/x b/x\n+++ /dev/null\n@@ -0,0 +1 @@\n+b\n",
    ],
)
def test_a_damaged_diff_is_refused(diff: bytes) -> None:
    with pytest.raises(BadInput):
        lines_in(diff)


@given(st.binary(max_size=200), SIDES, SIDES)
def test_nothing_but_bad_input_is_raised(noise: bytes, old: list[bytes], new: list[bytes]) -> None:
    diff = diff_of(old, new)[0]
    with suppress(BadInput):
        lines_in(diff[: len(noise)] + noise + diff[len(noise) :])
