"""The order of the tests, and the settings of those with generated examples.

What may take longest starts first, or one process would wait for the other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import settings

if TYPE_CHECKING:
    import pytest

# An example takes as long as the other load on the machine lets it; that is no failure.
settings.register_profile("no-deadline", deadline=None)
settings.load_profile("no-deadline")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """End-to-end tests first, of them those that are given most time."""
    items.sort(key=lambda item: (item.get_closest_marker("e2e") is None, -_seconds(item)))


def _seconds(item: pytest.Item) -> float:
    limit = item.get_closest_marker("timeout")
    return float(limit.args[0]) if limit else 0.0
