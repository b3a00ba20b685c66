"""``benchgate prune``, against a real database."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

import pytest
from click.testing import CliRunner

from service import cli
from service.adapters.building.artifacts import DirectoryArtifacts
from service.adapters.postgres.runs.retention import PostgresRetention
from service.domain.runs.retention import Kind, policy_with
from service.domain.values.errors import BadInput, Permanent
from tests.contract.runs.test_retention import PostgresSite

if TYPE_CHECKING:
    from pathlib import Path

    from click.testing import Result

    from tests.support.postgres import Database

pytestmark = pytest.mark.integration
EVENT: Final = (
    "INSERT INTO event (instance, type, digest, body, received_at, handled_at)"
    " VALUES ('console', 'x', '', '', now() - interval '31 days', now())"
)


@pytest.fixture(autouse=True)
def _site(database: Database, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("BENCHGATE_DATABASE_URL", database.owner_url)
    monkeypatch.setenv("BENCHGATE_REDIS_URL", "redis://127.0.0.1:1/0")
    monkeypatch.setenv("BENCHGATE_HOME", str(tmp_path))
    monkeypatch.setenv("BENCHGATE_RETENTION", "{}")


def _prune(*words: str) -> Result:
    return CliRunner().invoke(cli.benchgate, ["prune", *words], catch_exceptions=True)


def test_a_dry_run_says_what_would_go_and_deletes_nothing(database: Database, tmp_path: Path) -> None:
    database.change(EVENT)
    artifacts = DirectoryArtifacts(tmp_path / "artifacts")
    key = artifacts.put(b"x" * 9)
    path = next(tmp_path.glob("artifacts/*/*/*.gz"))
    os.utime(path, (0, 0))
    lines = _prune("--dry-run").stdout.splitlines()
    rows = {line[: len("merged-programs")].strip(): line.split() for line in lines}
    size = str(path.stat().st_size)
    assert rows["events"][-5:] == ["30", "days", "1", "0", "B"]
    assert rows["merged-pairs"][-3:] == ["for", "ever", "0"]
    assert rows["unneeded files"][2:] == ["1", size, "B", "24", "hours", "1", size, "B"]
    assert (database.value("SELECT count(*) FROM event"), path.exists()) == (1, True)
    refused = _prune("--force", "--kind", "logs"), _prune()
    assert [type(each.exception) for each in refused] == [BadInput, Permanent]
    assert path.exists()
    artifacts.mark(str(database.value("SELECT id FROM site")))
    database.change(EVENT)

    assert set(_prune().stderr.splitlines()) >= {
        "events: deleted 1, older than 30 days",
        "unneeded files: deleted 1",
    }
    assert (database.value("SELECT count(*) FROM event"), path.exists()) == (0, False)
    assert key[0] in {part for (part,) in database.rows("SELECT part FROM stored_size")}


def test_one_kind_can_be_deleted_alone_and_pairs_need_days(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    database.change(EVENT)
    assert _prune("--kind", "logs").exit_code == 0
    refused = _prune("--kind", "pairs").exception
    assert isinstance(refused, BadInput)
    assert str(refused) == "--kind: pairs are kept for ever; set BENCHGATE_RETENTION of the schedule"
    monkeypatch.setenv("BENCHGATE_RETENTION", '{"pairs": 60, "events": 40}')
    assert _prune("--kind", "pairs").exit_code == 0
    assert "40 days" in _prune("--dry-run", "--kind", "events").stdout
    assert database.value("SELECT count(*) FROM event") == 1
    monkeypatch.setenv("BENCHGATE_RETENTION", '{"events": 1}')
    assert "BENCHGATE_RETENTION: events: must be" in str(_prune("--dry-run").exception)


def test_the_days_are_those_of_the_schedule(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    database.change(EVENT)
    monkeypatch.delenv("BENCHGATE_RETENTION")
    assert "the schedule has not stored its days yet: start it" in str(_prune().exception)
    PostgresRetention(database.owner).keep_policy(policy_with({"events": 400}))
    assert _prune().exit_code == 0
    monkeypatch.setenv("BENCHGATE_RETENTION", '{"events": 7}')
    assert "keeps events 7 days here, and 400 days in the schedule" in str(_prune().exception)
    assert database.value("SELECT count(*) FROM event") == 1
    monkeypatch.delenv("BENCHGATE_RETENTION")
    PostgresRetention(database.owner).keep_policy(policy_with({"events": 29}))
    assert "events: deleted 1, older than 29 days" in _prune().stderr


def test_a_dry_run_tells_the_bytes_of_files_that_go_with_their_records(
    database: Database, tmp_path: Path
) -> None:
    site, artifacts = PostgresSite(database), DirectoryArtifacts(tmp_path / "artifacts")
    keys = [artifacts.put(content) for content in (b"old", b"young, and longer", b"of today")]
    for key, days in zip(keys, (200, 20, 200), strict=True):
        site.leave(Kind.LOGS, site.add_build(days), key, days=days)
    sizes = {each.key: each.size for each in artifacts.listed("")}
    for path in tmp_path.glob("artifacts/*/*/*.gz"):
        if keys[2] not in path.name:
            os.utime(path, (0, 0))
    [logs] = [line for line in _prune("--dry-run").stdout.splitlines() if line.startswith("logs ")]
    assert logs.split()[-5:] == ["90", "days", "2", str(sizes[keys[0]]), "B"]
