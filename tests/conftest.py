"""Order the tests, spread them over processes, and configure generated examples.

What may take longest starts first, or one process would wait for the others. Files that wait for servers
alternate with those that compute, or a CPU would wait.
"""

from __future__ import annotations

import gc
import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest
from hypothesis import settings
from typing_extensions import override
from xdist.scheduler import LoadFileScheduling

if TYPE_CHECKING:
    from collections.abc import Iterator

    from xdist.remote import Producer

    from tests.support.postgres import Server

# An example takes as long as the other load on the machine lets it; that is no failure.
settings.register_profile("no-deadline", deadline=None)
settings.load_profile("no-deadline")


# Each HTTP client reads this file, also for plain HTTP: the machine's authorities take 50 ms, this one 4.
os.environ["SSL_CERT_FILE"] = str(Path(__file__).parent / "samples/access/no_authority.pem")

# The process that prints the table of escape attempts collects no tests, so it would not find this by itself.
pytest_plugins = ("tests.escape.table",)

# Each process that ran a test of one of these groups would start a server of its own.
TOGETHER: Final = (
    ("tests/e2e/gerrit/",),
    tuple(
        f"tests/e2e/{name}" for name in ("test_acting", "test_faults", "test_flow", "external/", "failures/")
    ),
)


class ByFile(LoadFileScheduling):  # type: ignore[misc]  # it has no types
    """One process runs all tests of a file, or of files that share a server."""

    @override
    def _split_scope(self, nodeid: str) -> str:
        shared = next((group[0] for group in TOGETHER if nodeid.startswith(group)), "")
        return shared or super()._split_scope(nodeid)


def pytest_configure() -> None:
    """Collecting tests leaves little garbage, and looking for it would take a fifth of the time."""
    gc.disable()  # until pytest_collection_finish()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """End-to-end tests first, of them those that are given most time; then files that wait between others."""
    position = _positions(items)
    items.sort(
        key=lambda item: (item.get_closest_marker("e2e") is None, -_seconds(item), position[item.path])
    )


def pytest_collection_finish() -> None:
    """Exempt what all tests share from garbage collection, which would look at it again and again.

    Tests allocate far more than Python's threshold, above all those that put a web application together.
    """
    gc.freeze()
    gc.set_threshold(20_000)
    gc.enable()


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> ByFile:
    """Run the tests of a file in one process, because they share the fixtures of a module."""
    return ByFile(config, log)


def _seconds(item: pytest.Item) -> float:
    limit = item.get_closest_marker("timeout")
    return float(limit.args[0]) if limit else 0.0


def _positions(items: list[pytest.Item]) -> dict[Path, float]:
    """The place of each file among all: files that wait for servers alternate with those that compute."""
    waits = dict.fromkeys((item.path for item in items), False)
    for item in items:
        waits[item.path] |= any(map(item.get_closest_marker, ("integration", "browser")))
    kinds = ([path for path in waits if waits[path]], [path for path in waits if not waits[path]])
    return {path: number / len(paths) for paths in kinds for number, path in enumerate(paths)}


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """Start one PostgreSQL for all tests of this process that need a database."""
    from tests.support.postgres import running_server  # noqa: PLC0415 - most processes of `make unit` need none

    with running_server() as running:
        yield running
