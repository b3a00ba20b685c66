"""Read which of CTest's tests pass if their programs fail: its results do not tell."""

from __future__ import annotations

import json

from service.domain.values.text import clean


def inverted_in(listing: bytes) -> frozenset[str] | None:
    """Name the tests with the property WILL_FAIL in `ctest --show-only=json-v1`; None if it is damaged."""
    try:
        tests = json.loads(listing)["tests"]
        return frozenset(
            clean(str(test["name"])).strip()
            for test in tests
            for each in test.get("properties", ())
            if each["name"] == "WILL_FAIL" and each["value"] is True
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
