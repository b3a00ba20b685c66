"""Suppressions that a patch set adds to hide code from clang-tidy."""

from __future__ import annotations

import time

import pytest

from service.domain.measuring.lint.suppressions import new_suppressions


def added(before: str, after: str) -> int:
    return new_suppressions(before, after, (range(1, after.count("\n") + 2),))


@pytest.mark.parametrize(
    "line",
    [
        "int *p = 0;  // NOLINT",
        "int *p = 0;  /* NOLINT(modernize-use-nullptr) */",
        "// NOLINTNEXTLINE(bugprone-*)",
        "// NOLINTBEGIN",
        "#pragma GCC system_header",
        "#  pragma clang system_header",
        '_Pragma("GCC system_header")',
        '# 1 "x" 3',
        '  #line 7 "generated.y"',
    ],
)
def test_each_kind_of_suppression_is_counted(line: str) -> None:
    assert added("int a;\n", f"int a;\n{line}\n") == 1


@pytest.mark.parametrize(
    "line", ["// NOLINTEND", "int NOLINTER;", "#define A 1", "#if 0", "a # 1 b", "int line = 3;"]
)
def test_other_text_is_none(line: str) -> None:
    assert added("int a;\n", f"int a;\n{line}\n") == 0


def test_one_that_only_moved_or_whose_line_changed_is_not_new() -> None:
    assert added("int *a = 0;  // NOLINT\nb\n", "b\nint *c = 0;  // NOLINT\n") == 0
    assert added("a  // NOLINT(x)\n", "a  // NOLINT\n") == 1


def test_only_touched_lines_count() -> None:
    after = "a  // NOLINT\nb  // NOLINT\nc\n"
    assert new_suppressions("", after, (range(2, 4),)) == 1
    assert new_suppressions("", after, (range(9, 12),)) == 0


def test_a_line_of_many_suppressions_is_read_in_linear_time() -> None:
    begun = time.process_time()
    assert added("", "NOLINT(" * 20_000) == 20_000
    assert time.process_time() - begun < 5
