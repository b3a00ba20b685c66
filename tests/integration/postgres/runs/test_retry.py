"""The command `benchgate retry`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from service import cli
from service.domain.runs.states import RunState
from service.domain.values.errors import BadInput
from service.ports.runs.queue import Task
from tests.support.store_samples import change, check_run

if TYPE_CHECKING:
    from pathlib import Path

    from service.adapters.postgres.store import PostgresStore
    from service.adapters.postgres.upkeep import PostgresUpkeep
    from tests.support.postgres import Database

pytestmark = pytest.mark.integration


def test_what_was_given_up_is_listed_until_it_is_retried(
    store: PostgresStore,
    upkeep: PostgresUpkeep,
    database: Database,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    with store.transaction() as tx:
        tx.runs.add(check_run(tx.changes.upsert(change()).patch_set_id))
        tx.runs.end(1, RunState.REFUSED)
    upkeep.record_step_failure(Task.PLAN, 1, "ValueError: \x1b[31m a defect", max_attempts=1)
    upkeep.record_step_failure(Task.RECONCILE, 1, "no route", max_attempts=1)
    for name, value in (("REDIS_URL", "redis://127.0.0.1:1/0"), ("INSTANCE", "review")):
        monkeypatch.setenv(f"BENCHGATE_{name}", value)
    monkeypatch.setenv("BENCHGATE_DATABASE_URL", database.owner_url)
    monkeypatch.setenv("BENCHGATE_HOME", str(tmp_path))

    def command(*words: str) -> str:
        done = CliRunner().invoke(cli.benchgate, ["retry", *words], catch_exceptions=False)
        assert done.exit_code == 0, done.output
        return done.output

    (line,) = command().splitlines()
    assert line.startswith("plan 1  Benchgate gave up planning change 7, which failed once: ValueError: ")
    assert "\x1b" not in line
    with pytest.raises(BadInput, match="vote 1 does not fail"):
        command("vote", "1")
    assert command("--all").endswith("plan 1 begins anew\n")
    assert command().endswith("no step fails\n")
    assert database.rows("SELECT state FROM run ORDER BY id") == [("refused",), ("planning",)]
    assert database.value("SELECT subject FROM audit.entry") == "plan 1"
