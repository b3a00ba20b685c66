"""Rows that only claims read travel beside explanations, and readers of explanations do not notice them."""

import gzip
import json
import math
from dataclasses import replace
from functools import partial
from os import urandom

import pytest

from service.domain.claims.answers import MeasuredRow
from service.domain.claims.left_out import answering, left_out_in, left_out_row, pack_left_out
from service.domain.measuring.metric import metric_named
from service.domain.values.errors import BadResults
from service.domain.verdict.explanation.explanation import MOST_PACKED, Explanation, pack, unpack
from service.domain.verdict.inference.verdict import ComparedRow, Comparison, Verdict

ROW = MeasuredRow(
    "", "s", "BM_<é>/8", "cpu_time", Verdict.UNDECIDED, 8, 0.8, 0.7, 0.9, 0.01, "items_per_second"
)
ONLY = replace(ROW, benchmark="BM_new", verdict=Verdict.NEW, ratio=None, low=None, high=None, error=None)
WHOLE = Explanation("s", "BM_a", 0.1)


@pytest.mark.parametrize("found", [(), (WHOLE,)])
def test_rows_come_after_what_the_previous_version_reads(found: tuple[Explanation, ...]) -> None:
    packed = pack(found, pack_left_out([ROW, ONLY]))
    assert packed.startswith(pack(found))
    assert (unpack(packed), unpack(packed, 0)) == (found, found)
    assert left_out_in(packed) == (ROW, ONLY)
    assert left_out_in(pack(found, pack_left_out([]))) == ()


def member(name: str, value: object) -> bytes:
    [row] = json.loads(gzip.decompress(pack_left_out([ROW])))
    return gzip.compress(json.dumps([{**row, name: value}]).encode(), mtime=0)


NOT_ROWS = (b"{}", b'["row"]', b"[" * 100_000, b"[{}]" + b" " * (1 << 20))
WRONG = (
    ("verdict", "later"),
    ("benchmark", 7),
    ("ratio", 0),
    ("high", math.nan),
    ("low", "1"),
    ("error", -1),
    ("error", 10**400),
    ("ratio", 10**400),
    ("low", 1e-320),  # its reciprocal is infinite
    ("high", True),
    ("pairs", 10**400),
    ("pairs", -1),
    ("pairs", True),
    ("pairs", 21),
)
CUT = (b"\x1f\x8b", pack_left_out([ROW])[:-9])


@pytest.mark.parametrize(
    "beside", [*CUT, *map(partial(gzip.compress, mtime=0), NOT_ROWS), *(member(*each) for each in WRONG)]
)
def test_rows_that_cannot_be_read_are_refused_and_leave_the_explanations(beside: bytes) -> None:
    packed = pack([WHOLE], beside)
    assert unpack(packed) == (WHOLE,)
    with pytest.raises(BadResults):
        left_out_in(packed)


def test_texts_are_cut_and_have_only_characters() -> None:
    """Halves of characters cannot be sent to a browser, and a page shows the suite."""
    [row] = left_out_in(pack([], member("suite", "\ud800" + "x" * 900_000)))
    assert row.suite == "?" + "x" * 499


def test_rows_are_left_out_if_only_the_explanations_have_room() -> None:
    found = [replace(WHOLE, obstacle=urandom(250).hex(), benchmark=urandom(250).hex()) for _ in range(20)]
    beside = gzip.compress(urandom(MOST_PACKED - 1000))
    assert pack(found, beside) == pack(found)


def test_a_compared_row_is_preferred_to_one_of_another_suite() -> None:
    compared = replace(ROW, job="other", suite="t")
    assert answering([compared], [ROW, ONLY], [ROW.benchmark, "BM_new"]) == (compared, ONLY)
    assert answering([], [ROW, ONLY], ["BM_new"]) == (ONLY,)


@pytest.mark.parametrize(("pairs", "low"), [(6, 0.7), (5, None)])
def test_a_row_has_no_verdict_of_its_own_and_no_interval_of_too_few_pairs(
    pairs: int, low: float | None
) -> None:
    row = ComparedRow("s", "BM_a", metric_named("cpu_time"))
    found = left_out_row(Comparison(row, Verdict.SLOWER, pairs, 0.8, (0.7, 0.9), error=0.01))
    assert (found.verdict, found.ratio, found.low) == (Verdict.UNDECIDED, 0.8, low)
