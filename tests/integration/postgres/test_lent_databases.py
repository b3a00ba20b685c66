"""A lent database is like a new one, whatever the test before did."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.support.postgres import Server

pytestmark = pytest.mark.integration
NAME = "SELECT current_database()"


def test_it_has_no_rows_of_the_test_before_and_counts_from_one(server: Server) -> None:
    lent = []
    for _ in range(2):
        with server.database() as database:
            insert = "INSERT INTO event (instance, digest, type, body) VALUES ('kv', '', '', '') RETURNING id"
            first, token = database.value(insert), database.value("SELECT nextval('lease_token')")
            database.administer("DELETE FROM alembic_version")
            lent.append((database.value(NAME), first, token, database.value("SELECT count(*) FROM event")))
    assert lent[0] == lent[1] == (lent[0][0], 1, 1, 1)
    with server.database() as database:
        assert database.value("SELECT count(*) FROM alembic_version") == 1


@pytest.mark.parametrize(
    "statement",
    [
        "ALTER TABLE event ADD COLUMN mood text",
        "CREATE FUNCTION public.mood() RETURNS int LANGUAGE sql AS 'SELECT 1'",
        "GRANT SELECT ON build TO benchgate_machine",
        "GRANT UPDATE (subject) ON change TO PUBLIC",
        "GRANT CREATE ON SCHEMA machine TO benchgate_machine",
        "ALTER TABLE audit.entry OWNER TO benchgate",
        "ALTER TABLE audit.entry DISABLE TRIGGER refuse_changes",
        "DROP SCHEMA audit CASCADE",
        "DROP INDEX event_unhandled",
        "ALTER TABLE change DROP COLUMN subject",
        "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET work_mem = 128', current_database()); END $$",
        "DO $$ BEGIN EXECUTE format('GRANT TEMP ON DATABASE %I TO PUBLIC', current_database()); END $$",
    ],
)
def test_a_database_with_changed_objects_is_not_lent_again(server: Server, statement: str) -> None:
    with server.database() as database:
        name = database.value(NAME)
        database.administer(statement)
    with server.database() as other:
        assert other.value(NAME) != name
