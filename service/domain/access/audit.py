"""The audit log: entries in a chain of hashes, so that a changed or missing one is found."""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

NO_ENTRY: Final = bytes(32)  # the hash before the first entry


class AuditKind(StrEnum):
    """The acts that the log records."""

    OVERRIDE = "override"
    ACCEPT = "accept"
    UNDO = "undo"
    TRUST = "trust"
    PERSON_VOTE = "person vote"
    KNOWN_PROPOSED = "known failure proposed"
    KNOWN_CREATED = "known failure created"
    KNOWN_CHANGED = "known failure changed"
    KNOWN_CLOSED = "known failure closed"
    TOKEN_CREATED = "token created"
    TOKEN_REVOKED = "token revoked"
    SESSIONS_ENDED = "sessions ended"
    SIGN_IN_REFUSED = "sign-in refused"
    SETTINGS = "settings at start"


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEntry:
    """An entry as it is stored. The hash covers every field, so all are texts, without a second spelling.

    Args:
        id: grows by one with every entry, from 1.
        at: UTC by the database's clock, with microseconds: ``2026-03-02T12:00:00.000000Z``.
        kind: the value of an :class:`AuditKind`, of this version or a later one.
        actor: who did it: an account, a person's subject at the identity provider, or a program.
        subject: the object of the act: a patch set, a token, a host.
        body: further details, as :func:`body_of` writes them.
        previous: the hash of the entry before; ``NO_ENTRY`` for the first one.
        hash: the hash of this entry.
    """

    id: int
    at: str
    kind: str
    actor: str
    subject: str
    body: str
    previous: bytes
    hash: bytes

    @property
    def details(self) -> Mapping[str, str]:
        """The details by name."""
        details: dict[str, str] = json.loads(self.body)
        return details


def body_of(details: Mapping[str, str]) -> str:
    """Write the details of an entry; equal details give equal texts."""
    return json.dumps(dict(details), ensure_ascii=False, separators=(",", ":"), sort_keys=True)


def canonical(entry: AuditEntry) -> bytes:
    """Return the bytes that the hash of an entry covers: each field in UTF-8 behind its length in four bytes.

    No two entries with different fields share them, because a length says where its field ends.
    """
    fields = (str(entry.id), entry.at, entry.kind, entry.actor, entry.subject, entry.body)
    texts = [field.encode() for field in fields]
    return b"".join(len(text).to_bytes(4, "big") + text for text in texts)


def hash_of(entry: AuditEntry) -> bytes:
    """Compute the hash of an entry: SHA-256 of the hash before it and its canonical bytes."""
    return sha256(entry.previous + canonical(entry)).digest()


@dataclass(frozen=True, slots=True)
class ProtectionFault:
    """A protection that the stored log lacks, in a sentence; ``remedy`` says how to restore it."""

    sentence: str
    remedy: str

    def __str__(self) -> str:
        return self.sentence


class FaultKind(StrEnum):
    """The faults of a chain."""

    CHANGED = "changed"  # its fields do not give its hash
    MISSING = "missing"
    OUT_OF_ORDER = "out of order"  # it does not follow the entry before it


_FAULTS: Final[Mapping[FaultKind, str]] = {
    FaultKind.CHANGED: "entry {} was changed: its hash is not that of its fields",
    FaultKind.MISSING: "entry {} is missing",
    FaultKind.OUT_OF_ORDER: "entry {} is out of order: it does not continue the chain of the entry before it",
}


@dataclass(frozen=True, slots=True)
class Fault:
    """The first entry that breaks a chain."""

    kind: FaultKind
    number: int

    def __str__(self) -> str:
        return _FAULTS[self.kind].format(self.number)


@dataclass(frozen=True, slots=True, kw_only=True)
class Chain:
    """The result of reading a chain from its start.

    Args:
        count: the entries up to the end, or before the first fault.
        head: the hash of the last of them; ``NO_ENTRY`` without one.
        fault: the first fault; nothing behind it was read.
        has_seen: one of the entries has the hash that was asked for.
    """

    count: int
    head: bytes
    fault: Fault | None
    has_seen: bool


def check_chain(entries: Iterable[AuditEntry], seen: bytes = NO_ENTRY) -> Chain:
    """Check a chain from its first entry on, one entry at a time, with hashes computed anew.

    Args:
        entries: all entries in their order.
        seen: a hash that was the head of this chain once; ``NO_ENTRY``: none is asked for.
    """
    count, head = 0, NO_ENTRY
    has_seen = seen == NO_ENTRY
    fault = None
    for entry in entries:
        fault = _fault_of(entry, count + 1, head)
        if fault is not None:
            break
        count, head = entry.id, entry.hash
        has_seen = has_seen or head == seen
    return Chain(count=count, head=head, fault=fault, has_seen=has_seen)


def _fault_of(entry: AuditEntry, expected: int, head: bytes) -> Fault | None:
    if entry.id > expected:
        return Fault(FaultKind.MISSING, expected)
    if entry.id < expected:
        return Fault(FaultKind.OUT_OF_ORDER, entry.id)
    if hash_of(entry) != entry.hash:
        return Fault(FaultKind.CHANGED, entry.id)
    return None if entry.previous == head else Fault(FaultKind.OUT_OF_ORDER, entry.id)
