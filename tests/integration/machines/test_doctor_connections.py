"""``benchgate doctor --connections``: each configured connection is tried, and no password is printed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest
from click.testing import CliRunner

from service.cli import EXIT_CANNOT, EXIT_OK
from service.cli.local.doctor import command
from tests.integration.adapters.runs.broker_server import running_broker
from tests.support.building.s3_server import BUCKET, s3_server
from tests.support.building.served_artifacts import TOKEN, served
from tests.support.review.gerrit_model import SECRET, GerritModel
from tests.support.web import serving

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from click.testing import Result

    from tests.integration.adapters.runs.broker_server import Broker
    from tests.support.postgres import Database, Server

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def database(server: Server) -> Iterator[Database]:
    with server.database() as fresh:
        yield fresh


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    with running_broker(tmp_path_factory.mktemp("broker")) as running:
        yield running


def gerrit(**capabilities: object) -> GerritModel:
    """Make a Gerrit that grants each account these capabilities."""
    model = GerritModel()
    model.capabilities = capabilities
    return model


def doctor(monkeypatch: pytest.MonkeyPatch, home: Path, settings: Mapping[str, str]) -> Result:
    for name, value in settings.items():
        monkeypatch.setenv(f"BENCHGATE_{name}", value)
    result = CliRunner().invoke(command, ["--connections", "--json", "--home", str(home)])
    for value in settings.values():
        password = urlsplit(value).password if "://" in value else value
        assert password is None or password not in result.output
    return result


def found(result: Result) -> list[tuple[str, str, str]]:
    findings = json.loads(result.output)["findings"]
    return [(finding["state"], finding["name"], finding["value"]) for finding in findings]


def test_nothing_is_configured(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    result = doctor(monkeypatch, tmp_path, {})
    assert result.exit_code == EXIT_OK
    assert found(result) == [
        ("unknown", "database, owner", "not configured here (BENCHGATE_DATABASE_URL)"),
        ("unknown", "database, machine", "not configured here (BENCHGATE_MACHINE_DATABASE_URL)"),
        ("unknown", "broker", "not configured here (BENCHGATE_REDIS_URL)"),
        ("unknown", "Gerrit", "not configured here (BENCHGATE_GERRIT_URL)"),
    ]


def test_the_host_of_a_machine_knows_two_connections(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, database: Database, broker: Broker
) -> None:
    settings = {"MACHINE_DATABASE_URL": database.machine_url, "REDIS_URL": broker.url("pool.perf")}
    result = doctor(monkeypatch, tmp_path, settings)
    assert result.exit_code == EXIT_OK
    assert [(state, name) for state, name, _ in found(result)] == [
        ("unknown", "database, owner"),
        ("ok", "database, machine"),
        ("ok", "broker"),
        ("unknown", "Gerrit"),
    ]


def test_rights_of_the_control_plane_on_a_machine_end_with_its_exit_code(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, database: Database, broker: Broker
) -> None:
    settings = {"MACHINE_DATABASE_URL": database.owner_url, "REDIS_URL": broker.url("control")}
    result = doctor(monkeypatch, tmp_path, settings)
    assert result.exit_code == EXIT_CANNOT
    assert ("bad", "database, machine", "benchgate owns the database") in found(result)
    value = "user control, on this machine: may read the queue of the control plane"
    assert ("warn", "broker", value) in found(result)


def test_the_account_of_an_administrator_of_gerrit(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    model = gerrit(administrateServer=True, queryLimit={"min": 0, "max": 500})
    model.upload(7, "1" * 40)
    model.readers["kv_engine"] = {"buildbot"}
    with model.serving() as url:
        monkeypatch.setenv("BENCHGATE_GERRIT_USER", "buildbot")
        settings = {"GERRIT_URL": url, "GERRIT_PASSWORD": SECRET}
        result = doctor(monkeypatch, tmp_path, settings)
    assert result.exit_code == EXIT_CANNOT
    assert [row for row in found(result) if row[1] == "Gerrit"] == [
        ("ok", "Gerrit", "account Build Bot, on this machine: reads changes and votes"),
        (
            "bad",
            "Gerrit",
            "administrateServer: Build Bot may do everything in Gerrit, also vote for everybody",
        ),
        ("warn", "Gerrit", "shows no change to readers who do not sign in, so the pages show them none"),
    ]


def test_a_gerrit_without_changes_hides_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with gerrit(streamEvents=True).serving() as url:
        monkeypatch.setenv("BENCHGATE_GERRIT_USER", "buildbot")
        result = doctor(monkeypatch, tmp_path, {"GERRIT_URL": url, "GERRIT_PASSWORD": SECRET})
    assert result.exit_code == EXIT_OK
    assert [state for state, name, _ in found(result) if name == "Gerrit"] == ["ok"]


def test_each_of_several_gerrits_has_its_own_findings(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    away = {"url": "http://127.0.0.1:1", "user": "ci", "password": "of-the-ci"}
    with gerrit(runAs=True).serving() as url:
        core = {"url": url, "user": "buildbot", "password": SECRET}
        monkeypatch.setenv("BENCHGATE_GERRITS", json.dumps({"edge": away, "core": core}))
        result = doctor(monkeypatch, tmp_path, {})
    assert result.exit_code == EXIT_CANNOT
    assert [(state, name) for state, name, _ in found(result) if name.startswith("Gerrit")] == [
        ("ok", "Gerrit core"),
        ("bad", "Gerrit core"),
        ("bad", "Gerrit edge"),
    ]
    assert "of-the" not in result.output
    assert SECRET not in result.output


@pytest.mark.parametrize(
    ("variable", "address", "name"),
    [
        ("DATABASE_URL", "postgresql://benchgate:s3cret@127.0.0.1:1/benchgate", "database, owner"),
        ("DATABASE_URL", "postgresql//benchgate:s3cret@/benchgate", "database, owner"),
        ("DATABASE_URL", "postgresql://benchgate:s3cret@host:port/benchgate", "database, owner"),
        ("DATABASE_URL", "mysql://benchgate:s3cret@127.0.0.1:1/benchgate", "database, owner"),
        ("REDIS_URL", "redis://web:s3cret@127.0.0.1:1/0", "broker"),
        ("REDIS_URL", "redis://web:s3cret@127.0.0.1:port/0", "broker"),
        ("REDIS_URL", "rediss://web:s3/cret@127.0.0.1:1/0", "broker"),
        ("REDIS_URL", "http://web:s3cret@127.0.0.1:1/0", "broker"),
        ("GERRIT_URL", "http://bot:s3cret@127.0.0.1:1", "Gerrit"),
        ("GERRIT_URL", "http://127.0.0.1:1", "Gerrit"),
    ],
)
def test_a_connection_that_fails_is_named_without_its_password(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, variable: str, address: str, name: str
) -> None:
    monkeypatch.setenv("BENCHGATE_GERRIT_USER", "buildbot")
    result = doctor(monkeypatch, tmp_path, {variable: address})
    assert result.exit_code == EXIT_CANNOT, result.output
    (value,) = (value for state, which, value in found(result) if (state, which) == ("bad", name))
    assert value.startswith("cannot be used: ")
    assert "s3" not in result.output


@pytest.mark.parametrize(
    ("token", "machine", "state", "value"),
    [
        (TOKEN, "perf-01", "ok", "machine perf-01: sends and gets them while it has a build, deletes none"),
        (TOKEN, "perf-02", "bad", "cannot be used: the control plane answers 403: this needs a token with"),
        ("bgt_old", "perf-01", "bad", "cannot be used: the control plane answers 401: the API token is not"),
    ],
)
def test_a_machine_without_the_artifact_directory_tries_its_token(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, token: str, machine: str, state: str, value: str
) -> None:
    (tmp_path / "token").write_text(token)
    with serving(served(tmp_path / "served", set())) as address:
        settings = {
            "ARTIFACTS": address,
            "MACHINE_NAME": machine,
            "MACHINE_TOKEN_FILE": str(tmp_path / "token"),
        }
        for name, text in settings.items():
            monkeypatch.setenv(f"BENCHGATE_{name}", text)
        result = CliRunner().invoke(command, ["--connections", "--json", "--home", str(tmp_path)])
    [finding] = [each for each in found(result) if each[1] == "artifacts"]
    assert (finding[0], finding[2][: len(value)]) == (state, value)


def test_the_control_plane_tries_each_right_on_its_bucket(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with s3_server(tmp_path) as server:
        for name, value in server.env.items():
            monkeypatch.setenv(name, value)
        settings = {"ARTIFACTS": f"s3://{BUCKET}/site"}
        right = doctor(monkeypatch, tmp_path / "home", settings)
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "of-nobody")
        wrong = doctor(monkeypatch, tmp_path / "home", settings)
        assert not list(server.files.rglob("*.gz"))
    assert (right.exit_code, wrong.exit_code) == (EXIT_OK, EXIT_CANNOT)
    assert ("ok", "artifacts", f"s3://{BUCKET}/site: writes, lists, reads and deletes them") in found(right)
    [value] = [value for state, name, value in found(wrong) if (state, name) == ("bad", "artifacts")]
    assert value.startswith(f"cannot be used: s3://{BUCKET}/site: artifact ")
    assert value.endswith(": access is denied (403, SignatureDoesNotMatch)")
