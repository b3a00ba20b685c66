"""Try to change the audit log: as the database's owner, as a machine, by two writers at once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final

import pytest
from sqlalchemy import text
from sqlalchemy.exc import ProgrammingError
from structlog.testing import capture_logs

from service.adapters.postgres.access.audit import PostgresAuditLog
from service.adapters.postgres.store import PostgresStore
from service.domain.access.audit import AuditKind, ChainFault, FaultKind, check_chain
from service.domain.values.errors import Permanent

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.postgres import Database, Server

pytestmark = pytest.mark.integration

APPEND: Final = "SELECT audit.append('override', 'eve', 'review~7/1', '{}')"
OF_OWNER: Final = [
    "UPDATE audit.entry SET actor = 'eve'",
    "DELETE FROM audit.entry",
    "TRUNCATE audit.entry",
    "INSERT INTO audit.entry SELECT id + 9, at, kind, actor, subject, body, previous, hash FROM audit.entry",
    "INSERT INTO audit.entry TABLE audit.entry ON CONFLICT (id) DO UPDATE SET actor = 'eve'",
    "MERGE INTO audit.entry AS e USING audit.entry AS f ON e.id = f.id WHEN MATCHED THEN DELETE",
    "COPY audit.entry FROM STDIN",
    "SELECT * FROM audit.entry FOR UPDATE",
    "LOCK TABLE audit.entry IN SHARE ROW EXCLUSIVE MODE",
    "LOCK TABLE audit.entry IN ROW EXCLUSIVE MODE",
    "DROP TABLE audit.entry",
    "DROP SCHEMA audit CASCADE",
    "DROP TRIGGER refuse_changes ON audit.entry",
    "DROP FUNCTION audit.append",
    "DROP OWNED BY benchgate_audit",
    "DROP ROLE benchgate_audit",
    "REASSIGN OWNED BY benchgate_audit TO benchgate",
    "ALTER TABLE audit.entry DISABLE TRIGGER ALL",
    "ALTER TABLE audit.entry ALTER body TYPE varchar(1)",
    "ALTER TABLE audit.entry OWNER TO benchgate",
    "ALTER TABLE audit.entry SET SCHEMA public",
    "ALTER SCHEMA audit RENAME TO kept",
    "ALTER SCHEMA audit OWNER TO benchgate",
    "ALTER FUNCTION audit.append SECURITY INVOKER",
    "ALTER ROLE benchgate_audit LOGIN",
    "GRANT benchgate_audit TO benchgate",
    "SET ROLE benchgate_audit",
    "SET SESSION AUTHORIZATION benchgate_audit",
    "SET session_replication_role = replica",
    "CREATE TRIGGER mine BEFORE INSERT ON audit.entry EXECUTE FUNCTION audit.refuse()",
    "CREATE RULE mine AS ON INSERT TO audit.entry DO INSTEAD NOTHING",
    "CREATE TABLE audit.mine (id integer)",
    "CREATE TABLE public.mine () INHERITS (audit.entry)",
    "CREATE OR REPLACE FUNCTION audit.refuse() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'",
    "SELECT audit.refuse()",
]


def append(database: Database, *actors: str) -> None:
    with PostgresStore(database.owner).transaction() as tx:
        for actor in actors:
            tx.audit.record_act(AuditKind.OVERRIDE, actor, "review~7/1", {"reason": f"known to {actor}"})


def append_and_fail(database: Database) -> None:
    with PostgresStore(database.owner).transaction() as tx:
        tx.audit.record_act(AuditKind.OVERRIDE, "bob", "review~7/1", {})
        raise RuntimeError


def sentences(database: Database) -> list[str]:
    return [fault.sentence for fault in PostgresAuditLog(database.owner).protection_faults()]


def stored(database: Database) -> list[tuple[object, ...]]:
    return database.rows("TABLE audit.entry ORDER BY id")


@pytest.fixture(scope="module")
def kept(server: Server) -> Iterator[Database]:
    """One database for all statements that must change nothing."""
    with server.database() as fresh:
        append(fresh, "ann", "bob")
        yield fresh


@pytest.mark.parametrize("statement", OF_OWNER)
def test_the_owner_of_the_database_cannot_change_the_log(kept: Database, statement: str) -> None:
    before = stored(kept)
    with pytest.raises(ProgrammingError, match=r"permission denied|must be owner|must be able to SET ROLE"):
        kept.change(statement)
    assert stored(kept) == before
    assert list(PostgresAuditLog(kept.owner).protection_faults()) == []


def test_the_owner_appends_even_with_objects_of_the_same_names_in_the_way(database: Database) -> None:
    with database.owner.begin() as connection:
        for statement in (
            "CREATE TEMPORARY TABLE entry (LIKE audit.entry)",
            "CREATE FUNCTION public.sha256(bytea) RETURNS bytea LANGUAGE sql AS 'SELECT $1'",
            "SET LOCAL search_path = public, pg_temp, pg_catalog",
            APPEND,
        ):
            connection.execute(text(statement))
    assert check_chain(PostgresAuditLog(database.owner).entries(0, 9)).count == 1


@pytest.mark.parametrize(
    "statement", [APPEND, "TABLE audit.entry", "LOCK TABLE audit.entry IN ACCESS SHARE MODE", *OF_OWNER[:3]]
)
def test_a_machine_can_neither_append_nor_read_nor_lock(kept: Database, statement: str) -> None:
    with kept.machine.connect() as connection, pytest.raises(ProgrammingError, match="permission denied"):
        connection.execute(text(statement))


@pytest.mark.parametrize(
    "statement",
    ["UPDATE audit.entry SET actor = 'eve'", "DELETE FROM audit.entry WHERE id = 99", "TRUNCATE audit.entry"],
)
@pytest.mark.parametrize("mode", ["origin", "replica"])
def test_even_a_superuser_must_disable_the_trigger_first(
    database: Database, mode: str, statement: str
) -> None:
    append(database, "ann")
    with pytest.raises(ProgrammingError, match="the audit log refuses"):
        database.administer(f"SET LOCAL session_replication_role = {mode}", statement)


def test_writers_at_once_leave_no_gap_and_no_fork(database: Database) -> None:
    def write(writer: int) -> None:
        for number in range(10):
            append(database, f"{writer}-{number}", f"{writer}-{number}b")

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(4)))
    entries = PostgresAuditLog(database.owner).entries(0, 100)
    found = check_chain(entries)
    assert (found.count, found.fault) == (80, None)
    assert len({each.actor for each in entries}) == 80


def test_recording_in_a_transaction_keeps_no_other_from_appending(database: Database) -> None:
    """Only the last statement locks the log, so no transaction waits for a row while it holds that lock."""
    with PostgresStore(database.owner).transaction() as slow:
        slow.audit.record_act(AuditKind.OVERRIDE, "slow", "review~7/1", {})
        append(database, "quick")
    assert [each.actor for each in PostgresAuditLog(database.owner).entries(0, 9)] == ["quick", "slow"]


def test_a_value_that_postgres_refuses_is_cleaned_before_it_is_hashed(database: Database) -> None:
    append(database, "a\x00b\ud800")
    [entry] = PostgresAuditLog(database.owner).entries(0, 9)
    assert (entry.actor, entry.details) == ("a\ufffdb\ufffd", {"reason": "known to a\ufffdb\ufffd"})
    assert check_chain([entry]).fault is None


@pytest.mark.parametrize("column", ["at", "kind", "actor", "subject", "body", "previous", "hash"])
def test_one_changed_byte_names_the_entry(database: Database, column: str) -> None:
    append(database, "ann", "bob", "eve")
    changed = (
        f"set_byte({column}, 2, 255 - get_byte({column}, 2))"
        if column in {"previous", "hash"}
        else f"overlay({column} PLACING '~' FROM 3)"
    )
    database.administer(
        "ALTER TABLE audit.entry DISABLE TRIGGER ALL",
        f"UPDATE audit.entry SET {column} = {changed} WHERE id = 2",  # noqa: S608 - columns from above
        "ALTER TABLE audit.entry ENABLE ALWAYS TRIGGER refuse_changes",
    )
    log = PostgresAuditLog(database.owner)
    assert check_chain(log.entries(0, 9)).fault == ChainFault(FaultKind.CHANGED, 2)
    assert list(log.protection_faults()) == []


def test_each_entry_is_logged_once_it_is_committed(database: Database) -> None:
    with capture_logs() as logs:
        append(database, "ann")
        with pytest.raises(RuntimeError):
            append_and_fail(database)
    [entry] = PostgresAuditLog(database.owner).entries(0, 9)
    assert logs == [
        {"event": "audit.appended", "log_level": "info", "number": 1, "hash": entry.hash.hex()},
    ]


@pytest.mark.parametrize(
    ("statement", "sentence"),
    [
        (
            "ALTER TABLE audit.entry OWNER TO benchgate",
            "audit.entry belongs to benchgate, not to benchgate_audit",
        ),
        (
            "ALTER SCHEMA audit OWNER TO benchgate",
            "the schema audit belongs to benchgate, not to benchgate_audit",
        ),
        (
            "ALTER FUNCTION audit.append OWNER TO benchgate",
            "the function audit.append belongs to benchgate, not to benchgate_audit",
        ),
        (
            "ALTER FUNCTION audit.append SECURITY INVOKER",
            "the function audit.append is not that of this version",
        ),
        (
            "ALTER FUNCTION audit.append RESET search_path",
            "the function audit.append is not that of this version",
        ),
        (
            "ALTER TABLE audit.entry DISABLE TRIGGER ALL",
            "the trigger that refuses UPDATE, DELETE and TRUNCATE",
        ),
        ("ALTER TABLE audit.entry ENABLE TRIGGER refuse_changes", "the trigger that refuses UPDATE, DELETE"),
        (
            "DROP TRIGGER refuse_changes ON audit.entry",
            "the trigger that refuses UPDATE, DELETE and TRUNCATE",
        ),
        (
            "ALTER FUNCTION audit.refuse() RENAME TO agree",
            "the trigger that refuses UPDATE, DELETE and TRUNCATE on audit.entry is missing",
        ),
        ("GRANT UPDATE ON audit.entry TO benchgate", "benchgate has the right UPDATE on audit.entry"),
        ("GRANT UPDATE (actor) ON audit.entry TO benchgate", "benchgate has the right UPDATE on a column of"),
        ("GRANT SELECT ON audit.entry TO PUBLIC", "everybody has the right SELECT on audit.entry"),
        ("GRANT CREATE ON SCHEMA audit TO benchgate", "benchgate has the right CREATE on the schema audit"),
        (
            "GRANT EXECUTE ON FUNCTION audit.append TO benchgate_machine",
            "benchgate_machine has the right EXECUTE on the function audit.append",
        ),
        ("DROP SCHEMA audit CASCADE", "the table audit.entry is missing"),
    ],
)
def test_each_lost_protection_is_reported(database: Database, statement: str, sentence: str) -> None:
    database.administer(statement)
    found = sentences(database)
    assert any(each.startswith(sentence) for each in found), found


def test_a_role_that_may_act_as_the_owner_of_the_log_is_reported(database: Database) -> None:
    database.administer("GRANT benchgate_audit TO benchgate_machine")
    try:
        found = sentences(database)
    finally:
        database.administer("REVOKE benchgate_audit FROM benchgate_machine")  # roles are the server's
    assert found == ["benchgate_machine may act as benchgate_audit"]


def test_a_missing_log_is_an_error_that_says_what_to_run(database: Database) -> None:
    database.administer("DROP SCHEMA audit CASCADE")
    with pytest.raises(Permanent, match=r"the audit log cannot be read .*; run `benchgate migrate`"):
        PostgresAuditLog(database.owner).entries(0, 9)
