"""A review server on one machine: replayed events fill it, and reviews are shown on a console."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from service.adapters.console.events import apply_event, set_vote
from service.adapters.console.rendering import shown
from service.adapters.console.state import ConsoleState
from service.domain.errors import NotFound, Permanent
from service.domain.gerrit.change import Change, ChangeStatus, PatchSet, Person, Posted, PostedMessage
from service.domain.identity import ChangeKey

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from service.domain.gerrit.change import Review

LABELS: Final[Mapping[str, tuple[int, int]]] = MappingProxyType({"Verified": (-1, 1), "Code-Review": (-2, 2)})
MESSAGE_BYTES: Final = 16 << 10  # Gerrit's default change.commentSizeLimit
_CURRENT: Final = (
    "SELECT change.*, p.number AS patch_set, p.revision, p.ref, p.parents, p.kind, p.author"
    " FROM change JOIN patch_set p ON p.change = change.number"
    " AND p.number = (SELECT max(number) FROM patch_set WHERE change = change.number)"
    " WHERE NOT change.is_deleted AND "
)
_MESSAGE: Final = (
    "SELECT message.*, subject, project, branch"
    " FROM message JOIN change ON change.number = message.change WHERE "
)


class ConsoleReview:
    """The part of a Gerrit server that a CI needs, with Gerrit's rules, in one file.

    Several processes may use the file at once. ``updated`` of a change is the time at which this server
    learned of it, so that recordings of any age can be replayed.

    Args:
        state: the SQLite file, made when missing.
        instance: the name under which its changes are stored.
        account: who posts here.
        out: gets each posted message as text.
        labels: lowest and highest vote by label.
        now: the clock.
    """

    def __init__(
        self,
        state: Path,
        instance: str,
        account: str = "benchgate",
        out: Callable[[str], None] | None = None,
        *,
        labels: Mapping[str, tuple[int, int]] = LABELS,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._state = ConsoleState(state)
        self._instance = instance
        self._account = account
        self._out = out
        self._labels = labels
        self._now = now

    @property
    def instance(self) -> str:
        """The name under which its changes are stored."""
        return self._instance

    @property
    def account(self) -> str:
        """Who posts here."""
        return self._account

    def now(self) -> datetime:
        """This server's clock."""
        return self._now()

    def apply_event(self, document: Mapping[str, Any]) -> None:
        """Take in an event as Gerrit's stream or its webhooks send it; other kinds are ignored.

        Raises:
            BadEvent: an indispensable key is missing; the message names it.
            Transient: the file stayed locked.
        """
        with self._state.transaction() as connection:
            apply_event(connection, document, self._now().timestamp())

    def change(self, key: ChangeKey) -> Change:
        """The change as it stands now.

        Raises:
            NotFound: no such change, or it was deleted.
            Transient: the file stayed locked.
        """
        with self._state.snapshot() as connection:
            return self._change_from(connection, self._row(connection, key))

    def changes_since(self, moment: datetime | None) -> Sequence[Change]:
        """Changes updated at or after then; None: all that are open."""
        condition, value = (
            ("change.status = ?", ChangeStatus.NEW.value)
            if moment is None
            else ("change.updated >= ?", moment.timestamp())
        )
        with self._state.snapshot() as connection:
            found = connection.execute(_CURRENT + condition, (value,)).fetchall()
            return [self._change_from(connection, row) for row in found]

    def messages(self, key: ChangeKey) -> Sequence[PostedMessage]:
        """All messages on a change, oldest first.

        Raises:
            NotFound: no such change, or it was deleted.
        """
        with self._state.snapshot() as connection:
            self._row(connection, key)
            found = connection.execute("SELECT * FROM message WHERE change = ? ORDER BY id", (key.number,))
            return [_message_from(row) for row in found]

    def votes(self, key: ChangeKey) -> Mapping[str, Mapping[str, int]]:
        """The votes on the current patch set: value by user by label, without zeros.

        Raises:
            NotFound: no such change, or it was deleted.
        """
        with self._state.snapshot() as connection:
            current = self._row(connection, key)["patch_set"]
            return _votes(connection, key.number, current)

    def is_member(self, account: str, group: str) -> bool:  # noqa: ARG002 - there are no groups
        """Always: whoever can write this file sits before the console."""
        return bool(account)

    def post(self, review: Review) -> Posted:
        """Post on exactly that revision, an outdated one as well; what was taken.

        Labels that are unknown or out of range are left out of the answer and nothing else, as in Gerrit.

        Raises:
            NotFound: no such change or revision.
            Permanent: a vote on a closed change, or a message that is too long.
            Transient: the file stayed locked.
        """
        if len(review.message.encode()) > MESSAGE_BYTES:
            raise Permanent(f"the message is longer than {MESSAGE_BYTES} bytes")
        with self._state.transaction() as connection:
            row = self._row(connection, review.change)
            patch_set = _patch_set_of(connection, review)
            _refuse_vote_on_closed(row["status"], review)
            labels = {label: value for label, value in review.labels.items() if self._is_vote(label, value)}
            text = self._vote_and_describe(connection, review, patch_set, labels)
            told = self._store(connection, review.change.number, patch_set, text) if text else ""
        if told and self._out is not None:
            self._out(told)
        return Posted(labels)  # it shows no lines

    def rendered(self, after_id: int = 0) -> Sequence[tuple[int, str]]:
        """What was posted here after a message's id, oldest first, as a console shows it."""
        with self._state.snapshot() as connection:
            found = connection.execute(_MESSAGE + "event IS NULL AND id > ? ORDER BY id", (after_id,))
            return [(row["id"], _rendered(row)) for row in found]

    def _row(self, connection: sqlite3.Connection, key: ChangeKey) -> sqlite3.Row:
        found: sqlite3.Row | None = None
        if key.instance == self._instance:
            found = connection.execute(_CURRENT + "change.number = ?", (key.number,)).fetchone()
        if found is None:
            raise NotFound(f"change {key.number} does not exist on {key.instance}")
        return found

    def _change_from(self, connection: sqlite3.Connection, row: sqlite3.Row) -> Change:
        return Change(
            key=ChangeKey(self._instance, row["number"]),
            project=row["project"],
            branch=row["branch"],
            change_id=row["change_id"],
            subject=row["subject"],
            status=ChangeStatus(row["status"]),
            updated=datetime.fromtimestamp(row["updated"], UTC),
            current=PatchSet(
                number=row["patch_set"],
                revision=row["revision"],
                ref=row["ref"],
                parents=tuple(json.loads(row["parents"])),
                kind=row["kind"],
                author=Person(**json.loads(row["author"])),
            ),
            message=row["message"],
            owner=Person(**json.loads(row["owner"])),
            is_wip=bool(row["is_wip"]),
            is_private=bool(row["is_private"]),
            merged_as=row["merged_as"],
            votes=_votes(connection, row["number"], row["patch_set"]),
        )

    def _is_vote(self, label: str, value: int) -> bool:
        low, high = self._labels.get(label, (1, 0))
        return low <= value <= high

    def _vote_and_describe(
        self, connection: sqlite3.Connection, review: Review, patch_set: int, labels: Mapping[str, int]
    ) -> str:
        """Set the votes; the message as Gerrit words it, empty where there is nothing to say."""
        changed = []
        for label, value in sorted(labels.items()):
            before = set_vote(connection, review.change.number, patch_set, label, self._account, value)
            if before != value:
                changed.append(f"{label}{value:+}" if value else f"-{label}")
        if not changed and not review.message:
            return ""
        first = " ".join([f"Patch Set {patch_set}:", *changed])
        return f"{first}\n\n{review.message}" if review.message else first

    def _store(self, connection: sqlite3.Connection, change: int, patch_set: int, text: str) -> str:
        now = self._now().timestamp()
        added = connection.execute(
            "INSERT INTO message (change, patch_set, author, text, written) VALUES (?, ?, ?, ?, ?)",
            (change, patch_set, self._account, text, now),
        )
        connection.execute("UPDATE change SET updated = max(updated, ?) WHERE number = ?", (now, change))
        return _rendered(connection.execute(_MESSAGE + "id = ?", (added.lastrowid,)).fetchone())


def _votes(connection: sqlite3.Connection, change: int, patch_set: int) -> dict[str, dict[str, int]]:
    votes: dict[str, dict[str, int]] = {}
    for row in connection.execute(
        "SELECT label, user, value FROM vote WHERE change = ? AND patch_set = ? AND value <> 0",
        (change, patch_set),
    ):
        votes.setdefault(row["label"], {})[row["user"]] = row["value"]
    return votes


def _message_from(row: sqlite3.Row) -> PostedMessage:
    name = row["author"]
    return PostedMessage(
        id=str(row["id"]),
        patch_set=row["patch_set"],
        author=Person(name=name, username=name, account=name),
        written=datetime.fromtimestamp(row["written"], UTC),
        text=row["text"],
    )


def _patch_set_of(connection: sqlite3.Connection, review: Review) -> int:
    found = connection.execute(
        "SELECT number FROM patch_set WHERE change = ? AND revision = ?",
        (review.change.number, review.revision),
    ).fetchone()
    if found is None:
        raise NotFound(f"change {review.change.number} has no revision {review.revision}")
    return int(found["number"])


def _refuse_vote_on_closed(status: str, review: Review) -> None:
    if not review.labels or status == ChangeStatus.NEW:
        return
    if status == ChangeStatus.ABANDONED:
        raise Permanent("change is closed")
    raise Permanent(f"Cannot reduce vote on labels for closed change: {', '.join(sorted(review.labels))}")


def _rendered(row: sqlite3.Row) -> str:
    written = datetime.fromtimestamp(row["written"], UTC)
    place = (row["change"], row["subject"], row["project"], row["branch"])
    return shown(*place, row["author"], written, row["text"])
