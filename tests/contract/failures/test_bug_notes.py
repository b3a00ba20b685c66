"""Store contract: a bug tracker's answers, and the counts posted there."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

import pytest

from service.adapters.postgres.failures.bug_notes import PostgresBugNotes, noted_bugs
from service.adapters.postgres.store import PostgresStore
from service.ports.failures.bugs import Bug, BugCount
from tests.support.failures.notes import DAY, HOUR, WEEK, MemoryBugNotes
from tests.support.store_samples import named, post_submit_run, start

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

    def noted(self, bug: str) -> Bug | None:
        """Return a bug as pages show it."""

    def match(self, bug: str, build: int) -> None:
        """Let the known failures of a bug match a build: the builds count from 1."""

    def wait(self, seconds: float) -> None:
        """Let time pass."""


class MemorySite:
    def __init__(self) -> None:
        self.notes = MemoryBugNotes()

    def know(self, bug: str, state: str = "confirmed") -> None:
        if bug and state in {"confirmed", "infrastructure"}:
            self.notes.bugs.add(bug)

    def noted(self, bug: str) -> Bug | None:
        return self.notes.noted_bug(bug)

    def match(self, bug: str, build: int) -> None:
        self.notes.matched.setdefault(bug, set()).add(build)

    def wait(self, seconds: float) -> None:
        self.notes.now += seconds


class PostgresSite:
    def __init__(self, database: Database) -> None:
        self.notes = PostgresBugNotes(database.owner)
        self._database = database
        self._made = 0
        self._builds = 0

    def know(self, bug: str, state: str = "confirmed") -> None:
        self._made += 1
        self._database.change(
            "INSERT INTO known_failure (pattern, instance, project, bug, state, expires_at)"
            " VALUES (:pattern, 'gerrit', 'kv_engine', :bug, :state, now())",
            pattern=f"pattern {self._made}",
            bug=bug,
            state=state,
        )

    def noted(self, bug: str) -> Bug | None:
        with self._database.owner.connect() as connection:
            return noted_bugs(connection, [bug]).get(bug)

    def match(self, bug: str, build: int) -> None:
        """Match in a run of its own: a build that is reused counts once."""
        while self._builds < build:
            self._builds += 1
            with PostgresStore(self._database.owner).transaction() as tx:
                run = start(tx, post_submit_run(f"{self._builds:040x}"))
                tx.builds.add(run, 0, named("linux", sequence=""))
        self._database.change(
            "INSERT INTO known_match (run_id, build_id, position, known_id)"
            " SELECT :build, :build, k.id, k.id FROM known_failure AS k WHERE k.bug = :bug",
            build=build,
            bug=bug,
        )

    def wait(self, seconds: float) -> None:
        for table, column in (("bug", "asked_at"), ("bug", "read_at"), ("bug_count", "posted_at")):
            earlier = f"UPDATE {table} SET {column} = {column} - make_interval(secs => :seconds)"  # noqa: S608
            self._database.change(earlier, seconds=seconds)


@pytest.fixture(params=["memory", pytest.param("postgres", marks=pytest.mark.integration)])
def site(request: pytest.FixtureRequest) -> Iterator[Site]:
    if request.param == "memory":
        yield MemorySite()
        return
    server: Server = request.getfixturevalue("server")
    with server.database() as database:
        yield PostgresSite(database)


class TestBugNotes:
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

    def test_a_bug_is_due_again_after_an_hour_behind_bugs_never_asked_for(self, site: Site) -> None:
        site.know("MB-1")
        site.know("MB-2")
        site.notes.note_bug("MB-2", OPEN)
        site.wait(60)
        site.notes.postpone_bug("MB-1", HOUR)
        assert site.notes.due_bugs(9) == []
        site.wait(HOUR + 1)
        site.know("MB-3")
        assert site.notes.due_bugs(9) == ["MB-3", "MB-2", "MB-1"]

    def test_the_last_answer_is_returned(self, site: Site) -> None:
        assert site.noted("MB-1") is None
        site.notes.note_bug("MB-1", OPEN)
        assert site.noted("MB-1") == OPEN
        site.notes.note_bug("MB-1", CLOSED)
        assert site.noted("MB-1") == CLOSED
        site.notes.note_bug("MB-1", None)
        assert site.noted("MB-1") is None

    def test_without_an_answer_the_last_one_stays_for_a_week(self, site: Site) -> None:
        site.notes.postpone_bug("MB-2", HOUR)
        assert site.noted("MB-2") is None
        site.notes.note_bug("MB-1", OPEN)
        site.wait(WEEK - 60)
        site.notes.postpone_bug("MB-1", HOUR)
        assert site.noted("MB-1") == OPEN
        site.wait(61)
        assert site.noted("MB-1") is None

    def test_a_postponed_bug_comes_after_due_bugs(self, site: Site) -> None:
        site.know("MB-1")
        site.know("MB-2")
        site.notes.note_bug("MB-2", OPEN)
        site.wait(HOUR + 1)
        site.notes.postpone_bug("MB-1", 60)
        assert site.notes.due_bugs(9) == ["MB-2"]
        site.wait(61)
        assert site.notes.due_bugs(9) == ["MB-2", "MB-1"]


class TestCounts:
    def test_the_builds_of_a_bug_are_counted_once_by_its_address(self, site: Site) -> None:
        for bug, found in (("MB-1", OPEN), (OPEN.url, OPEN), ("MB-9", None)):
            site.know(bug)
            site.notes.note_bug(bug, found)
        site.know("MB-3")  # the tracker was not asked yet
        assert list(site.notes.due_counts(9)) == []
        for bug, build in (("MB-1", 1), ("MB-1", 2), (OPEN.url, 2), (OPEN.url, 3), ("MB-9", 1), ("MB-3", 1)):
            site.match(bug, build)
        assert list(site.notes.due_counts(9)) == [BugCount(url=OPEN.url, builds=3, known_id=1)]

    def test_counts_are_due_a_few_at_a_time(self, site: Site) -> None:
        for number in range(3):
            bug = f"MB-{number}"
            site.know(bug)
            site.notes.note_bug(bug, replace(OPEN, url=f"{OPEN.url}{number}"))
            site.match(bug, 1)
        for expected in (2, 1, 0):
            due = site.notes.due_counts(2)
            assert len(due) == expected
            for count in due:
                site.notes.note_posted(count)

    def test_a_count_stays_as_it_is_until_it_is_posted(self, site: Site) -> None:
        site.know("MB-1")
        site.notes.note_bug("MB-1", OPEN)
        site.match("MB-1", 1)
        [count] = site.notes.due_counts(9)
        site.match("MB-1", 2)
        assert list(site.notes.due_counts(9)) == [count]
        site.notes.note_posted(count)
        assert list(site.notes.due_counts(9)) == []

    def test_a_count_that_changed_is_due_a_day_later(self, site: Site) -> None:
        site.know("MB-1")
        site.notes.note_bug("MB-1", OPEN)
        site.match("MB-1", 1)
        [count] = site.notes.due_counts(9)
        site.notes.note_posted(count)
        site.match("MB-1", 2)
        site.wait(DAY - 60)
        site.notes.note_bug("MB-1", OPEN)
        assert list(site.notes.due_counts(9)) == []
        site.wait(61)
        [count] = site.notes.due_counts(9)
        assert count.builds == 2
        site.notes.note_posted(count)
        site.wait(2 * DAY)
        site.notes.note_bug("MB-1", OPEN)
        assert list(site.notes.due_counts(9)) == []

    def test_a_bug_without_news_for_a_day_gets_no_posts(self, site: Site) -> None:
        site.know("MB-1")
        site.notes.note_bug("MB-1", OPEN)
        site.match("MB-1", 1)
        site.wait(DAY + 1)
        assert list(site.notes.due_counts(9)) == []
        site.notes.note_bug("MB-1", CLOSED)
        assert [count.builds for count in site.notes.due_counts(9)] == [1]
