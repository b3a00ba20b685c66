"""The contract of the stored answers of a bug tracker."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import pytest

from service.adapters.postgres.upkeep.bugs import PostgresBugNotes
from service.ports.failures.bugs import Bug
from tests.support.bugs.notes import HOUR, WEEK, MemoryBugNotes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from service.ports.failures.bugs import BugNotes
    from tests.support.postgres import Database, Server

OPEN = Bug(title="It hangs", state="Open", is_closed=False, url="https://bugs.example.com/browse/MB-1")
CLOSED = Bug(title="It hung", state="Closed", is_closed=True, url="https://bugs.example.com/browse/MB-1")


class Site(Protocol):
    @property
    def notes(self) -> BugNotes: ...

    def know(self, bug: str, state: str = "confirmed") -> None:
        """Add a known failure with a bug."""

    def wait(self, seconds: float) -> None:
        """Let time pass."""


class MemorySite:
    def __init__(self) -> None:
        self.notes = MemoryBugNotes()

    def know(self, bug: str, state: str = "confirmed") -> None:
        if bug and state in {"confirmed", "infrastructure"}:
            self.notes.bugs.add(bug)

    def wait(self, seconds: float) -> None:
        self.notes.now += seconds


class PostgresSite:
    def __init__(self, database: Database) -> None:
        self.notes = PostgresBugNotes(database.owner)
        self._database = database
        self._made = 0

    def know(self, bug: str, state: str = "confirmed") -> None:
        self._made += 1
        self._database.change(
            "INSERT INTO known_failure (pattern, instance, project, bug, state, expires_at)"
            " VALUES (:pattern, 'gerrit', 'kv_engine', :bug, :state, now())",
            pattern=f"pattern {self._made}",
            bug=bug,
            state=state,
        )

    def wait(self, seconds: float) -> None:
        for column in ("asked_at", "read_at"):
            earlier = f"UPDATE bug SET {column} = {column} - make_interval(secs => :seconds)"  # noqa: S608
            self._database.change(earlier, seconds=seconds)


class TestBugNotes:
    @pytest.fixture(params=["memory", pytest.param("postgres", marks=pytest.mark.integration)])
    def site(self, request: pytest.FixtureRequest) -> Iterator[Site]:
        if request.param == "memory":
            yield MemorySite()
            return
        server: Server = request.getfixturevalue("server")
        with server.database() as database:
            yield PostgresSite(database)

    def test_bugs_of_confirmed_known_failures_are_due_each_once(self, site: Site) -> None:
        for bug, state in (
            ("MB-1", "confirmed"),
            ("MB-1", "infrastructure"),
            ("MB-2", "confirmed"),
            ("MB-3", "fixed"),
            ("MB-4", "invalid"),
            ("", "confirmed"),
            ("", "untriaged"),
        ):
            site.know(bug, state)
        assert site.notes.due_bugs(9) == ["MB-1", "MB-2"]
        assert site.notes.due_bugs(1) == ["MB-1"]

    def test_a_bug_is_due_again_after_an_hour_behind_those_that_were_never_asked_for(
        self, site: Site
    ) -> None:
        site.know("MB-1")
        site.know("MB-2")
        site.notes.note_bug("MB-2", OPEN)
        site.wait(60)
        site.notes.postpone_bug("MB-1")
        assert site.notes.due_bugs(9) == []
        site.wait(HOUR + 1)
        site.know("MB-3")
        assert site.notes.due_bugs(9) == ["MB-3", "MB-2", "MB-1"]

    def test_the_last_answer_is_returned(self, site: Site) -> None:
        assert site.notes.noted_bug("MB-1") is None
        site.notes.note_bug("MB-1", OPEN)
        assert site.notes.noted_bug("MB-1") == OPEN
        site.notes.note_bug("MB-1", CLOSED)
        assert site.notes.noted_bug("MB-1") == CLOSED
        site.notes.note_bug("MB-1", None)
        assert site.notes.noted_bug("MB-1") is None

    def test_without_an_answer_the_last_one_stays_for_a_week(self, site: Site) -> None:
        site.notes.postpone_bug("MB-2")
        assert site.notes.noted_bug("MB-2") is None
        site.notes.note_bug("MB-1", OPEN)
        site.wait(WEEK - 60)
        site.notes.postpone_bug("MB-1")
        assert site.notes.noted_bug("MB-1") == OPEN
        site.wait(61)
        assert site.notes.noted_bug("MB-1") is None
