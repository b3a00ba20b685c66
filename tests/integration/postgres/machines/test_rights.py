"""Check the rights of the machines' role."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import text
from sqlalchemy.exc import ProgrammingError

if TYPE_CHECKING:
    from tests.support.postgres import Database

pytestmark = pytest.mark.integration

DECISION = Path(__file__).parents[4] / "docs" / "contributor" / "decisions" / "0003-two-planes.md"
# With the types of their arguments: a second form of a function is another right.
CALLABLE = {
    "machine.introduce(text,text,text,text,jsonb)",
    "machine.seconds_silent(text)",
    "machine.see(text)",
    "machine.see(text,text)",
    "machine.introduce(text,text,text,text,integer,text,jsonb)",
    "machine.introduce(text,text,text,text,integer,text,jsonb,jsonb)",
    "machine.peek(text)",
    "machine.claim(text,double precision)",
    "machine.claim(text,double precision,boolean)",
    "machine.renew(bigint,bigint,double precision,text)",
    "machine.asked_by(bigint,bigint)",
    "machine.find_binary(bigint,bigint,text)",
    "machine.keep_binary(bigint,bigint,text,text,jsonb)",
    "machine.fix_listing(bigint,bigint,jsonb)",
    "machine.pairs(bigint,bigint)",
    "machine.read_pairs(bigint,bigint)",
    "machine.record_pair(bigint,bigint,integer,text,jsonb)",
    "machine.record_pair(bigint,bigint,integer,integer,text,jsonb)",
    "machine.add_log_chunk(bigint,bigint,integer,bigint,bigint,integer,text)",
    "machine.show_log_end(bigint,bigint,bigint,bigint,bytea)",
    "machine.execute(bigint,bigint,jsonb,text)",
    "machine.report(bigint,bigint,jsonb,text)",
    "machine.explain(bigint,bigint,bytea)",
    "machine.release(bigint,bigint,double precision)",
}


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
        "SELECT machine.hold_lease(1, 1)",
        "SELECT machine.held('perf-01')",
        "SELECT machine.eligible('perf-01')",
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
        SELECT oid::regprocedure::text FROM pg_proc
        WHERE pronamespace IN ('public'::regnamespace, 'machine'::regnamespace)
          AND prorettype <> 'trigger'::regtype
          AND has_function_privilege('benchgate_machine', oid, 'execute')
    """
    assert {name for (name,) in database.rows(found)} == CALLABLE


def test_the_decision_lists_the_functions() -> None:
    listed = DECISION.read_text(encoding="utf-8").partition("schema `machine`:")[2].partition(".")[0]
    names = {function.removeprefix("machine.").partition("(")[0] for function in CALLABLE}
    assert {name.strip() for name in listed.split(",")} == names


def test_every_function_with_the_owners_rights_fixes_where_it_looks_up_names(database: Database) -> None:
    """Else a machine could put a table of its own in the way."""
    found = "SELECT proconfig FROM pg_proc WHERE prosecdef AND pronamespace = 'machine'::regnamespace"
    assert {tuple(settings) for (settings,) in database.rows(found)} == {("search_path=public, pg_temp",)}
