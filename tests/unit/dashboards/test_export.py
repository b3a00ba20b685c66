"""Tables for spreadsheets and for texts."""

from __future__ import annotations

import csv
import io

import pytest

from dashboards.export import csv_lines, markdown_response


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "\tx", "\rx"])
def test_no_text_is_a_formula(text: str) -> None:
    lines = "".join(csv_lines(["name"], [[text]]))
    [_, [cell]] = csv.reader(io.StringIO(lines, newline=""))
    assert cell == f"'{text}"


def test_numbers_stay_numbers_and_what_is_missing_is_empty() -> None:
    lines = "".join(csv_lines(["a", "b", "c"], [[-1.5, 7, None]]))
    assert lines == "a,b,c\r\n-1.5,7,\r\n"


def test_names_leave_no_cell_of_markdown() -> None:
    body = bytes(markdown_response(["name", "value"], [["BM|<b>`*x*\n|y", 0.25]]).body).decode()
    assert body == "| name | value |\n|---|---|\n| BM\\|\\<b\\>\\`\\*x\\* \\|y | 0.25 |\n"
