"""Keep the console's file through several processes, ended processes, other versions and damage."""

from __future__ import annotations

import json
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Final

import pytest
from pydantic import TypeAdapter
from structlog.testing import capture_logs

from service.adapters.review.console.review import ConsoleReview
from service.adapters.review.console.state import ConsoleState, StoredChange
from service.domain.review.change import ChangeStatus, Review
from service.domain.values.errors import Permanent, Transient
from service.domain.values.identity import ChangeKey

pytestmark = pytest.mark.integration

SAMPLES: Final = Path(__file__).parents[3] / "samples"
RECORDED: Final = SAMPLES / "console" / "stored-change.json"
CREATED: Final = SAMPLES / "gerrit" / "stream-patchset-created.json"
ABANDONED: Final = SAMPLES / "gerrit" / "stream-change-abandoned.json"
FIRST: Final = "e56acc924a4bc8aa0b1a93f480297040f1a91e7b"
ONE, TWO = ChangeKey("gerrit", 1), ChangeKey("gerrit", 2)
PROGRAM: Final = f"""
import os, pathlib, signal, sys
from service.adapters.review.console.review import ConsoleReview
from service.adapters.review.console.state import ConsoleState, load, save
from service.domain.review.change import Review
from service.domain.values.identity import ChangeKey
path = pathlib.Path(sys.argv[1])
review = ConsoleReview(path, "gerrit")
review.apply_event(pathlib.Path({str(CREATED)!r}).read_text())
for number in range(10):
    review.post(Review(ChangeKey("gerrit", 1), {FIRST!r}, f"{{sys.argv[2]}} {{number}}", {{"Verified": 1}}))
"""
# Ends between the write of a change and its commit.
KILLED: Final = """
with ConsoleState(path).transaction() as connection:
    stored = load(connection, 1)
    stored.messages.clear()
    save(connection, stored)
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "review.sqlite3"


@pytest.fixture
def review(path: Path) -> ConsoleReview:
    review = ConsoleReview(path, "gerrit")
    review.apply_event(CREATED.read_bytes())
    review.apply_event(ABANDONED.read_bytes())
    return review


def write(path: Path, statement: str, *values: object) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(statement, values)


def start(path: Path, program: str, name: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", program, str(path), name])


def texts(review: ConsoleReview) -> list[str]:
    return [message.text.rpartition("\n")[2] for message in review.messages(ONE)]


def test_the_state_outlives_the_process(review: ConsoleReview, path: Path) -> None:
    assert ConsoleReview(path, "gerrit").change(ONE) == review.change(ONE)


def test_processes_that_start_and_post_at_once_lose_nothing(path: Path) -> None:
    processes = [start(path, PROGRAM, str(number)) for number in range(4)]
    assert [process.wait(60) for process in processes] == [0] * 4
    review = ConsoleReview(path, "gerrit")
    assert len(texts(review)) == 40
    assert sum("Verified+1" in message.shown for message in review.messages(ONE)) == 1


def test_a_process_killed_during_a_write_loses_no_post(path: Path) -> None:
    assert start(path, PROGRAM + KILLED, "before").wait(60) == -signal.SIGKILL
    review = ConsoleReview(path, "gerrit")
    review.post(Review(ONE, FIRST, "after"))
    assert texts(review) == [*(f"before {number}" for number in range(10)), "after"]


def test_a_reader_does_not_wait_for_a_writer(review: ConsoleReview, path: Path) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as writer:
        writer.execute("BEGIN EXCLUSIVE")
        writer.execute("DELETE FROM stored_change")
        assert ConsoleReview(path, "gerrit").change(ONE) == review.change(ONE)
        assert [change.key for change in review.changes_since(None)] == [ONE]


def test_a_writer_does_not_wait_for_a_reader(review: ConsoleReview, path: Path) -> None:
    with closing(sqlite3.connect(path)) as reader:
        rows = reader.execute("SELECT number FROM stored_change")
        assert rows.fetchone() is not None
        review.post(Review(ONE, FIRST, "at once"))
        assert rows.fetchone() is not None
    assert texts(review) == ["at once"]


def test_a_recorded_document_can_still_be_read() -> None:
    """After a failure here, raise the version in state.py and record the document again."""
    documents, recorded = TypeAdapter(StoredChange), json.loads(RECORDED.read_bytes())
    stored = documents.validate_json(RECORDED.read_bytes())
    assert is_part(recorded, json.loads(documents.dump_json(stored)))
    assert (stored.change.key, stored.change.status) == (ONE, ChangeStatus.MERGED)
    assert stored.votes == {1: {"Verified": {}, "Code-Review": {"bob": 1}}}


def is_part(part: object, whole: object) -> bool:
    """Return whether a document has every field of another, with the same value."""
    if isinstance(part, dict) and isinstance(whole, dict):
        return all(key in whole and is_part(value, whole[key]) for key, value in part.items())
    if isinstance(part, list) and isinstance(whole, list):
        return len(part) == len(whole) and all(map(is_part, part, whole))
    return part == whole


@pytest.mark.parametrize(
    "old",
    [
        "CREATE TABLE change (number INTEGER PRIMARY KEY) STRICT",
        "CREATE TABLE stored_change (number INTEGER PRIMARY KEY, updated REAL, document BLOB) STRICT",
    ],
)
def test_a_file_from_before_the_version_was_stored_is_refused(path: Path, old: str) -> None:
    write(path, old)
    with pytest.raises(Permanent, match=r"another version of Benchgate wrote .*delete the file"):
        ConsoleState(path)


def test_a_file_of_a_later_version_is_refused(review: ConsoleReview, path: Path) -> None:
    write(path, "PRAGMA user_version = 1000")
    with pytest.raises(Permanent, match="another version of Benchgate wrote"):
        ConsoleState(path)


@pytest.mark.parametrize("document", [b"{", b"{}", b"\xff"])
def test_a_document_that_cannot_be_read_hides_no_other_change(
    review: ConsoleReview, path: Path, document: bytes
) -> None:
    updated = review.change(ONE).updated
    write(path, "UPDATE stored_change SET document = ? WHERE number = 1", document)
    with capture_logs() as logs:
        assert [change.key for change in review.changes_since(updated)] == [TWO]
    assert [(entry["event"], entry["change"]) for entry in logs] == [("console.change_unreadable", 1)]
    with pytest.raises(Permanent, match="change 1 cannot be read"):
        review.change(ONE)
    with pytest.raises(Permanent, match="change 1 cannot be read"):
        review.apply_event(CREATED.read_bytes())


def test_the_list_of_open_changes_reads_no_other_document(review: ConsoleReview, path: Path) -> None:
    write(path, "UPDATE stored_change SET document = x'00' WHERE number = 2")
    with capture_logs() as logs:
        assert [change.key for change in review.changes_since(None)] == [ONE]
    assert logs == []


def test_a_damaged_file_is_reported(path: Path) -> None:
    path.write_bytes(b"not a database, but long enough to be taken for one" * 100)
    with pytest.raises(Permanent, match=r"review\.sqlite3"):
        ConsoleReview(path, "gerrit")


def test_a_missing_directory_is_reported_at_once(tmp_path: Path) -> None:
    with pytest.raises(Transient, match="unable to open"):
        ConsoleState(tmp_path / "missing" / "review.sqlite3")
