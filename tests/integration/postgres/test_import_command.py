"""``benchgate import``, against a real database."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from service import cli
from service.domain.values.errors import BadInput

if TYPE_CHECKING:
    from pathlib import Path

    from click.testing import Result

    from tests.support.postgres import Database

pytestmark = pytest.mark.integration
_OF = (
    "--project",
    "kv",
    "--branch",
    "master",
    "--job",
    "perf",
    "--suite",
    "executor",
    "--machine-class",
    "epyc",
)


@pytest.fixture(autouse=True)
def _site(database: Database, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("BENCHGATE_DATABASE_URL", database.owner_url)
    monkeypatch.setenv("BENCHGATE_REDIS_URL", "redis://127.0.0.1:1/0")
    monkeypatch.setenv("BENCHGATE_HOME", str(tmp_path))


def _run(*words: str) -> Result:
    return CliRunner().invoke(cli.benchgate, ["import", *_OF, *words])


def _write(path: Path, cpu_time: float) -> Path:
    row = {"name": "BM_a", "run_type": "iteration", "iterations": 1, "real_time": 9.0, "cpu_time": cpu_time}
    path.write_text(json.dumps({"context": {}, "benchmarks": [row | {"time_unit": "s"}]}), encoding="utf-8")
    return path


def test_a_file_is_imported_once(database: Database, tmp_path: Path) -> None:
    file = str(_write(tmp_path / "old.json", 2.5))
    words = ("--commit", "abc1234", "--date", "2025-03-01", file)
    first, again = _run(*words), _run(*words)
    assert (first.exit_code, first.stdout) == (0, f"{file}: 1 values, 1 new\n")
    assert (again.exit_code, again.stdout) == (0, f"{file}: 1 values, 0 new\n")
    ((moment, value),) = database.rows("SELECT moment AT TIME ZONE 'UTC', value FROM imported_value")
    assert (moment.isoformat(), value) == ("2025-03-01T00:00:00", 2.5)


def test_bad_lines_of_a_list_are_named_and_the_others_are_imported(
    database: Database, tmp_path: Path
) -> None:
    _write(tmp_path / "a.json", 2.5)
    (tmp_path / "broken.json").write_text("{", encoding="utf-8")
    good = {"file": "a.json", "commit": "abc1234", "date": "2025-03-01T12:00+02:00"}
    lines = [
        json.dumps(good),
        "nonsense",
        json.dumps(good | {"file": "none.json"}),
        json.dumps(good | {"date": "yesterday"}),
        json.dumps(good | {"file": "broken.json"}),
        json.dumps(good | {"commit": "HEAD"}),
        "",
        json.dumps(good | {"commit": "def5678"}),
    ]
    entries = tmp_path / "list"
    entries.write_text("\n".join(lines), encoding="utf-8")
    done = _run("--list", str(entries))
    assert done.exit_code == 1
    assert [line.split(":")[1] for line in done.stdout.splitlines()] == ["1", "8"]
    refused = [line for line in done.stderr.splitlines() if line.startswith("not imported: ")]
    assert [line.removeprefix(f"not imported: {entries}:").split(":")[0] for line in refused] == [*"23456"]
    assert database.value("SELECT count(*) FROM imported_value") == 2


@pytest.mark.parametrize("words", [(), ("--list", "--commit", "abc1234")])
def test_either_a_commit_or_a_list_is_needed(tmp_path: Path, words: tuple[str, ...]) -> None:
    done = _run(*words, str(_write(tmp_path / "old.json", 2.5)))
    assert isinstance(done.exception, BadInput)
    assert "--commit and --date of the file, or --list" in str(done.exception)
