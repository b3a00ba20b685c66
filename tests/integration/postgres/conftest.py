"""A database for each test."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from service.adapters.postgres.store import PostgresStore
from service.adapters.postgres.upkeep import PostgresUpkeep

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.postgres import Database, Server


@pytest.fixture
def database(server: Server) -> Iterator[Database]:
    with server.database() as fresh:
        yield fresh


@pytest.fixture
def store(database: Database) -> PostgresStore:
    return PostgresStore(database.owner)


@pytest.fixture
def upkeep(database: Database) -> PostgresUpkeep:
    return PostgresUpkeep(database.owner)
