"""Protect the audit log on PostgreSQL 15; memberships have no options there."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest
from sqlalchemy import text
from sqlalchemy.exc import ProgrammingError

from service.adapters.embedded.postgres import launcher_for
from service.adapters.postgres.access.audit import PostgresAuditLog
from service.adapters.postgres.access.protection import protect_audit
from service.adapters.postgres.engine import make_engine

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

pytestmark = pytest.mark.integration

PROGRAMS: Final = Path("/usr/lib/postgresql/15/bin")  # of Debian's package


@pytest.fixture(scope="module")
def url() -> Iterator[Callable[[str, str], str]]:
    """A running server that lets everybody in; the address for a role and a database."""
    if not PROGRAMS.is_dir():
        pytest.skip("PostgreSQL 15 is not installed")
    with tempfile.TemporaryDirectory(prefix="benchgate-15-") as name:
        directory = Path(name)
        launcher, cluster = launcher_for(directory), directory / "cluster"

        def run(program: str, *words: str) -> None:
            argv = [*launcher, str(PROGRAMS / program), "-D", str(cluster), *words]
            subprocess.run(argv, check=True, capture_output=True, timeout=60)

        run("initdb", "-U", "postgres", "--auth=trust", "--no-sync")
        options = f"-c listen_addresses= -c fsync=off -k {directory}"
        run("pg_ctl", "-w", "-l", str(directory / "log"), "-o", options, "start")
        try:
            yield lambda role, database: f"postgresql://{role}@/{database}?host={directory}"
        finally:
            run("pg_ctl", "-m", "immediate", "stop")


def run(url: str, *statements: str) -> None:
    engine = make_engine(url).execution_options(isolation_level="AUTOCOMMIT")
    try:
        with engine.connect() as connection:
            for statement in statements:
                connection.execute(text(statement))
    finally:
        engine.dispose()


def sentences(url: str) -> Sequence[str]:
    engine = make_engine(url)
    try:
        return [fault.sentence for fault in PostgresAuditLog(engine).protection_faults()]
    finally:
        engine.dispose()


def test_the_log_is_protected_and_a_way_around_is_found(url: Callable[[str, str], str]) -> None:
    run(url("postgres", "postgres"), "CREATE ROLE lead LOGIN", "CREATE DATABASE one OWNER lead")
    protect_audit(url("postgres", "one"))
    assert sentences(url("lead", "one")) == []
    run(url("lead", "one"), "SELECT audit.append('override', 'ann', 'review~1/1', '{}')")
    with pytest.raises(ProgrammingError, match="permission denied"):
        run(url("lead", "one"), "DELETE FROM audit.entry")
    run(url("postgres", "one"), "GRANT benchgate_audit TO lead")
    assert sentences(url("lead", "one")) == ["lead may act as benchgate_audit"]


def test_an_owner_who_may_create_roles(url: Callable[[str, str], str]) -> None:
    run(url("postgres", "postgres"), "CREATE ROLE chief LOGIN CREATEROLE", "CREATE DATABASE two OWNER chief")
    protect_audit(url("chief", "two"))
    assert "chief, the owner of the database, may create roles" in sentences(url("chief", "two"))
