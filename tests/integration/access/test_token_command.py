"""``benchgate token`` on a real database."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from service import cli
from service.adapters.postgres.access.audit import PostgresAuditLog
from service.adapters.postgres.access.sessions import PostgresSessions
from service.adapters.postgres.access.tokens import PostgresTokens
from service.domain.access.caller import Role
from service.domain.access.scopes import parse_scope
from service.domain.values.errors import NotFound
from service.ports.access import NewSession, NewToken

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from click.testing import Result

    from tests.support.postgres import Database, Server

pytestmark = pytest.mark.integration


@pytest.fixture
def database(server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Database]:
    with server.database() as fresh:
        monkeypatch.setenv("BENCHGATE_DATABASE_URL", fresh.owner_url)
        monkeypatch.setenv("BENCHGATE_REDIS_URL", "redis://127.0.0.1:1/0")
        monkeypatch.setenv("BENCHGATE_HOME", str(tmp_path))
        yield fresh


def benchgate(*words: str) -> Result:
    return CliRunner().invoke(cli.benchgate, ["token", *words])


def test_stdout_is_only_the_tokens_text_and_shows_it_once(database: Database) -> None:
    made = benchgate("create", "nightly", "--scope", "read", "--scope", "report:platform/kv/linux")

    assert made.exit_code == 0, made.output
    assert made.stdout.startswith("bgt_")
    assert made.stdout.count("\n") == 1
    assert "store it now: Benchgate cannot show it again" in made.stderr
    holder = PostgresTokens(database.owner).find(made.stdout.strip())
    assert holder is not None
    assert holder.scopes == {parse_scope("read"), parse_scope("report:platform/kv/linux")}
    for shown in (benchgate("list"), benchgate("list", "--json")):
        assert made.stdout.strip() not in shown.output
    stored = str(database.rows("SELECT * FROM token")) + str(database.rows("SELECT digest::text FROM token"))
    assert made.stdout.strip() not in stored


def test_a_revoked_token_ends_at_once(database: Database) -> None:
    text = benchgate("create", "nightly", "--scope", "read").stdout.strip()
    revoked, again = benchgate("revoke", "1"), benchgate("revoke", "1")

    logged, answer = revoked.stderr.splitlines()
    assert json.loads(logged)["event"] == "audit.appended"
    assert (answer, again.stderr) == ("revoked token 1", "token 1 had already ended\n")
    assert PostgresTokens(database.owner).find(text) is None
    assert "revoked 2" in benchgate("list").stdout


def test_a_person_loses_tokens_and_sessions_and_the_log_says_by_which_command(database: Database) -> None:
    tokens, sessions = PostgresTokens(database.owner), PostgresSessions(database.owner)
    ann = NewSession(subject="s-1", name="Ann", email="ann@example.com", role=Role.OPERATOR)
    secrets = [sessions.open(each) for each in (ann, replace(ann, subject="s-2"))]
    new = NewToken(
        name="ci",
        scopes=frozenset({parse_scope("report:kv/linux")}),
        lifetime=timedelta(days=90),
        created_by="ann",
    )
    texts = [tokens.add(replace(new, subject=subject))[1] for subject in ("s-1", "s-2", "")]
    assert "created by ann (subject s-1)" in benchgate("list").stdout

    done = benchgate("revoke", "--person", "s-1")

    assert done.stderr.splitlines()[-1] == "ended sessions: 1; revoked tokens: 1"
    assert [sessions.find(secret) is None for secret in secrets] == [True, False]
    assert [tokens.find(text) is None for text in texts] == [True, False, False]
    assert isinstance(benchgate("revoke", "--person", "s-1").exception, NotFound)

    done = benchgate("revoke", "--all")

    assert done.stderr.splitlines()[-1] == "ended sessions: 1; revoked tokens: 2"
    assert [sessions.find(secret) for secret in secrets] == [None, None]
    assert [tokens.find(text) for text in texts] == [None, None, None]
    assert benchgate("revoke", "--all").exit_code == 0
    log = PostgresAuditLog(database.owner).entries(3, 9)
    assert [(entry.kind, entry.subject) for entry in log] == [
        ("sessions ended", "s-1"),
        ("token revoked", "token 1"),
        ("sessions ended", "everybody"),
        ("token revoked", "token 2"),
        ("token revoked", "token 3"),
    ]
    assert {entry.actor.partition(" by ")[0] for entry in log} == {"command"}


@pytest.mark.usefixtures("database")
@pytest.mark.parametrize(
    "words", [(), ("1", "--all"), ("--person", "s-1", "--all"), ("1", "--person", "s-1")]
)
def test_a_revocation_without_one_aim_names_the_three(words: tuple[str, ...]) -> None:
    done = benchgate("revoke", *words)
    assert str(done.exception) == "revoke: give one of: ID, --person SUBJECT, --all"


def test_tokens_are_listed_as_json(database: Database) -> None:
    made = json.loads(benchgate("create", "ci", "--scope", "operate", "--days", "90", "--json").stdout)
    listed = json.loads(benchgate("list", "--json").stdout)

    assert made.pop("token").startswith("bgt_")
    assert {**made, "schema_version": 1} == {"schema_version": 1, **listed["tokens"][0]}
    assert (made["id"], made["scopes"], made["used_at"]) == (1, ["operate"], None)


@pytest.mark.usefixtures("database")
def test_without_tokens_the_list_says_how_to_make_one() -> None:
    shown = benchgate("list")
    assert (shown.stdout, shown.exit_code) == ("", 0)
    assert "`benchgate token create --help`" in shown.stderr


@pytest.mark.usefixtures("database")
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("create", "x"), "Missing option '--scope'"),
        (("create", "x", "--scope", "read", "--days", "91"), "days: 91 is out of range; allowed is 1 to 90"),
        (("create", "x", "--scope", "write"), "a scope is read, operate, report:PROJECT/JOB or machine:NAME"),
        (("revoke", "x"), "'x' is not a valid integer"),
    ],
)
def test_a_mistake_names_the_allowed_values(words: tuple[str, ...], message: str) -> None:
    done = benchgate(*words)
    assert done.exit_code != 0
    assert message in done.output + str(done.exception)


@pytest.mark.usefixtures("database")
def test_an_unknown_token_cannot_be_revoked() -> None:
    assert isinstance(benchgate("revoke", "7").exception, NotFound)
