"""Each service of the control plane records its settings in the audit log when it starts."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from service.adapters.postgres.access.audit import PostgresAuditLog
from service.domain.access.audit import AuditKind
from tests.support.waiting import eventually

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.postgres import Database

pytestmark = pytest.mark.integration


@pytest.mark.parametrize(
    ("words", "actor"),
    [
        (["serve", "--port", "0"], "benchgate serve"),
        (["worker", "--pool", "control"], "benchgate worker"),
        (["schedule"], "benchgate schedule"),
        (["listen"], "benchgate listen"),
    ],
)
def test_a_service_that_starts_records_its_settings(
    database: Database, tmp_path: Path, words: list[str], actor: str
) -> None:
    settings = {
        "DATABASE_URL": database.owner_url,
        "REDIS_URL": "redis://127.0.0.1:1",
        "HOME": str(tmp_path),
        "INSTANCE": "review",
        "GERRIT_URL": "http://127.0.0.1:1",
        "GERRIT_USER": "buildbot",
        "GERRIT_PASSWORD": "of-the-test",
        "GERRIT_SSH_HOST": "127.0.0.1",
        "GERRIT_SSH_PORT": "1",
        "GERRIT_SSH_KEY": str(tmp_path / "key"),
        "GERRIT_KNOWN_HOSTS": str(tmp_path / "known_hosts"),
    }
    log = PostgresAuditLog(database.owner)
    with subprocess.Popen(
        [sys.executable, "-m", "service.cli", *words],
        env={"PATH": os.environ["PATH"], **{f"BENCHGATE_{name}": value for name, value in settings.items()}},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as started:
        try:
            assert eventually(lambda: started.poll() is not None or bool(log.newest(1)), 30.0)
        finally:
            started.kill()
    [entry] = log.newest(9)
    assert (entry.kind, entry.actor) == (AuditKind.SETTINGS, actor)
    assert (entry.details["BENCHGATE_INSTANCE"], entry.details["BENCHGATE_GERRIT_PASSWORD"]) == (
        "review",
        "set",
    )
