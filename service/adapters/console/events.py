"""The effects of Gerrit events on the state of the console review server."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

from service.domain.errors import BadEvent
from service.domain.gerrit.change import ChangeStatus, PatchSet, Person

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Mapping

_REVISION: Final = re.compile(r"[0-9a-f]{40}")
_END_OF_TIME: Final = 1 << 36  # seconds; Python has no later dates
_STATUS_AFTER: Final[Mapping[str, ChangeStatus]] = {
    "patchset-created": ChangeStatus.NEW,
    "change-merged": ChangeStatus.MERGED,
    "change-abandoned": ChangeStatus.ABANDONED,
    "change-restored": ChangeStatus.NEW,
}
# These events contain the change itself; a CI ignores the others.
_KNOWN: Final = frozenset(
    {
        *_STATUS_AFTER,
        "change-deleted",
        "comment-added",
        "vote-deleted",
        "wip-state-changed",
        "private-state-changed",
    }
)


@dataclass(frozen=True, slots=True)
class _Event:
    """The parts of an event; each may be missing."""

    kind: str
    document: Mapping[str, Any]
    change: Mapping[str, Any]
    number: int
    at: float | None


def apply_event(connection: sqlite3.Connection, document: Mapping[str, Any], now: float) -> None:
    """Update the state with an event of the stream or of a webhook.

    Old and repeated events do no harm: each patch set and message is added once, and status and flags are
    those of the newest event.

    Raises:
        BadEvent: a required key is missing; the message names it.
    """
    event = _read(document)
    if event is None:
        return
    row = connection.execute("SELECT * FROM change WHERE number = ?", (event.number,)).fetchone()
    patch_set = _patch_set(event)
    if row is None:
        if event.kind == "change-deleted" or (patch_set is None and event.kind != "patchset-created"):
            return  # the change is unknown, and the event has no patch set to review
        _insert(connection, event, now)
    elif row["is_deleted"]:
        return
    is_news = row is None or event.at is None or event.at >= row["told_at"]
    if patch_set is not None:
        _add_patch_set(connection, event.number, patch_set)
    if is_news:
        _update(connection, event, now)
    if event.kind == "change-deleted":
        _delete(connection, event.number, now)
    elif event.kind in {"comment-added", "vote-deleted"}:
        _add_comment(connection, event, patch_set, now, is_news=is_news)


def _read(document: Mapping[str, Any]) -> _Event | None:
    kind = document.get("type")
    if kind not in _KNOWN:
        return None
    change = _object(document, "change")
    number = _whole(change.get("number"))
    if number is None:
        raise BadEvent("the key 'number' is missing or not a number", "change")
    at = document.get("eventCreatedOn")
    is_time = isinstance(at, int | float) and 0 <= at < _END_OF_TIME
    return _Event(kind, document, change, number, float(at) if is_time and at is not None else None)


def _patch_set(event: _Event) -> PatchSet | None:
    """Parse the patch set of an event; None if it has none."""
    fields = _object(event.document, "patchSet")
    if not fields and event.kind != "patchset-created":
        return None
    number, revision = _whole(fields.get("number")), fields.get("revision")
    if number is None:
        raise BadEvent("the key 'number' is missing or not a number", "patchSet")
    if not isinstance(revision, str) or not _REVISION.fullmatch(revision):
        raise BadEvent("the key 'revision' is missing or not 40 hexadecimal digits", "patchSet")
    parents = fields.get("parents")
    return PatchSet(
        number=number,
        revision=revision,
        ref=_text(fields, "ref") or f"refs/changes/{event.number % 100:02}/{event.number}/{number}",
        parents=tuple(filter(_is_revision, parents)) if isinstance(parents, list) else (),
        kind=_text(fields, "kind") or "REWORK",
        author=_person(fields, "author"),
    )


def _insert(connection: sqlite3.Connection, event: _Event, now: float) -> None:
    project = _project(event)
    branch = _text(event.change, "branch") or _text(event.document, "refName").removeprefix("refs/heads/")
    for name, value in (("project", project), ("branch", branch)):
        if not value:
            raise BadEvent(f"the key '{name}' is missing or not a string", "change")
    connection.execute(
        "INSERT INTO change (number, project, branch, change_id, subject, message, owner, told_at, updated)"
        " VALUES (?, ?, ?, '', '', '', ?, ?, ?)",
        (event.number, project, branch, json.dumps(asdict(Person())), event.at or 0.0, now),
    )


def _update(connection: sqlite3.Connection, event: _Event, now: float) -> None:
    """Store the values that the newest event has; keep the others."""
    shown = {
        "branch": _text(event.change, "branch"),
        "change_id": _text(event.change, "id") or _text(_object(event.document, "changeKey"), "id", "key"),
        "subject": _text(event.change, "subject"),
        "message": _text(event.change, "commitMessage"),
        "owner": json.dumps(asdict(_person(event.change, "owner"))) if "owner" in event.change else "",
        "status": _status(event) or "",
    }
    for column, value in shown.items():
        if value:
            connection.execute(
                f"UPDATE change SET {column} = ? WHERE number = ?",  # noqa: S608 - a name from above
                (value, event.number),
            )
    # Gerrit omits a flag that is not set, so in an event with a status an absent flag is off.
    if "status" in event.change or event.kind in {"wip-state-changed", "private-state-changed"}:
        flags = (event.change.get("wip") is True, event.change.get("private") is True, event.number)
        connection.execute("UPDATE change SET is_wip = ?, is_private = ? WHERE number = ?", flags)
    if _status(event) is ChangeStatus.MERGED:
        merged_as = _text(event.document, "newRev")
        if _is_revision(merged_as):
            connection.execute("UPDATE change SET merged_as = ? WHERE number = ?", (merged_as, event.number))
    connection.execute(
        "UPDATE change SET told_at = coalesce(?, told_at), updated = max(updated, ?) WHERE number = ?",
        (event.at, now, event.number),
    )


def _status(event: _Event) -> ChangeStatus | None:
    if event.kind in _STATUS_AFTER:
        return _STATUS_AFTER[event.kind]
    shown = _text(event.change, "status")
    return ChangeStatus(shown) if shown in set(ChangeStatus) else None


def _add_patch_set(connection: sqlite3.Connection, change: int, patch_set: PatchSet) -> None:
    connection.execute(
        "INSERT INTO patch_set (change, number, revision, ref, parents, kind, author)"
        " VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
        (
            change,
            patch_set.number,
            patch_set.revision,
            patch_set.ref,
            json.dumps(patch_set.parents),
            patch_set.kind,
            json.dumps(asdict(patch_set.author)),
        ),
    )


def _delete(connection: sqlite3.Connection, number: int, now: float) -> None:
    """Delete a change except its number, so that a late event does not create it again."""
    for table in ("message", "vote", "patch_set"):
        connection.execute(f"DELETE FROM {table} WHERE change = ?", (number,))  # noqa: S608 - a name from above
    connection.execute("UPDATE change SET is_deleted = 1, updated = ? WHERE number = ?", (now, number))


def _add_comment(
    connection: sqlite3.Connection, event: _Event, patch_set: PatchSet | None, now: float, *, is_news: bool
) -> None:
    if patch_set is None:
        return
    is_removal = event.kind == "vote-deleted"
    voter = user_name(_person(event.document, "reviewer" if is_removal else "author"))
    approvals = event.document.get("approvals")
    for approval in approvals if is_news and isinstance(approvals, list) else ():
        label, value = (
            (_text(approval, "type"), approval.get("value")) if isinstance(approval, dict) else ("", 0)
        )
        if label and voter and (vote := _vote(value)) is not None:
            set_vote(connection, event.number, patch_set.number, label, voter, vote)
    text = _text(event.document, "comment")
    if text:
        author = user_name(_person(event.document, "remover" if is_removal else "author"))
        written = now if event.at is None else event.at
        connection.execute(
            "INSERT INTO message (change, patch_set, author, text, written, event) VALUES (?, ?, ?, ?, ?, ?)"
            " ON CONFLICT DO NOTHING",
            (event.number, patch_set.number, author, text, written, _digest(event)),
        )


def set_vote(
    connection: sqlite3.Connection, change: int, patch_set: int, label: str, user: str, value: int
) -> int:
    """Set a user's vote (0: none) on a patch set, and return the previous vote."""
    key = (change, patch_set, label, user)
    where = "change = ? AND patch_set = ? AND label = ? AND user = ?"
    before = connection.execute(f"SELECT value FROM vote WHERE {where}", key).fetchone()  # noqa: S608 - from above
    if value:
        connection.execute("INSERT OR REPLACE INTO vote VALUES (?, ?, ?, ?, ?)", (*key, value))
    else:
        connection.execute(f"DELETE FROM vote WHERE {where}", key)  # noqa: S608 - from above
    return int(before["value"]) if before else 0


def user_name(person: Person) -> str:
    """Return the name under which a person's votes and messages are stored."""
    return person.username or person.email or person.name


def _digest(event: _Event) -> str:
    """Compute a digest that is equal for every delivery of an event, by stream and by webhook."""
    people = [user_name(_person(event.document, key)) for key in ("author", "remover", "reviewer")]
    parts = (event.kind, event.number, event.at, *people, _text(event.document, "comment"))
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def _project(event: _Event) -> str:
    for holder in (event.change, event.document):
        project = holder.get("project")
        name = project.get("name") if isinstance(project, dict) else project
        if isinstance(name, str) and name:
            return name
    return ""


def _object(holder: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = holder.get(key)
    return value if isinstance(value, dict) else {}


def _text(holder: Mapping[str, Any], *keys: str) -> str:
    """Return the first string among the keys, without characters that databases refuse; empty if none."""
    for key in keys:
        if isinstance(text := holder.get(key), str):
            return text.replace("\0", "").encode(errors="replace").decode()
    return ""


def _whole(value: object) -> int | None:
    # Old servers send numbers as strings.
    if isinstance(value, str) and re.fullmatch(r"[0-9]{1,9}", value):
        value = int(value)
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return value if is_number and isinstance(value, int) and 0 < value < 1 << 31 else None


def _vote(value: object) -> int | None:
    # The stream sends it as a string.
    if isinstance(value, str) and re.fullmatch(r"[+-]?[0-9]{1,2}", value):
        return int(value)
    return value if isinstance(value, int) and -100 < value < 100 else None  # noqa: PLR2004 - as the pattern


def _is_revision(value: object) -> bool:
    return isinstance(value, str) and _REVISION.fullmatch(value) is not None


def _person(holder: Mapping[str, Any], key: str) -> Person:
    fields = _object(holder, key)
    return Person(_text(fields, "name"), _text(fields, "email"), _text(fields, "username"))
