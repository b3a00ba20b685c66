"""``benchgate machine enroll`` on a real database."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from service import cli
from service.adapters.postgres.access.tokens import PostgresTokens
from service.domain.access.scopes import parse_scope
from service.domain.values.errors import BadInput
from service.wiring.control import build_control

if TYPE_CHECKING:
    from pathlib import Path

    from click.testing import Result

    from service.config.control import ControlSettings
    from service.wiring.control import Control
    from tests.support.postgres import Database

pytestmark = pytest.mark.integration


@pytest.fixture(autouse=True)
def _site(database: Database, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def build_here(settings: ControlSettings) -> Control:
        return build_control(settings.model_copy(update={"database_url": database.owner_url}))

    monkeypatch.setattr("service.cli.operating.enroll.build_control", build_here)
    monkeypatch.setenv("BENCHGATE_DATABASE_URL", "postgresql://benchgate:of-owner@db.example.com/benchgate")
    monkeypatch.setenv("BENCHGATE_REDIS_URL", "rediss://control:of-control@redis.example.com:6379/0")
    monkeypatch.setenv("BENCHGATE_BASE_URL", "https://bench.example.com")
    monkeypatch.setenv("BENCHGATE_HOME", str(tmp_path))


def enroll(name: str, folder: Path) -> Result:
    return CliRunner().invoke(cli.benchgate, ["machine", "enroll", name, "--into", str(folder)])


def test_the_two_files_are_the_owners_only_and_the_token_is_the_machines(
    database: Database, tmp_path: Path
) -> None:
    folder = tmp_path / "perf-02"
    done = enroll("perf-02", folder)

    assert done.exit_code == 0, done.output
    assert "replace PASSWORD" in done.output
    assert {path.name: path.stat().st_mode & 0o777 for path in folder.iterdir()} == {
        "worker.env": 0o600,
        "token": 0o600,
    }
    written = (folder / "worker.env").read_text()
    assert "BENCHGATE_MACHINE_NAME='perf-02'\n" in written
    assert "rediss://pool.perf:PASSWORD@redis.example.com:6379/0" in written
    assert "of-control" not in written
    assert "of-owner" not in written
    token = (folder / "token").read_text().strip()
    holder = PostgresTokens(database.owner).find(token)
    assert holder is not None
    assert holder.scopes == {parse_scope("machine:perf-02")}
    assert token not in done.output


def test_nothing_is_overwritten_and_no_token_is_made_for_nothing(database: Database, tmp_path: Path) -> None:
    enroll("perf-02", tmp_path / "perf-02")
    again = enroll("perf-02", tmp_path / "perf-02")

    assert isinstance(again.exception, BadInput)
    assert "File exists" in str(again.exception)
    assert database.value("SELECT count(*) FROM token") == 1


def test_a_bad_name_leaves_no_directory(tmp_path: Path) -> None:
    done = enroll("perf\n02", tmp_path / "perf")

    assert isinstance(done.exception, BadInput)
    assert not (tmp_path / "perf").exists()


def test_a_full_disk_leaves_neither_directory_nor_valid_token(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def write(path: Path, text: str) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("service.cli.operating.enroll._write", write)
    done = enroll("perf-02", tmp_path / "perf")

    assert isinstance(done.exception, BadInput)
    assert not (tmp_path / "perf").exists()
    assert database.value("SELECT count(*) FROM token WHERE revoked_at IS NOT NULL") == 1
