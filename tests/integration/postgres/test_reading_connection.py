"""Connections of the read ports: they cannot write, and an ended query is transient."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from service.adapters.postgres.reading import PostgresReading
from service.domain.values.errors import Transient

if TYPE_CHECKING:
    from tests.support.postgres import Database

pytestmark = pytest.mark.integration


@pytest.fixture
def reading(database: Database) -> PostgresReading:
    return PostgresReading(database.owner)


def test_reading_cannot_write(reading: PostgresReading) -> None:
    with reading._begin() as connection:  # noqa: SLF001 - the base of every method
        assert connection.exec_driver_sql("SHOW transaction_read_only").scalar() == "on"
        assert connection.exec_driver_sql("SHOW transaction_isolation").scalar() == "repeatable read"


def test_a_query_that_the_server_ends_is_transient(reading: PostgresReading) -> None:
    with pytest.raises(Transient), reading._begin() as connection:  # noqa: SLF001 - as above
        connection.exec_driver_sql("SELECT pg_terminate_backend(pg_backend_pid())")
