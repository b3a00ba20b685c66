"""Hash-chained audit log: a changed, missing or reordered entry breaks the chain."""

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
    REGRESSION_CHANGED = "regression changed"
    COMPARISON_REQUESTED = "comparison requested"
    COMPARISON_ENDED = "comparison ended"
    HOST_CLOSED = "host closed"
    HOST_REOPENED = "host reopened"
    STEP_RETRIED = "step retried"
    TOKEN_CREATED = "token created"
    TOKEN_REVOKED = "token revoked"
    SESSIONS_ENDED = "sessions ended"
    SIGN_IN_REFUSED = "sign-in refused"
    SETTINGS = "settings at start"


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEntry:
    """A stored entry. The hash covers every field, so each value has exactly one spelling.

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
        """The parsed body."""
        details: dict[str, str] = json.loads(self.body)
        return details


def body_of(details: Mapping[str, str]) -> str:
    """Serialise details as canonical JSON: equal details give equal texts."""
    return json.dumps(dict(details), ensure_ascii=False, separators=(",", ":"), sort_keys=True)


def canonical(entry: AuditEntry) -> bytes:
    """Serialise the fields that the hash covers: each in UTF-8, after its length in four bytes.

    The lengths mark where each field ends, so different entries never give the same bytes.
    """
    fields = (str(entry.id), entry.at, entry.kind, entry.actor, entry.subject, entry.body)
    texts = [field.encode() for field in fields]
    return b"".join(len(text).to_bytes(4, "big") + text for text in texts)


def hash_of(entry: AuditEntry) -> bytes:
    """Compute SHA-256 over the previous hash and the canonical bytes of the entry."""
    return sha256(entry.previous + canonical(entry)).digest()


@dataclass(frozen=True, slots=True)
class ProtectionFault:
    """A missing protection of the stored log; ``remedy`` says how to restore it."""

    sentence: str
    remedy: str

    def __str__(self) -> str:
        return self.sentence


class FaultKind(StrEnum):
    """Kinds of broken links in a chain."""

    CHANGED = "changed"  # its fields do not give its hash
    MISSING = "missing"
    OUT_OF_ORDER = "out of order"  # it does not follow the entry before it


_FAULTS: Final[Mapping[FaultKind, str]] = {
    FaultKind.CHANGED: "entry {} was changed: its hash is not that of its fields",
    FaultKind.MISSING: "entry {} is missing",
    FaultKind.OUT_OF_ORDER: "entry {} is out of order: it does not continue the chain of the entry before it",
}


@dataclass(frozen=True, slots=True)
class ChainFault:
    """The first entry that breaks a chain."""

    kind: FaultKind
    number: int

    def __str__(self) -> str:
        return _FAULTS[self.kind].format(self.number)


@dataclass(frozen=True, slots=True, kw_only=True)
class Chain:
    """The result of :func:`check_chain`.

    Args:
        count: the entries before the first fault, or all.
        head: the hash of the last of them; ``NO_ENTRY`` without one.
        fault: the first fault; later entries were not read.
        has_seen: one of the entries has the hash ``seen``.
    """

    count: int
    head: bytes
    fault: ChainFault | None
    has_seen: bool


def check_chain(entries: Iterable[AuditEntry], seen: bytes = NO_ENTRY) -> Chain:
    """Recompute every hash from the first entry on, up to the first fault.

    Args:
        entries: all entries in order.
        seen: a former head of this chain to look for; ``NO_ENTRY``: none.
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


def _fault_of(entry: AuditEntry, expected: int, head: bytes) -> ChainFault | None:
    if entry.id > expected:
        return ChainFault(FaultKind.MISSING, expected)
    if entry.id < expected:
        return ChainFault(FaultKind.OUT_OF_ORDER, entry.id)
    if hash_of(entry) != entry.hash:
        return ChainFault(FaultKind.CHANGED, entry.id)
    return None if entry.previous == head else ChainFault(FaultKind.OUT_OF_ORDER, entry.id)
