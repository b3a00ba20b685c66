"""The list of benchmarks: its address, and its rows as CSV."""

from __future__ import annotations

import csv
import io

from tests.support.reading.sample_project import HOSTILE_NAMES, sample_project
from tests.support.web import build_pages, call

APP = build_pages(sample_project())


def test_the_rows_are_exported_in_their_order_and_no_name_is_a_formula() -> None:
    answer = call(APP, "GET", "/benchmarks.csv?sort=name&q=kv_engine")
    assert answer.headers["content-disposition"] == 'attachment; filename="benchmarks.csv"'
    rows = list(csv.DictReader(io.StringIO(answer.text)))
    formula = next(name for name in HOSTILE_NAMES if name.startswith("="))
    names = [row["benchmark"] for row in rows]
    assert f"'{formula}" in names
    assert formula not in names
    assert [name.lstrip("'") for name in names] == sorted(name.lstrip("'") for name in names)
    assert {row["limit"] for row in rows} == {"0.02"}


def test_an_unknown_order_is_refused_with_those_that_exist() -> None:
    answer = call(APP, "GET", "/benchmarks?sort=colour")
    assert "&#39;colour&#39; is not one of: undecided, noise, name" in answer.text


def test_an_unknown_fault_is_refused_with_those_that_exist() -> None:
    answer = call(APP, "GET", "/benchmarks.csv?fault=slow")
    assert "not one of: failing, unchanged, undecided, noisy" in answer.text


def test_a_page_beyond_the_last_is_empty() -> None:
    assert "No benchmark" in call(APP, "GET", "/benchmarks?page=99&q=bm").text
