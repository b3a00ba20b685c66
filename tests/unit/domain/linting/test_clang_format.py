"""The output of clang-format, read from recordings."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.domain.building.findings import Finding
from service.domain.linting.clang_format import TEXT, by_block, read_clang_format
from service.domain.linting.diagnostics import Roots

SAMPLES = Path(__file__).parents[3] / "samples" / "linting"
MARK = "error: code should be clang-formatted [-Wclang-format-violations]"


def read(sample: str) -> tuple[list[tuple[str, int]], tuple[str, ...]]:
    output = read_clang_format((SAMPLES / f"{sample}.txt").read_bytes())
    assert {finding.text for finding in output.findings} <= {TEXT}
    return [(finding.path, finding.line) for finding in output.findings], output.faults


def test_several_changes_of_a_line_are_one_finding() -> None:
    places, faults = read("clang_format_14")

    assert places == [("a.cpp", 5), ("a.cpp", 6), ("a.cpp", 7), ("a.cpp", 10), ("b.cpp", 2)]
    assert faults == ()


def test_a_run_on_some_lines_names_these() -> None:
    assert read("clang_format_14_lines") == ([("a.cpp", 6), ("a.cpp", 7)], ())


def test_a_bad_configuration_is_a_fault() -> None:
    places, faults = read("clang_format_14_bad_configuration")

    assert places == []
    assert faults == (
        "/src/.clang-format:2:1: error: unknown key 'Foo'",
        "Error reading /src/.clang-format: Invalid argument",
    )


def test_a_missing_file_is_a_fault() -> None:
    assert read("clang_format_14_missing_file") == ([], ("No such file or directory",))


def test_a_file_outside_the_sources_has_no_finding() -> None:
    output = f"/usr/include/x.h:3:1: {MARK}\n../x.cc:3:1: {MARK}\n".encode()

    assert read_clang_format(output).findings == ()


def test_a_relative_path_begins_at_the_directory_of_the_run() -> None:
    roots = Roots(sources="/home/work/tree/", directory="/home/work/tree/lib")
    output = f"../x.cc:3:1: {MARK}\n/home/work/tree/y.cc:4:1: {MARK}\n".encode()

    assert [finding.path for finding in read_clang_format(output, roots).findings] == ["x.cc", "y.cc"]


def test_adjacent_lines_of_a_file_become_one_finding_that_names_the_last() -> None:
    found = [
        Finding("a.cc", 1, TEXT),
        Finding("a.cc", 2, TEXT),
        Finding("a.cc", 4, TEXT),
        Finding("b.cc", 5, TEXT),
    ]

    assert by_block(found) == (
        Finding("a.cc", 1, f"{TEXT} (lines 1 to 2)"),
        Finding("a.cc", 4, TEXT),
        Finding("b.cc", 5, TEXT),
    )


@given(st.dictionaries(st.sampled_from(["a.cc", "b.cc", "c/d.h"]), st.sets(st.integers(1, 30)), max_size=3))
def test_blocks_begin_where_no_finding_is_on_the_line_before(places: dict[str, set[int]]) -> None:
    found = [Finding(path, line, TEXT) for path in sorted(places) for line in sorted(places[path])]
    begun = [(path, line) for path, line in ((f.path, f.line) for f in found) if line - 1 not in places[path]]

    assert [(block.path, block.line) for block in by_block(found)] == begun


@given(
    st.lists(
        st.tuples(st.sampled_from(["a.cc", "./a.cc", "/src/./b.cc"]), st.integers(1, 9), st.integers(1, 80))
    )
)
def test_the_order_and_the_columns_of_diagnostics_do_not_matter(places: list[tuple[str, int, int]]) -> None:
    lines = [f"{path}:{line}:{column}: {MARK}\n  int x;\n  ^\n" for path, line, column in places]
    output = read_clang_format("".join(lines).encode())

    assert output == read_clang_format("".join(reversed(lines)).encode())
    assert {(finding.path, finding.line) for finding in output.findings} == {
        (path.rpartition("/")[2], line) for path, line, _ in places
    }


@given(st.binary(max_size=300))
@pytest.mark.parametrize("before", [b"", b"a.cc:1:1: error: "])
def test_any_output_is_read(before: bytes, output: bytes) -> None:
    read_clang_format(before + output)
