"""Rows read as columns must be exactly those that are read one by one."""

from __future__ import annotations

import json
import math
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.domain.measuring.formats.columns import Columns, read_columns
from service.domain.measuring.formats.row import ReadLimits, ResultRow, RowReader
from service.domain.values.errors import BadResults
from tests.unit.domain.gbench_files import REPEATED, SAMPLES, names, read, row, whole

if TYPE_CHECKING:
    from pathlib import Path

LIMITS = ReadLimits(counters=4, name_characters=12, text_characters=12)
ODD: st.SearchStrategy[Any] = st.sampled_from(
    [
        *(..., None, True, False, 0, 1, -1, 1.0, 0.5, -0.0, 10**19, 10**19 - 1, 10**400, 5e-324, 1e308),
        *(math.nan, math.inf, -math.inf, "", "x", "a\x00", "\ud800", "x" * 13, "us", "aggregate"),
        *("iteration", [], {}, ["ns"]),
    ]
)
KEYS = st.sampled_from(
    [
        *row(),
        *("label", "family_index", "per_family_instance_index", "items_per_second", "max_bytes_used"),
        *("allocs_per_iter", "a\x00", "a" * 13, "b", "c", "error_occurred", "skipped", "skip_message"),
        *("aggregate_name", "aggregate_unit", "big_o", "rms"),
    ]
)


def one_by_one(values: list[Any], *, trusts_bytes: bool) -> dict[int, ResultRow]:
    """The rows to which nothing is remarked, by their numbers."""
    found: dict[int, ResultRow] = {}
    for number, value in enumerate(values):
        remarks: list[str] = []
        reader = RowReader(LIMITS, partial(_remark, remarks), trusts_bytes=trusts_bytes)
        try:
            each = reader.read(number, value)
        except BadResults:
            continue
        if not remarks:
            found[number] = each
    return found


def _remark(remarks: list[str], _: int, sentence: str) -> None:
    remarks.append(sentence)


def in_columns(values: list[Any], *, trusts_bytes: bool) -> dict[int, ResultRow]:
    return {
        number: each
        for numbers, columns in read_columns(values, LIMITS, trusts_bytes=trusts_bytes)
        for number, each in zip(numbers, columns.rows(), strict=True)
    }


@settings(max_examples=500)
@given(odd=st.lists(st.dictionaries(KEYS, ODD, max_size=3), max_size=4), trusts_bytes=st.booleans())
def test_a_row_in_columns_is_the_row_alone(*, odd: list[dict[str, Any]], trusts_bytes: bool) -> None:
    values = [row(**({"name": f"BM_{k}"} | each)) for k, each in enumerate(odd)]
    alone = one_by_one(values, trusts_bytes=trusts_bytes)
    found = in_columns(values, trusts_bytes=trusts_bytes)

    # By their text: it tells 1 from 1.0 and from True.
    assert {k: repr(each) for k, each in found.items()} == {k: repr(alone[k]) for k in found}


@pytest.mark.parametrize("unit", ["ns", "us", "ms", "s"])
def test_rows_of_an_intact_file_are_read_as_columns(unit: str) -> None:
    run = read(whole(*[row(f"BM_{k}", time_unit=unit, hits=k, label="x") for k in range(9)], a=1))

    assert isinstance(run.content, Columns)
    assert run.content.values["hits"] == list(range(9))


def test_an_odd_row_costs_no_other_row_its_place() -> None:
    values = [row("BM_a"), row("BM_b", hits=1), row("BM_\x00c"), row("BM_d", skipped=True), row("BM_e")]

    assert names(read(whole(*values))) == ["BM_a", "BM_b", "BM_c", "BM_d", "BM_e"]


@pytest.mark.parametrize("path", sorted(SAMPLES.glob("*.json")), ids=lambda path: path.stem)
def test_a_file_too_large_to_be_decoded_at_once_gives_the_same_rows(path: Path) -> None:
    data = path.read_bytes()
    at_once, row_by_row = read(data), read(data, characters_at_once=0)

    assert row_by_row.rows == at_once.rows
    assert row_by_row.context == at_once.context
    assert row_by_row.warnings == at_once.warnings
    assert not row_by_row.damage


def test_columns_without_some_names_keep_the_others() -> None:
    run = read(whole(*[row(f"BM_{k}", hits=k) for k in range(4)]))
    assert isinstance(run.content, Columns)

    assert list(run.content.without({"BM_1", "BM_3"}).rows()) == [run.rows[0], run.rows[2]]


def test_the_first_of_two_values_of_a_key_counts_however_many_rows_there_are() -> None:
    twice = json.dumps(row("BM_b")).replace('"cpu_time"', '"cpu_time": 7.0, "cpu_time"')
    run = read(whole(row("BM_a"), twice))

    assert run.rows[1].values["cpu_time"] == 7e-9
    assert read(REPEATED).rows == read(REPEATED.replace(b"\n", b"\r\n")).rows
