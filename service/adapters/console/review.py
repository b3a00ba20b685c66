"""The console review server: its changes come from replayed events, and it prints reviews."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from typing_extensions import override

from service.adapters.console.events import apply_event, set_vote
from service.adapters.console.rendering import ChangeTitle, shown
from service.adapters.console.state import ConsoleState
from service.domain.errors import NotFound, Permanent
from service.domain.gerrit.change import Change, ChangeStatus, PatchSet, Person, Posted, PostedMessage
from service.domain.identity import ChangeKey
from service.ports.reviewing import ReviewServer

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


class ConsoleReview(ReviewServer):
    """The part of a Gerrit server that a CI needs, with Gerrit's rules, in one file.

    Several processes may use the file at once. A change's ``updated`` is the time at which this server
    received its event, so that recordings of any age can be replayed. All methods raise Transient if the
    file stays locked.

    Args:
        state: the SQLite file; created if it is missing.
        instance: the name under which its changes are stored.
        account: the account that posts here.
        out: receives each posted message as text.
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
    @override
    def instance(self) -> str:
        return self._instance

    @property
    @override
    def account(self) -> str:
        return self._account

    @override
    def now(self) -> datetime:
        return self._now()

    def apply_event(self, document: Mapping[str, Any]) -> None:
        """Apply an event of Gerrit's stream or webhooks; events of unknown types are ignored.

        Raises:
            BadEvent: a required key is missing; the message names it.
        """
        with self._state.transaction() as connection:
            apply_event(connection, document, self._now().timestamp())

    @override
    def change(self, key: ChangeKey) -> Change:
        with self._state.snapshot() as connection:
            return self._change_from(connection, self._row(connection, key))

    @override
    def changes_since(self, moment: datetime | None) -> Sequence[Change]:
        condition, value = (
            ("change.status = ?", ChangeStatus.NEW.value)
            if moment is None
            else ("change.updated >= ?", moment.timestamp())
        )
        with self._state.snapshot() as connection:
            rows = connection.execute(_CURRENT + condition, (value,)).fetchall()
            return [self._change_from(connection, row) for row in rows]

    @override
    def messages(self, key: ChangeKey) -> Sequence[PostedMessage]:
        with self._state.snapshot() as connection:
            self._row(connection, key)
            rows = connection.execute("SELECT * FROM message WHERE change = ? ORDER BY id", (key.number,))
            return [_message_from(row) for row in rows]

    def votes(self, key: ChangeKey) -> Mapping[str, Mapping[str, int]]:
        """Read the non-zero votes on the current patch set: by label, the value by user.

        Raises:
            NotFound: there is no such change, or it was deleted.
        """
        with self._state.snapshot() as connection:
            current = self._row(connection, key)["patch_set"]
            return _votes(connection, key.number, current)

    @override
    def is_member(self, account: str, group: str) -> bool:
        """Return True for every account: only the user of this machine can write the file."""
        return bool(account)

    @override
    def post(self, review: Review) -> Posted:
        if len(review.message.encode()) > MESSAGE_BYTES:
            raise Permanent(f"the message is longer than {MESSAGE_BYTES} bytes")
        with self._state.transaction() as connection:
            row = self._row(connection, review.change)
            patch_set = _patch_set_of(connection, review)
            _refuse_vote_on_closed(row["status"], review)
            labels = {label: value for label, value in review.labels.items() if self._is_vote(label, value)}
            text = self._vote_and_describe(connection, review, patch_set, labels)
            message = self._store(connection, review.change.number, patch_set, text) if text else ""
        if message and self._out is not None:
            self._out(message)
        return Posted(labels)  # no inline comments: a console shows no files

    def rendered(self, after_id: int = 0) -> Sequence[tuple[int, str]]:
        """Return the messages posted here after a message ID, oldest first, with their text for a console."""
        with self._state.snapshot() as connection:
            rows = connection.execute(_MESSAGE + "event IS NULL AND id > ? ORDER BY id", (after_id,))
            return [(row["id"], _rendered(row)) for row in rows]

    def _row(self, connection: sqlite3.Connection, key: ChangeKey) -> sqlite3.Row:
        row: sqlite3.Row | None = None
        if key.instance == self._instance:
            row = connection.execute(_CURRENT + "change.number = ?", (key.number,)).fetchone()
        if row is None:
            raise NotFound(f"change {key.number} does not exist on {key.instance}")
        return row

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
        """Set the votes, and return the message in Gerrit's words; empty without a new vote and a text."""
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
    row = connection.execute(
        "SELECT number FROM patch_set WHERE change = ? AND revision = ?",
        (review.change.number, review.revision),
    ).fetchone()
    if row is None:
        raise NotFound(f"change {review.change.number} has no revision {review.revision}")
    return int(row["number"])


def _refuse_vote_on_closed(status: str, review: Review) -> None:
    if not review.labels or status == ChangeStatus.NEW:
        return
    if status == ChangeStatus.ABANDONED:
        raise Permanent("change is closed")
    raise Permanent(f"Cannot reduce vote on labels for closed change: {', '.join(sorted(review.labels))}")


def _rendered(row: sqlite3.Row) -> str:
    written = datetime.fromtimestamp(row["written"], UTC)
    title = ChangeTitle(row["change"], row["subject"], row["project"], row["branch"])
    return shown(title, row["author"], written, row["text"])
