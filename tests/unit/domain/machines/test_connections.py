"""Find rights of connections that are too wide, and say how to narrow them."""

from __future__ import annotations

import pytest

from service.domain.access.audit import ProtectionFault
from service.domain.machines.connections import (
    BROKER_COMMANDS,
    BrokerRights,
    DatabaseRights,
    GerritRights,
    Path,
    broker_findings,
    gerrit_findings,
    machine_findings,
    no_answer,
    not_configured,
    owner_findings,
)
from service.domain.machines.environment import MachineFinding, State

HERE = Path(is_local=True, is_encrypted=False)
TLS = Path(is_local=False, is_encrypted=True)
PLAIN = Path(is_local=False, is_encrypted=False)
OWNER = DatabaseRights("benchgate", TLS, is_owner=True)
MACHINE = DatabaseRights("benchgate_machine", TLS, functions=14)


def wide(findings: tuple[MachineFinding, ...]) -> list[tuple[State, str]]:
    """The findings that are not in order; each says how to narrow the right."""
    found = [finding for finding in findings if finding.state is not State.OK]
    assert all(finding.remedy for finding in found)
    return [(finding.state, finding.value) for finding in found]


@pytest.mark.parametrize(
    "findings",
    [
        owner_findings(OWNER),
        owner_findings(DatabaseRights("benchgate", HERE, is_owner=True)),
        machine_findings(MACHINE),
        broker_findings(BrokerRights("pool.perf", TLS), is_machine=True),
        broker_findings(BrokerRights("control", HERE, reads_control=True), is_machine=False),
        gerrit_findings(
            GerritRights("buildbot", TLS, frozenset({"queryLimit", "streamEvents"})), is_public=True
        ),
    ],
    ids=["owner", "owner here", "machine", "machine's broker", "control's broker", "Gerrit"],
)
def test_a_narrow_connection_is_one_line_that_says_who_and_how(findings: tuple[MachineFinding, ...]) -> None:
    (only,) = findings
    assert only.state is State.OK
    assert "over TLS" in only.value or "on this machine" in only.value


@pytest.mark.parametrize(
    ("attribute", "effect"),
    [
        ("SUPERUSER", "may do everything in every database"),
        ("REPLICATION", "may copy every database"),
        ("BYPASSRLS", "may pass the row security"),
        ("CREATEROLE", "may create roles"),
        ("CREATEDB", "may create databases"),
    ],
)
def test_a_machine_with_an_attribute_is_bad(attribute: str, effect: str) -> None:
    machine = DatabaseRights("benchgate_machine", TLS, frozenset({attribute}), functions=14)
    ((state, value),) = wide(tuple(machine_findings(machine)))
    assert (state, value.startswith(f"{attribute}: benchgate_machine {effect}")) == (State.BAD, True)


@pytest.mark.parametrize(("attribute", "state"), [("BYPASSRLS", State.BAD), ("CREATEDB", State.WARN)])
def test_an_attribute_that_an_owner_does_not_need_is_too_wide(attribute: str, state: State) -> None:
    owner = DatabaseRights("benchgate", TLS, frozenset({attribute}), is_owner=True)
    ((found, value),) = wide(tuple(owner_findings(owner)))
    assert (found, value.startswith(f"{attribute}: benchgate may ")) == (state, True)


def test_each_fault_of_the_audit_log_is_bad_and_is_reported_once() -> None:
    faults = (
        ProtectionFault("benchgate, the owner of the database, is a superuser", "ALTER ROLE …"),
        ProtectionFault("the schema audit belongs to benchgate", "benchgate migrate …"),
    )
    attributes = frozenset({"SUPERUSER", "REPLICATION", "CREATEDB"})
    rights = DatabaseRights("benchgate", TLS, attributes, is_owner=True, faults=faults)
    assert wide(tuple(owner_findings(rights))) == [
        (State.BAD, f"audit log: {fault.sentence}") for fault in faults
    ]
    assert [finding.remedy for finding in owner_findings(rights)][1:] == [fault.remedy for fault in faults]


def test_a_role_that_owns_nothing_is_not_the_owner() -> None:
    ((state, value),) = wide(tuple(owner_findings(DatabaseRights("reader", TLS))))
    assert state is State.WARN
    assert value == "role reader, over TLS: not the owner"


def test_all_that_a_machine_reaches_beyond_its_functions_is_bad() -> None:
    reachable = ("the table public.build", "the rights of the role benchgate")
    rights = DatabaseRights("benchgate_machine", TLS, functions=14, reachable=reachable)
    assert wide(tuple(machine_findings(rights))) == [
        (State.BAD, f"benchgate_machine can use {each}") for each in reachable
    ]


@pytest.mark.parametrize(
    ("rights", "sentence"),
    [
        (DatabaseRights("benchgate", TLS, is_owner=True, functions=14), "benchgate owns the database"),
        (DatabaseRights("machine", TLS), "role machine, over TLS: calls 0 functions of the schema machine"),
    ],
)
def test_a_machine_with_a_wrong_role_is_bad(rights: DatabaseRights, sentence: str) -> None:
    assert wide(tuple(machine_findings(rights))) == [(State.BAD, sentence)]


@pytest.mark.parametrize("command", BROKER_COMMANDS)
@pytest.mark.parametrize(("path", "state"), [(TLS, State.BAD), (HERE, State.WARN)])
def test_a_command_that_no_plane_needs_is_too_wide(command: str, path: Path, state: State) -> None:
    rights = BrokerRights("control", path, frozenset({command}), reads_control=True)
    ((found, value),) = wide(tuple(broker_findings(rights, is_machine=False)))
    assert (found, value) == (state, f"user control, {path}: may {BROKER_COMMANDS[command]}")


def test_the_user_without_a_name_is_too_wide() -> None:
    ((state, value),) = wide(tuple(broker_findings(BrokerRights("default", TLS), is_machine=True)))
    assert (state, value) == (State.BAD, "user default, over TLS: sends or takes hints")


def test_a_machine_that_reads_the_control_queue_is_bad() -> None:
    rights = BrokerRights("control", TLS, reads_control=True)
    ((state, value),) = wide(tuple(broker_findings(rights, is_machine=True)))
    assert (state, value) == (
        State.BAD,
        "user control, over TLS: may read the queue of the control plane",
    )


@pytest.mark.parametrize(
    ("capabilities", "expected"),
    [
        (
            {"administrateServer", "createProject"},
            [(State.BAD, "administrateServer: buildbot may do everything")],
        ),
        ({"runAs"}, [(State.BAD, "runAs: buildbot may act as any other account")]),
        ({"modifyAccount"}, [(State.BAD, "modifyAccount: buildbot may change the e-mail addresses")]),
        ({"killTask", "queryLimit", "createProject"}, [(State.WARN, "not needed: createProject, killTask")]),
    ],
)
def test_a_capability_that_benchgate_does_not_need_is_too_wide(
    capabilities: set[str], expected: list[tuple[State, str]]
) -> None:
    found = wide(
        tuple(gerrit_findings(GerritRights("buildbot", TLS, frozenset(capabilities)), is_public=True))
    )
    assert len(found) == len(expected)
    for (state, value), (wanted, beginning) in zip(found, expected, strict=True):
        assert (state, value.startswith(beginning)) == (wanted, True)


@pytest.mark.parametrize(("is_public", "expected"), [(True, [State.WARN]), (False, [])])
def test_a_gerrit_without_anonymous_access_is_named_if_the_pages_are_public(
    *, is_public: bool, expected: list[State]
) -> None:
    rights = GerritRights("buildbot", TLS, shows_changes=False)
    found = wide(tuple(gerrit_findings(rights, is_public=is_public)))
    assert [state for state, _ in found] == expected
    assert all(value.startswith("shows no change to readers who do not sign in") for _, value in found)


@pytest.mark.parametrize(
    "findings",
    [
        owner_findings(DatabaseRights("benchgate", PLAIN, is_owner=True)),
        machine_findings(DatabaseRights("benchgate_machine", PLAIN, functions=14)),
        broker_findings(BrokerRights("control", PLAIN), is_machine=False),
        gerrit_findings(GerritRights("buildbot", PLAIN), is_public=True),
    ],
    ids=["owner", "machine", "broker", "Gerrit"],
)
def test_no_tls_on_the_network_is_named(findings: tuple[MachineFinding, ...]) -> None:
    assert wide(tuple(findings)) == [(State.WARN, "passwords and data cross the network without TLS")]


def test_a_missing_and_a_failing_connection_are_named() -> None:
    assert not_configured("Gerrit", "BENCHGATE_GERRIT_URL") == MachineFinding(
        "Gerrit", State.UNKNOWN, "not configured here (BENCHGATE_GERRIT_URL)"
    )
    assert no_answer("broker", "no route") == MachineFinding("broker", State.BAD, "cannot be used: no route")
