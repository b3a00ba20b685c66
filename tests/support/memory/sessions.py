"""Sessions in memory, with a clock that a test sets forward."""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from typing_extensions import override

from service.domain.access.audit import AuditKind
from service.domain.access.caller import LONGEST_IDLE, LONGEST_SESSION, SEEN_PRECISION, User
from service.ports.access import NewSession, Sessions, sessions_subject
from tests.support.memory.audit import MemoryAudit
from tests.support.memory.state import Memory

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass
class _Stored:
    person: User
    opened_at: timedelta
    seen_at: timedelta


class MemorySessions(Sessions):
    """Sessions of people; ``found`` counts the questions, and the memory has the audit log."""

    def __init__(self, memory: Memory | None = None) -> None:
        self.memory = memory or Memory()
        self.now = timedelta(0)
        self.found = 0
        self._stored: dict[bytes, _Stored] = {}

    @property
    def stored(self) -> Iterable[bytes]:
        """The digests of the sessions that are stored."""
        return self._stored.keys()

    def seen_at(self, session: bytes) -> timedelta:
        """Return the time of the last use that is stored."""
        return self._stored[session].seen_at

    @override
    def open(self, session: NewSession) -> str:
        self._stored = {key: each for key, each in self._stored.items() if not self._is_over(each)}
        secret = secrets.token_urlsafe(32)
        digest = _digest(secret)
        person = User(
            subject=session.subject,
            name=session.name,
            email=session.email,
            role=session.role,
            session=digest,
        )
        self._stored[digest] = _Stored(person, self.now, self.now)
        return secret

    @override
    def find(self, secret: str) -> User | None:
        self.found += 1
        stored = self._stored.get(_digest(secret))
        if stored is None or self._is_over(stored):
            return None
        if stored.seen_at < self.now - SEEN_PRECISION:
            stored.seen_at = self.now
        return stored.person

    @override
    def close(self, session: bytes) -> None:
        self._stored.pop(session, None)

    @override
    def close_all(self, subject: str) -> int:
        own = [key for key, each in self._stored.items() if each.person.subject == subject]
        return sum(not self._is_over(self._stored.pop(key)) for key in own)

    @override
    def end_all(self, by: str, subject: str | None = None) -> int:
        everybody = {each.person.subject for each in self._stored.values()}
        count = sum(self.close_all(each) for each in (everybody if subject is None else {subject}))
        if count:
            details = {"sessions": str(count)}
            audit = MemoryAudit(self.memory)
            audit.record_act(AuditKind.SESSIONS_ENDED, by, sessions_subject(subject), details)
        return count

    def _is_over(self, stored: _Stored) -> bool:
        return stored.opened_at <= self.now - LONGEST_SESSION or stored.seen_at <= self.now - LONGEST_IDLE


def _digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode(errors="replace")).digest()
