"""Read the rights of database roles, as `benchgate doctor --connections` does."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from sqlalchemy import make_url

from service.adapters.postgres.access.rights import read_rights
from service.domain.machines.connections import DatabaseRights, Path, machine_findings, owner_findings
from service.domain.machines.environment import State
from service.domain.values.errors import Transient
from tests.integration.postgres.machines.test_rights import CALLABLE

if TYPE_CHECKING:
    from tests.support.postgres import Database

pytestmark = pytest.mark.integration

HERE = Path(is_local=True, is_encrypted=False)


def bad(database: Database, role: str) -> list[str]:
    """All that is bad of a role of a machine."""
    url = make_url(database.machine_url)
    if role != "benchgate_machine":
        url = url.set(username=role, password="of-the-test")
    rights = read_rights(url.render_as_string(hide_password=False), is_machine=True)
    return [found.value for found in machine_findings(rights) if found.state is State.BAD]


def test_the_owner(database: Database) -> None:
    rights = read_rights(database.owner_url, is_machine=False)
    assert rights == DatabaseRights("benchgate", HERE, is_owner=True, functions=rights.functions)


def test_the_machine_reaches_its_functions_only(database: Database) -> None:
    rights = read_rights(database.machine_url, is_machine=True)
    assert rights == DatabaseRights("benchgate_machine", HERE, functions=len(CALLABLE))


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("GRANT SELECT ON build TO benchgate_machine", "the table public.build"),
        ("GRANT UPDATE (subject) ON change TO PUBLIC", "the table public.change"),
        ("GRANT USAGE ON SEQUENCE lease_token TO benchgate_machine", "the sequence public.lease_token"),
        ("GRANT CREATE ON SCHEMA machine TO benchgate_machine", "the right to create objects in machine"),
        (
            "CREATE FUNCTION public.further() RETURNS int LANGUAGE sql AS 'SELECT 1'",
            "the function public.further",
        ),
    ],
)
def test_a_machines_extra_grants_are_named(database: Database, statement: str, expected: str) -> None:
    database.change(statement)
    assert bad(database, "benchgate_machine") == [f"benchgate_machine can use {expected}"]


def test_a_wide_role_in_place_of_the_machines_is_named(database: Database) -> None:
    database.administer(
        "CREATE ROLE wide LOGIN PASSWORD 'of-the-test' CREATEROLE REPLICATION IN ROLE benchgate_machine",
        "CREATE ROLE super LOGIN PASSWORD 'of-the-test' SUPERUSER",
    )
    try:
        assert bad(database, "wide") == [
            "REPLICATION: wide may copy every database of the server",
            "CREATEROLE: wide may create roles, also one that changes the audit log",
            "wide can use the rights of the role benchgate_machine",
        ]
        assert bad(database, "super") == [
            "SUPERUSER: super may do everything in every database, also change the audit log"
        ]
    finally:
        database.administer("DROP ROLE wide", "DROP ROLE super")


def test_an_owner_who_may_change_the_audit_log_is_named(database: Database) -> None:
    database.administer("GRANT benchgate_audit TO benchgate")
    try:
        rights = read_rights(database.owner_url, is_machine=False)
    finally:
        database.administer("REVOKE benchgate_audit FROM benchgate")
    found = [finding.value for finding in owner_findings(rights) if finding.state is State.BAD]
    assert found == ["audit log: benchgate may act as benchgate_audit"]


def test_a_superuser_in_place_of_the_owner_is_named_once(database: Database) -> None:
    rights = read_rights(database.administrator_url, is_machine=False)
    assert [(finding.state, finding.value) for finding in owner_findings(rights)] == [
        (State.WARN, "role postgres, on this machine: not the owner"),
        (State.BAD, "audit log: postgres, which Benchgate logs in as, is a superuser"),
    ]


def test_a_refused_password_is_not_repeated(database: Database) -> None:
    url = make_url(database.owner_url).set(password="a-guess").render_as_string(hide_password=False)
    with pytest.raises(Transient, match="authentication failed") as caught:
        read_rights(url, is_machine=False)
    assert "a-guess" not in str(caught.value)
