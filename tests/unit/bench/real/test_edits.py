"""Edits of files: behind lines that occur once, or instead of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bench.real.edits import CannotEdit, edit_file, edited
from bench.real.projects import Edit

if TYPE_CHECKING:
    from pathlib import Path

TEXT = "int hash() {\n  return 1;\n}\nint sort() {\n  return 2;\n}\n"


def edit(insert: str, *, after: str | None = None, replace: str | None = None) -> Edit:
    return Edit(file="hash.cc", insert=insert, after=after, replace=replace)


def test_text_is_added_behind_a_line() -> None:
    found = edited(TEXT, edit("  work();", after="int sort() {"))

    assert found == TEXT.replace("int sort() {\n", "int sort() {\n  work();\n")


def test_lines_together_may_be_the_only_ones() -> None:
    found = edited(TEXT, edit("// end\n", after="  return 2;\n}"))

    assert found == f"{TEXT}// end\n"


def test_text_replaces_a_line() -> None:
    assert edited(TEXT, edit("  return 3;", replace="  return 2;")) == TEXT.replace("2", "3")
    assert edited(TEXT, edit("", replace="  return 2;")) == TEXT.replace("  return 2;\n", "")


def test_a_last_line_without_an_end_gets_one() -> None:
    assert edited("a\nb", edit("c", after="b")) == "a\nb\nc\n"


@pytest.mark.parametrize(
    ("lines", "count"), [("}", 2), ("return 1;", 0), ("int sort() {\n\n  return 2;", 0), ("int.*", 0)]
)
def test_lines_that_do_not_occur_once_are_refused(lines: str, count: int) -> None:
    with pytest.raises(CannotEdit, match=f"hash.cc has {count} times, not once"):
        edited(TEXT, edit("x", after=lines))


def test_a_new_file_is_written(tmp_path: Path) -> None:
    edit_file(tmp_path, Edit(file="src/new.h", insert="int x;\n"))

    assert (tmp_path / "src/new.h").read_text() == "int x;\n"
    with pytest.raises(CannotEdit, match=r"src/new\.h exists"):
        edit_file(tmp_path, Edit(file="src/new.h", insert="int y;\n"))


def test_a_file_that_does_not_exist_has_no_line() -> None:
    with pytest.raises(CannotEdit, match=r"there is no file hash\.cc"):
        edited(None, edit("x", after="y"))
