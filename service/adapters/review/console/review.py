"""The console review server: its changes come from replayed events."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from typing_extensions import override

from service.adapters.review.console.events import after_event, user
from service.adapters.review.console.state import ConsoleState, load, save
from service.adapters.review.gerrit.events import ABOUT_CHANGES, document_from, event_from
from service.adapters.review.gerrit.messages import GerritMessage
from service.domain.access.caller import LOCAL_EMAIL
from service.domain.review.change import Account, Change, ChangeStatus, Posted
from service.domain.values.errors import BadEvent, NotFound, Permanent
from service.domain.values.identity import ChangeKey
from service.ports.review.server import ReviewServer

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Collection, Mapping, Sequence
    from pathlib import Path

    from service.adapters.review.console.state import StoredChange
    from service.domain.review.change import PostedMessage, Review

LABELS: Final[Mapping[str, range]] = MappingProxyType({"Verified": range(-1, 2), "Code-Review": range(-2, 3)})
_LOCAL_ACCOUNT: Final = "local"
MESSAGE_BYTES: Final = 16 << 10  # Gerrit's default change.commentSizeLimit


class ConsoleReview(ReviewServer):
    """The part of a Gerrit server that a CI needs, with Gerrit's rules, in one file.

    Several processes may use the file at once. A change's ``updated`` is the time at which this server
    received its event, so that recordings of any age can be replayed. All methods raise Transient if the
    file stays locked.

    Args:
        state: the SQLite file; created if it is missing.
        instance: its changes are stored under this name.
        account: the account that posts here.
        now: the clock.
    """

    def __init__(
        self,
        state: Path,
        instance: str,
        account: str = "benchgate",
        *,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._state = ConsoleState(state)
        self._instance = instance
        self._account = account
        self._now = now

    @property
    @override
    def instance(self) -> str:
        return self._instance

    @property
    @override
    def account(self) -> str:
        return self._account

    @override
    def for_pages(self) -> ConsoleReview:
        return self

    @override
    def now(self) -> datetime:
        return self._now()

    def apply_event(self, body: bytes | str) -> None:
        """Apply an event of Gerrit's stream or webhooks; events of unknown types are ignored.

        Raises:
            BadEvent: not an event, or a required key is missing; the message names it.
        """
        document = document_from(body)
        event = event_from(document)
        if event.type not in ABOUT_CHANGES:
            return
        if event.change is None:
            raise BadEvent("the key 'number' is missing or not a number", "change")
        key = ChangeKey(self._instance, event.change)
        with self._state.transaction() as connection:
            known = load(connection, event.change)
            if (stored := after_event(known, event, document, key, self._now())) is not None:
                save(connection, stored)

    @override
    def change(self, key: ChangeKey) -> Change:
        with self._state.connected() as connection:
            return self._stored(connection, key).current

    @override
    def changes_since(self, moment: datetime | None) -> Sequence[Change]:
        stored = self._state.changes(None if moment is None else moment.timestamp())
        return [each.current for each in stored if not each.is_deleted]

    @override
    def status_of(self, project: str, branch: str, commit: str) -> ChangeStatus | None:
        for each in self._state.changes(since=0.0):
            is_there = (each.change.project, each.change.branch) == (project, branch) and not each.is_deleted
            if is_there and commit in each.revisions.values():
                return each.change.status
        return None

    @override
    def messages(self, key: ChangeKey) -> Sequence[PostedMessage]:
        with self._state.connected() as connection:
            return [message.translated() for message in self._stored(connection, key).messages]

    @override
    def is_member(self, account: str, group: str) -> bool:
        """Return True, also without an account: only the user of this machine can write the file."""
        return True

    @override
    def account_of(self, email: str) -> Account | None:
        """Return the account of the user of this machine; nobody else has one, whatever their address is."""
        return Account(_LOCAL_ACCOUNT, _LOCAL_ACCOUNT) if email == LOCAL_EMAIL else None

    @override
    def visible(self, account: str | None, numbers: Collection[int]) -> frozenset[int]:
        """Return all changes that exist: this server hides none from anybody."""
        wanted = sorted(set(numbers))
        with self._state.connected() as connection:
            stored = {number: load(connection, number) for number in wanted}
        return frozenset(number for number, each in stored.items() if each and not each.is_deleted)

    @override
    def can_read(self, account: str | None, project: str, branch: str) -> bool:
        """Return True for every branch."""
        return True

    @override
    def post(self, review: Review) -> Posted:
        if len(review.message.encode()) > MESSAGE_BYTES:
            raise Permanent(f"the message is longer than {MESSAGE_BYTES} bytes")
        labels = {label: vote for label, vote in review.labels.items() if vote in LABELS.get(label, ())}
        with self._state.transaction() as connection:
            stored = self._stored(connection, review.change)
            patch_sets = [
                number for number, revision in stored.revisions.items() if revision == review.revision
            ]
            if not patch_sets:
                raise NotFound(f"change {review.change.number} has no revision {review.revision}")
            _refuse_vote_on_closed(stored.change.status, review)
            self._add(stored, patch_sets[0], labels, review.message)
            save(connection, stored)
        return Posted(labels)  # no inline comments: a console shows no files

    def _stored(self, connection: sqlite3.Connection, key: ChangeKey) -> StoredChange:
        stored = load(connection, key.number) if key.instance == self._instance else None
        if stored is None or stored.is_deleted:
            raise NotFound(f"change {key.number} does not exist on {key.instance}")
        return stored

    def _add(self, stored: StoredChange, patch_set: int, labels: Mapping[str, int], text: str) -> None:
        """Set the votes, and add the message in Gerrit's words; none without a new vote and a text."""
        changed = [
            f"{label}{vote:+}" if vote else f"-{label}"
            for label, vote in sorted(labels.items())
            if stored.set_vote(patch_set, label, self._account, vote) != vote
        ]
        if changed or text:
            first = " ".join([f"Patch Set {patch_set}:", *changed])
            whole = f"{first}\n\n{text}" if text else first
            message = GerritMessage(
                str(len(stored.messages) + 1), patch_set, user(self._account), self._now(), whole
            )
            stored.messages.append(message)
            stored.change = replace(stored.change, updated=max(stored.change.updated, message.written))


def _refuse_vote_on_closed(status: str, review: Review) -> None:
    if not review.labels or status == ChangeStatus.NEW:
        return
    if status == ChangeStatus.ABANDONED:
        raise Permanent("change is closed")
    raise Permanent(f"Cannot reduce vote on labels for closed change: {', '.join(sorted(review.labels))}")
