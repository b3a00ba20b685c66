"""The order of the tests: what may take longest starts first, or one process would wait for the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """End-to-end tests first, of them those that are given most time."""
    items.sort(key=lambda item: (item.get_closest_marker("e2e") is None, -_seconds(item)))


def _seconds(item: pytest.Item) -> float:
    limit = item.get_closest_marker("timeout")
    return float(limit.args[0]) if limit else 0.0
