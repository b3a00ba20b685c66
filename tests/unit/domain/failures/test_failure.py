"""Failures as values: their stored form."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.domain.failures.failure import MOST, Failure, FailureKind, failure_of, failures_from

ROW = asdict(Failure(FailureKind.TEST, "A.b", "Failed", "Failure of a CTest test 1/2", "a.cc:3"))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from([*ROW, "x"]), inner),
)


@given(st.builds(failure_of, st.sampled_from(FailureKind), st.text(), st.text(), st.text(), st.text()))
def test_a_failure_can_be_stored_and_read_back(failure: Failure) -> None:
    stored = json.loads(json.dumps([asdict(failure)]))
    assert failures_from(stored) == ((failure,), False)


def test_a_longer_list_is_cut() -> None:
    found, is_cut = failures_from([ROW] * (MOST + 1))
    assert (len(found), is_cut) == (MOST, True)


@pytest.mark.parametrize("row", [None, {}, ROW | {"kind": "new"}, ROW | {"subject": 3}, {"kind": "test"}])
def test_a_list_with_an_unreadable_failure_is_not_complete(row: Any) -> None:  # noqa: ANN401
    """A build that waives on an incomplete list could hide the missing failure."""
    found, is_cut = failures_from([ROW, row])
    assert (len(found), is_cut) == (1, True)


@given(JSON)
def test_anything_stored_can_be_read(stored: object) -> None:
    found, _ = failures_from(stored)
    assert len(found) <= MOST


def test_texts_are_one_harmless_line_each() -> None:
    failure = failure_of(FailureKind.TEST, "a\nb\x07", "c\u202ed", "  e   f\t", "g\x00:1")
    assert (failure.subject, failure.headline, failure.line, failure.place) == ("a b", "cd", "e   f", "g:1")
