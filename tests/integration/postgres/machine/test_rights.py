"""The rights of the machines' role."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from sqlalchemy import text
from sqlalchemy.exc import ProgrammingError

if TYPE_CHECKING:
    from tests.support.postgres import Database

pytestmark = pytest.mark.integration

CALLABLE = {
    "introduce", "see", "claim", "renew", "find_binary", "keep_binary", "fix_listing", "pairs", "read_pairs",
    "record_pair", "execute", "release",
}  # fmt: skip


def refused(database: Database, statement: str) -> bool:
    with database.machine.connect() as connection, pytest.raises(ProgrammingError, match="permission denied"):
        connection.execute(text(statement))
    return True


def test_a_machine_reads_and_writes_no_table(database: Database) -> None:
    tables = database.rows("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
    assert {("build",), ("alembic_version",), ("result_default",)} <= set(tables)
    for (table,) in tables:
        for statement in ("TABLE {}", "INSERT INTO {} DEFAULT VALUES", "DELETE FROM {}", "TRUNCATE {}"):
            assert refused(database, statement.format(table))


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT ensure_partitions(current_date, 1)",
        "SELECT machine.hold(1, 1)",
        "SELECT nextval('lease_token')",
        "SELECT setval('lease_token', 1)",
        "CREATE TABLE public.mine (id integer)",
        "CREATE FUNCTION machine.mine() RETURNS int LANGUAGE sql AS 'SELECT 1'",
    ],
)
def test_a_machine_runs_nothing_of_the_control_plane(database: Database, statement: str) -> None:
    assert refused(database, statement)


def test_a_machine_calls_exactly_the_functions_made_for_it(database: Database) -> None:
    found = """
        SELECT proname FROM pg_proc
        WHERE pronamespace IN ('public'::regnamespace, 'machine'::regnamespace)
          AND prorettype <> 'trigger'::regtype
          AND has_function_privilege('benchgate_machine', oid, 'execute')
    """
    assert {name for (name,) in database.rows(found)} == CALLABLE


def test_every_function_with_the_owners_rights_fixes_where_it_looks_up_names(database: Database) -> None:
    """Else a machine could put a table of its own in the way."""
    found = "SELECT proconfig FROM pg_proc WHERE prosecdef AND pronamespace = 'machine'::regnamespace"
    assert {tuple(settings) for (settings,) in database.rows(found)} == {("search_path=public, pg_temp",)}
