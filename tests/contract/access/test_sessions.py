"""Hold sessions to one contract, in memory and in PostgreSQL."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Protocol

import pytest

from service.adapters.postgres.access.audit import PostgresAuditLog
from service.adapters.postgres.access.sessions import PostgresSessions
from service.domain.access.caller import LONGEST_IDLE, LONGEST_SESSION, Role, User
from service.ports.access import NewSession
from tests.support.memory.audit import MemoryAuditLog
from tests.support.memory.sessions import MemorySessions

if TYPE_CHECKING:
    from collections.abc import Iterator

    from service.ports.access import AuditLog, Sessions
    from tests.support.postgres import Database, Server

ALICE = NewSession(subject="al", name="Alice", email="alice@example.com", role=Role.REVIEWER)
BOB = NewSession(subject="bo", name="Bob", email="", role=Role.READER)
SECOND = timedelta(seconds=1)


class Site(Protocol):
    @property
    def sessions(self) -> Sessions: ...

    @property
    def log(self) -> AuditLog: ...

    def wait(self, time: timedelta) -> None:
        """Let time pass."""

    def count(self) -> int:
        """Return the number of rows."""

    def uses(self) -> int:
        """Return how many uses moved the time of the last use, since this was asked before."""


class MemorySite:
    def __init__(self) -> None:
        self.sessions = MemorySessions()
        self.log = MemoryAuditLog(self.sessions.memory)
        self._seen: dict[bytes, timedelta] = {}

    def wait(self, time: timedelta) -> None:
        self.sessions.now += time

    def count(self) -> int:
        return len(list(self.sessions.stored))

    def uses(self) -> int:
        seen = {digest: self.sessions.seen_at(digest) for digest in self.sessions.stored}
        moved = sum(self._seen.get(digest) != moment for digest, moment in seen.items())
        self._seen = seen
        return moved


class PostgresSite:
    def __init__(self, database: Database) -> None:
        self.sessions = PostgresSessions(database.owner)
        self.log = PostgresAuditLog(database.owner)
        self._database = database
        self._versions: dict[bytes, str] = {}

    def wait(self, time: timedelta) -> None:
        self._database.change(
            "UPDATE session SET opened_at = opened_at - :time, seen_at = seen_at - :time", time=time
        )
        self.uses()

    def count(self) -> int:
        return int(self._database.value("SELECT count(*) FROM session"))

    def uses(self) -> int:
        versions: dict[bytes, str] = dict(self._database.rows("SELECT digest, xmin::text FROM session"))
        moved = sum(self._versions.get(digest) != version for digest, version in versions.items())
        self._versions = versions
        return moved


class TestSessions:
    @pytest.fixture(params=["memory", pytest.param("postgres", marks=pytest.mark.integration)])
    def site(self, request: pytest.FixtureRequest) -> Iterator[Site]:
        if request.param == "memory":
            yield MemorySite()
        else:
            server: Server = request.getfixturevalue("server")
            with server.database() as database:
                yield PostgresSite(database)

    def test_a_session_is_found_by_its_secret_and_never_by_its_stored_digest(self, site: Site) -> None:
        secret = site.sessions.open(ALICE)
        person = site.sessions.find(secret)
        assert person is not None
        assert person == User(
            subject="al",
            name="Alice",
            email="alice@example.com",
            role=Role.REVIEWER,
            session=person.session,
        )
        assert len(person.session) == 32
        assert secret.encode() not in person.session
        assert site.sessions.find(person.session.hex()) is None

    @pytest.mark.parametrize("secret", ["", "x", "0" * 43, "\x00", "\ud800", "é" * 5000])
    def test_an_invalid_secret_finds_nobody(self, site: Site, secret: str) -> None:
        site.sessions.open(ALICE)
        assert site.sessions.find(secret) is None

    def test_each_sign_in_has_its_own_secret_of_256_bits(self, site: Site) -> None:
        secrets = {site.sessions.open(ALICE) for _ in range(3)}
        assert len(secrets) == 3
        assert {len(secret) for secret in secrets} == {43}

    def test_texts_that_the_database_refuses_are_cleaned(self, site: Site) -> None:
        secret = site.sessions.open(NewSession(subject="n", name="a\x00b", email="", role=Role.READER))
        person = site.sessions.find(secret)
        assert person is not None
        assert len(person.name) == 3

    def test_an_idle_session_expires(self, site: Site) -> None:
        secret = site.sessions.open(ALICE)
        site.wait(LONGEST_IDLE - SECOND)
        assert site.sessions.find(secret) is not None, "and this was a use"
        site.wait(LONGEST_IDLE - SECOND)
        assert site.sessions.find(secret) is not None
        site.wait(LONGEST_IDLE + SECOND)
        assert site.sessions.find(secret) is None

    def test_a_session_in_use_expires_too(self, site: Site) -> None:
        secret = site.sessions.open(ALICE)
        steps = int(LONGEST_SESSION / timedelta(hours=1))
        for _ in range(steps - 1):
            site.wait(timedelta(hours=1))
            assert site.sessions.find(secret) is not None
        site.wait(timedelta(hours=1))
        assert site.sessions.find(secret) is None

    def test_a_use_is_stored_at_most_once_a_minute(self, site: Site) -> None:
        secret = site.sessions.open(ALICE)
        site.uses()
        site.wait(timedelta(seconds=30))
        site.sessions.find(secret)
        assert site.uses() == 0
        site.wait(timedelta(seconds=31))
        site.sessions.find(secret)
        assert site.uses() == 1
        site.sessions.find(secret)
        assert site.uses() == 0

    def test_a_closed_session_finds_nobody_and_others_stay(self, site: Site) -> None:
        first, second = site.sessions.open(ALICE), site.sessions.open(ALICE)
        person = site.sessions.find(first)
        assert person is not None
        site.sessions.close(person.session)
        site.sessions.close(person.session)
        assert site.sessions.find(first) is None
        assert site.sessions.find(second) is not None

    def test_all_sessions_of_a_person_end_at_once_and_only_theirs(self, site: Site) -> None:
        own = [site.sessions.open(ALICE) for _ in range(3)]
        other = site.sessions.open(BOB)
        assert site.sessions.close_all("al") == 3
        assert [site.sessions.find(secret) for secret in own] == [None] * 3
        assert site.sessions.find(other) is not None
        assert site.sessions.close_all("al") == 0

    @pytest.mark.parametrize(
        ("subject", "named", "ended"), [("al", "al", 2), (None, "everybody", 3), ("nobody", "", 0)]
    )
    def test_an_operator_ends_sessions_with_an_entry(
        self, site: Site, subject: str | None, named: str, ended: int
    ) -> None:
        site.sessions.open(ALICE)
        site.wait(LONGEST_IDLE + SECOND)
        secrets = [site.sessions.open(each) for each in (ALICE, ALICE, BOB)]

        assert site.sessions.end_all("command by root", subject) == ended

        assert [site.sessions.find(secret) is None for secret in secrets].count(True) == ended
        log = [(each.kind, each.actor, each.subject, each.details) for each in site.log.entries(0, 9)]
        expected = ("sessions ended", "command by root", named, {"sessions": str(ended)})
        assert log == ([expected] if ended else [])
        assert site.sessions.end_all("command by root", subject) == 0

    def test_opening_a_session_removes_expired_ones(self, site: Site) -> None:
        site.sessions.open(ALICE)
        site.wait(LONGEST_IDLE + SECOND)
        assert site.sessions.close_all("nobody") == 0
        site.sessions.open(BOB)
        assert site.count() == 1
