"""``benchgate import``, against a real database."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from service import cli
from service.adapters.postgres.reading import PostgresReading
from service.domain.measuring.formats.row import ReadLimits
from service.domain.values.errors import BadInput

if TYPE_CHECKING:
    from pathlib import Path

    from click.testing import Result

    from tests.support.postgres import Database

pytestmark = pytest.mark.integration
_COMMIT = "a1" * 20
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


def _line(file: str, digit: str, date: str = "2025-03-01") -> str:
    return json.dumps({"file": file, "commit": digit * 40, "date": date})


def test_a_file_is_imported_once(database: Database, tmp_path: Path) -> None:
    file = str(_write(tmp_path / "old.json", 2.5))
    words = ("--new", "--commit", _COMMIT, "--date", "2025-03-01", file)
    first, again = _run(*words), _run(*words)
    assert (first.exit_code, first.stdout) == (
        0,
        f"{file}: 1 values, 1 changed; Benchgate measures 0 of them\n",
    )
    assert (again.exit_code, again.stdout) == (
        0,
        f"{file}: 1 values, 0 changed; Benchgate measures 0 of them\n",
    )
    ((moment, value),) = database.rows("SELECT moment AT TIME ZONE 'UTC', value FROM imported_value")
    assert (moment.isoformat(), value) == ("2025-03-01T00:00:00", 2.5)


def test_what_benchgate_does_not_measure_is_refused(database: Database, tmp_path: Path) -> None:
    file = str(_write(tmp_path / "old.json", 2.5))
    done = _run("--commit", _COMMIT, "--date", "2025-03-01", file)
    assert done.exit_code == 1
    assert done.stderr.startswith(f"not imported: {file}: Benchgate has measured none of its 1 series")
    assert database.value("SELECT count(*) FROM series") == 0


def test_bad_lines_of_a_list_are_named_and_the_others_are_imported(
    database: Database, tmp_path: Path
) -> None:
    _write(tmp_path / "a.json", 2.5)
    (tmp_path / "broken.json").write_text("{", encoding="utf-8")
    os.mkfifo(tmp_path / "fifo.json")
    with (tmp_path / "large.json").open("wb") as large:
        large.truncate(ReadLimits().max_bytes + 1)
    lines = [
        _line("a.json", "0"),
        "nonsense",
        _line("none.json", "1"),
        _line("a.json", "2", "yesterday"),
        _line("broken.json", "3"),
        json.dumps({"file": "a.json", "commit": "HEAD", "date": "2025-03-01"}),
        _line("fifo.json", "4"),
        _line("large.json", "5"),
        _line("a.json", "0"),
        "",
        _line("a.json", "6"),
    ]
    entries = tmp_path / "list"
    entries.write_text("\n".join(lines), encoding="utf-8")
    done = _run("--new", "--list", str(entries))
    assert done.exit_code == 1
    assert [line.split(":")[1] for line in done.stdout.splitlines()] == ["1", "11"]
    refused = [line for line in done.stderr.splitlines() if line.startswith("not imported: ")]
    assert [line.removeprefix(f"not imported: {entries}:").split(":")[0] for line in refused] == [*"23456789"]
    assert "is not a regular file" in refused[5]
    assert f"has more than {ReadLimits().max_bytes} bytes" in refused[6]
    assert refused[7].endswith("line 1 has this commit, too")
    assert database.value("SELECT count(*) FROM imported_value") == 2


def test_commits_of_one_day_stay_in_the_order_of_the_list(database: Database, tmp_path: Path) -> None:
    _write(tmp_path / "a.json", 2.5)
    entries = tmp_path / "list"
    entries.write_text("\n".join(_line("a.json", each) for each in "bca"), encoding="utf-8")
    assert _run("--new", "--list", str(entries)).exit_code == 0
    reading = PostgresReading(database.owner)
    series = database.value("SELECT id FROM series")
    assert [each.commit[0] for each in reading.trend(series, 9).imported] == [*"bca"]


def test_a_removed_import_leaves_no_series(database: Database, tmp_path: Path) -> None:
    _write(tmp_path / "a.json", 2.5)
    entries = tmp_path / "list"
    entries.write_text("\n".join(_line("a.json", each) for each in "ab"), encoding="utf-8")
    _run("--new", "--list", str(entries))
    first = _run("--remove", "--commit", "a" * 40)
    assert (first.exit_code, first.stdout) == (0, "1 values removed\n")
    assert database.value("SELECT count(*) FROM series") == 1
    assert _run("--remove").stdout == "1 values removed\n"
    assert database.value("SELECT count(*) FROM series") == 0


@pytest.mark.parametrize("words", [("--new",), ("--date", "2025-03-01"), ("--list",)])
def test_removing_takes_no_other_option(words: tuple[str, ...]) -> None:
    done = _run("--remove", *words)
    assert isinstance(done.exception, BadInput)
    assert str(done.exception).startswith("--remove: takes no file")


@pytest.mark.parametrize("words", [(), ("--list", "--commit", _COMMIT)])
def test_either_a_commit_or_a_list_is_needed(tmp_path: Path, words: tuple[str, ...]) -> None:
    done = _run(*words, str(_write(tmp_path / "old.json", 2.5)))
    assert isinstance(done.exception, BadInput)
    assert "--commit and --date of the file, or --list" in str(done.exception)
