"""The database server of contracts that PostgreSQL keeps."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.postgres import running_server

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.postgres import Server


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    with running_server() as running:
        yield running
