"""Tests that pass if their programs fail."""

from __future__ import annotations

import json

import pytest

from service.domain.measuring.tests.ctest_listing import inverted_in


def test_the_tests_with_will_fail_are_named() -> None:
    tests = [
        {"name": "a", "properties": [{"name": "TIMEOUT", "value": 3}, {"name": "WILL_FAIL", "value": True}]},
        {"name": "b", "properties": [{"name": "WILL_FAIL", "value": False}]},
        {"name": "c"},
    ]
    assert inverted_in(json.dumps({"kind": "ctestInfo", "tests": tests}).encode()) == frozenset({"a"})


@pytest.mark.parametrize("listing", [b"", b"{", b"[]", b'{"tests": [1]}', b"[" * 100_000, b"\xff"])
def test_a_damaged_listing_names_none(listing: bytes) -> None:
    assert inverted_in(listing) is None


def test_tests_without_properties_are_not_inverted() -> None:
    assert inverted_in(b'{"tests": [{}]}') == frozenset()
