"""``benchgate audit verify``, and the settings that commands record when they start."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest
from click.testing import CliRunner
from sqlalchemy import make_url

from service import cli
from service.adapters.postgres.access.audit import PostgresAuditLog
from service.adapters.postgres.store import PostgresStore
from service.domain.access.audit import AuditKind
from service.domain.values.errors import Permanent
from tests.support.waiting import eventually

if TYPE_CHECKING:
    from click.testing import Result

    from tests.support.postgres import Database

pytestmark = pytest.mark.integration

ROOT: Final = Path(__file__).parents[4]
RESTORE: Final = "  to restore it: benchgate migrate --administrator-url-from VARIABLE"
REWRITE: Final = (
    "ALTER TABLE audit.entry DISABLE TRIGGER ALL",
    "UPDATE audit.entry SET actor = 'anN' WHERE id = 2",
    "ALTER TABLE audit.entry ENABLE ALWAYS TRIGGER refuse_changes",
)
CUT: Final = (
    "ALTER TABLE audit.entry DISABLE TRIGGER ALL",
    "DELETE FROM audit.entry WHERE id = 3",
    "ALTER TABLE audit.entry ENABLE ALWAYS TRIGGER refuse_changes",
)


def environment(database: Database, home: Path) -> dict[str, str]:
    return {
        "BENCHGATE_HOME": str(home),
        "BENCHGATE_DATABASE_URL": database.owner_url,
        "BENCHGATE_REDIS_URL": "redis://127.0.0.1:1/0",
    }


def verify(database: Database, home: Path, *words: str) -> Result:
    return CliRunner(env=environment(database, home)).invoke(cli.benchgate, ["audit", "verify", *words])


def append(database: Database, count: int) -> str:
    """Append entries; return the head."""
    with PostgresStore(database.owner).transaction() as tx:
        for _ in range(count):
            tx.audit.record_act(AuditKind.OVERRIDE, "ann", "review~7/1", {})
    [head] = PostgresAuditLog(database.owner).newest(1)
    return head.hash.hex()


def test_a_sound_log_passes_with_its_count_and_head(database: Database, tmp_path: Path) -> None:
    head = append(database, 3)
    done = verify(database, tmp_path, "--head", head)
    assert (done.exit_code, done.stdout.splitlines()) == (0, ["entries: 3", f"head: {head}"])


def test_an_empty_log_passes(database: Database, tmp_path: Path) -> None:
    done = verify(database, tmp_path)
    assert (done.exit_code, done.stdout.splitlines()) == (0, ["entries: 0", "head: -"])


def test_one_changed_byte_fails_and_names_the_entry(database: Database, tmp_path: Path) -> None:
    append(database, 3)
    database.administer(*REWRITE)
    done = verify(database, tmp_path)
    assert done.exit_code == 1
    assert done.stdout.splitlines()[-1] == "fault: entry 2 was changed: its hash is not that of its fields"


def test_removed_last_entries_are_found_by_the_head_alone(database: Database, tmp_path: Path) -> None:
    head = append(database, 3)
    database.administer(*CUT)
    assert verify(database, tmp_path).exit_code == 0
    done = verify(database, tmp_path, "--head", head)
    assert done.exit_code == 1
    assert done.stdout.splitlines()[-1] == (
        f"fault: no entry has the hash {head}: its last entries were removed, or all were written anew"
    )


def test_a_lost_protection_fails_and_says_how_to_restore_it(database: Database, tmp_path: Path) -> None:
    database.administer("ALTER TABLE audit.entry OWNER TO benchgate")
    done = verify(database, tmp_path)
    assert done.exit_code == 1
    lost = "not protected: audit.entry belongs to benchgate, not to benchgate_audit"
    assert lost in done.stdout.splitlines()
    assert done.stdout.splitlines()[-1] == RESTORE


def test_each_lost_protection_is_followed_by_its_remedy(database: Database, tmp_path: Path) -> None:
    database.administer(
        "ALTER ROLE benchgate CREATEROLE",
        "GRANT UPDATE ON audit.entry TO benchgate",
        "GRANT DELETE ON audit.entry TO benchgate",
    )
    try:
        done = verify(database, tmp_path)
    finally:
        database.administer("ALTER ROLE benchgate NOCREATEROLE")
    assert done.stdout.splitlines()[2:] == [
        "not protected: benchgate has the right DELETE on audit.entry",
        "not protected: benchgate has the right UPDATE on audit.entry",
        RESTORE,
        "not protected: benchgate, the owner of the database, may create roles",
        "  to restore it: ALTER ROLE benchgate NOCREATEROLE",
    ]


def test_an_administrator_restores_the_protection(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database.administer("ALTER TABLE audit.entry OWNER TO benchgate")
    anywhere = make_url(database.administrator_url).set(database="postgres")
    monkeypatch.setenv("ADMINISTRATOR_URL", anywhere.render_as_string(hide_password=False))
    runner = CliRunner(env=environment(database, tmp_path))
    done = runner.invoke(cli.benchgate, ["migrate", "--administrator-url-from", "ADMINISTRATOR_URL"])
    assert done.exit_code == 0, done.output
    assert verify(database, tmp_path).exit_code == 0


@pytest.mark.parametrize(("user", "password"), [("postgres", "a-guess"), ("nobody", "a-guess")])
def test_a_refused_login_of_the_administrator_names_the_variable(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, user: str, password: str
) -> None:
    refused = make_url(database.administrator_url).set(username=user, password=password)
    monkeypatch.setenv("ADMINISTRATOR_URL", refused.render_as_string(hide_password=False))
    runner = CliRunner(env=environment(database, tmp_path))
    done = runner.invoke(cli.benchgate, ["migrate", "--administrator-url-from", "ADMINISTRATOR_URL"])
    assert isinstance(done.exception, Permanent)
    assert str(done.exception).startswith("ADMINISTRATOR_URL: database: ")
    assert f'password authentication failed for user "{user}"' in str(done.exception)
    assert '"Upgrade of a compose installation" in docs/operator/operations.md' in str(done.exception)
    assert password not in str(done.exception)


def test_a_variable_without_an_address_is_named(database: Database, tmp_path: Path) -> None:
    runner = CliRunner(env=environment(database, tmp_path))
    done = runner.invoke(cli.benchgate, ["migrate", "--administrator-url-from", "NOT_THERE"])
    assert str(done.exception) == "settings: NOT_THERE is not set"


@pytest.mark.parametrize("head", ["1234", "x" * 64])
def test_an_invalid_head_is_refused(database: Database, tmp_path: Path, head: str) -> None:
    done = verify(database, tmp_path, "--head", head)
    assert str(done.exception) == (
        "--head: a head has 64 hexadecimal digits, as `benchgate audit verify` prints it"
    )


@pytest.mark.parametrize(
    "words", [("serve", "--port", "0"), ("worker", "--pool", "control")], ids=["serve", "worker"]
)
def test_a_program_records_its_settings_when_it_starts(
    database: Database, tmp_path: Path, words: tuple[str, ...]
) -> None:
    """The settings of the control worker name the Gerrit to which the votes go."""
    log = PostgresAuditLog(database.owner)
    variables = {
        **os.environ,
        **environment(database, tmp_path),
        "BENCHGATE_GERRIT_PASSWORD": "battery staple",
    }
    with (tmp_path / "log").open("wb") as output:
        argv = [sys.executable, "-m", "service.cli", *words]
        program = subprocess.Popen(argv, cwd=ROOT, env=variables, stdout=output, stderr=output)
        try:
            assert eventually(
                lambda: len(log.newest(1)) == 1 and b'"hash"' in (tmp_path / "log").read_bytes()
            )
        finally:
            program.terminate()
            program.wait(30)
    [entry] = log.newest(1)
    assert (entry.kind, entry.actor) == ("settings at start", f"benchgate {words[0]}")
    assert entry.details["BENCHGATE_GERRIT_PASSWORD"] == entry.details["BENCHGATE_DATABASE_URL"] == "set"
    assert "battery" not in entry.body
    assert f'"hash": "{entry.hash.hex()}"' in (tmp_path / "log").read_text(encoding="utf-8")
