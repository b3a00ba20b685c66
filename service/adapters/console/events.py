"""What a Gerrit event changes in the console review server's state."""

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
_END_OF_TIME: Final = 1 << 36  # seconds; later ones are no dates for Python
_STATUS_AFTER: Final[Mapping[str, ChangeStatus]] = {
    "patchset-created": ChangeStatus.NEW,
    "change-merged": ChangeStatus.MERGED,
    "change-abandoned": ChangeStatus.ABANDONED,
    "change-restored": ChangeStatus.NEW,
}
# Their documents show the change itself; the rest is no concern of a CI.
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
class _Told:
    """An event's parts, whichever of them it has."""

    kind: str
    document: Mapping[str, Any]
    change: Mapping[str, Any]
    number: int
    at: float | None


def apply_event(connection: sqlite3.Connection, document: Mapping[str, Any], now: float) -> None:
    """Bring the state up to date with an event of either dialect.

    Events that are older than what is known, or come again, change nothing they should not: patch sets
    and messages are added once, and status and flags stay as the newest event told them.

    Raises:
        BadEvent: a key is missing without which the change cannot be held; the message names it.
    """
    told = _read(document)
    if told is None:
        return
    row = connection.execute("SELECT * FROM change WHERE number = ?", (told.number,)).fetchone()
    patch_set = _patch_set(told)
    if row is None:
        if told.kind == "change-deleted" or (patch_set is None and told.kind != "patchset-created"):
            return  # nothing is known of it, and nothing to review was told
        _insert(connection, told, now)
    elif row["is_deleted"]:
        return
    is_news = row is None or told.at is None or told.at >= row["told_at"]
    if patch_set is not None:
        _add_patch_set(connection, told.number, patch_set)
    if is_news:
        _update(connection, told, now)
    if told.kind == "change-deleted":
        _delete(connection, told.number, now)
    elif told.kind in {"comment-added", "vote-deleted"}:
        _add_comment(connection, told, patch_set, now, is_news=is_news)


def _read(document: Mapping[str, Any]) -> _Told | None:
    kind = document.get("type")
    if kind not in _KNOWN:
        return None
    change = _object(document, "change")
    number = _whole(change.get("number"))
    if number is None:
        raise BadEvent("the key 'number' is missing or not a number", "change")
    at = document.get("eventCreatedOn")
    is_time = isinstance(at, int | float) and 0 <= at < _END_OF_TIME
    return _Told(kind, document, change, number, float(at) if is_time and at is not None else None)


def _patch_set(told: _Told) -> PatchSet | None:
    """The patch set that an event names; None where it names none."""
    found = _object(told.document, "patchSet")
    if not found and told.kind != "patchset-created":
        return None
    number, revision = _whole(found.get("number")), found.get("revision")
    if number is None:
        raise BadEvent("the key 'number' is missing or not a number", "patchSet")
    if not isinstance(revision, str) or not _REVISION.fullmatch(revision):
        raise BadEvent("the key 'revision' is missing or not 40 hexadecimal digits", "patchSet")
    parents = found.get("parents")
    return PatchSet(
        number=number,
        revision=revision,
        ref=_text(found, "ref") or f"refs/changes/{told.number % 100:02}/{told.number}/{number}",
        parents=tuple(filter(_is_revision, parents)) if isinstance(parents, list) else (),
        kind=_text(found, "kind") or "REWORK",
        author=_person(found, "author"),
    )


def _insert(connection: sqlite3.Connection, told: _Told, now: float) -> None:
    project = _project(told)
    branch = _text(told.change, "branch") or _text(told.document, "refName").removeprefix("refs/heads/")
    for name, value in (("project", project), ("branch", branch)):
        if not value:
            raise BadEvent(f"the key '{name}' is missing or not a text", "change")
    connection.execute(
        "INSERT INTO change (number, project, branch, change_id, subject, message, owner, told_at, updated)"
        " VALUES (?, ?, ?, '', '', '', ?, ?, ?)",
        (told.number, project, branch, json.dumps(asdict(Person())), told.at or 0.0, now),
    )


def _update(connection: sqlite3.Connection, told: _Told, now: float) -> None:
    """Store what the newest event shows of the change; what it does not show stays."""
    shown = {
        "branch": _text(told.change, "branch"),
        "change_id": _text(told.change, "id") or _text(_object(told.document, "changeKey"), "id", "key"),
        "subject": _text(told.change, "subject"),
        "message": _text(told.change, "commitMessage"),
        "owner": json.dumps(asdict(_person(told.change, "owner"))) if "owner" in told.change else "",
        "status": _status(told) or "",
    }
    for column, value in shown.items():
        if value:
            connection.execute(
                f"UPDATE change SET {column} = ? WHERE number = ?",  # noqa: S608 - a name from above
                (value, told.number),
            )
    # Gerrit leaves a flag out when it is not set, so an absent one is news wherever the change is shown.
    if "status" in told.change or told.kind in {"wip-state-changed", "private-state-changed"}:
        flags = (told.change.get("wip") is True, told.change.get("private") is True, told.number)
        connection.execute("UPDATE change SET is_wip = ?, is_private = ? WHERE number = ?", flags)
    if _status(told) is ChangeStatus.MERGED:
        merged_as = _text(told.document, "newRev")
        if _is_revision(merged_as):
            connection.execute("UPDATE change SET merged_as = ? WHERE number = ?", (merged_as, told.number))
    connection.execute(
        "UPDATE change SET told_at = coalesce(?, told_at), updated = max(updated, ?) WHERE number = ?",
        (told.at, now, told.number),
    )


def _status(told: _Told) -> ChangeStatus | None:
    if told.kind in _STATUS_AFTER:
        return _STATUS_AFTER[told.kind]
    shown = _text(told.change, "status")
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
    """Forget a change but for its number: a late event must not bring it back."""
    for table in ("message", "vote", "patch_set"):
        connection.execute(f"DELETE FROM {table} WHERE change = ?", (number,))  # noqa: S608 - a name from above
    connection.execute("UPDATE change SET is_deleted = 1, updated = ? WHERE number = ?", (now, number))


def _add_comment(
    connection: sqlite3.Connection, told: _Told, patch_set: PatchSet | None, now: float, *, is_news: bool
) -> None:
    if patch_set is None:
        return
    is_removal = told.kind == "vote-deleted"
    voter = user_name(_person(told.document, "reviewer" if is_removal else "author"))
    approvals = told.document.get("approvals")
    for approval in approvals if is_news and isinstance(approvals, list) else ():
        label, value = (
            (_text(approval, "type"), approval.get("value")) if isinstance(approval, dict) else ("", 0)
        )
        if label and voter and (vote := _vote(value)) is not None:
            set_vote(connection, told.number, patch_set.number, label, voter, vote)
    text = _text(told.document, "comment")
    if text:
        author = user_name(_person(told.document, "remover" if is_removal else "author"))
        written = now if told.at is None else told.at
        connection.execute(
            "INSERT INTO message (change, patch_set, author, text, written, event) VALUES (?, ?, ?, ?, ?, ?)"
            " ON CONFLICT DO NOTHING",
            (told.number, patch_set.number, author, text, written, _digest(told)),
        )


def set_vote(
    connection: sqlite3.Connection, change: int, patch_set: int, label: str, user: str, value: int
) -> int:
    """Set a user's vote (0: none) on a patch set; the vote that stood there before."""
    key = (change, patch_set, label, user)
    where = "change = ? AND patch_set = ? AND label = ? AND user = ?"
    before = connection.execute(f"SELECT value FROM vote WHERE {where}", key).fetchone()  # noqa: S608 - from above
    if value:
        connection.execute("INSERT OR REPLACE INTO vote VALUES (?, ?, ?, ?, ?)", (*key, value))
    else:
        connection.execute(f"DELETE FROM vote WHERE {where}", key)  # noqa: S608 - from above
    return int(before["value"]) if before else 0


def user_name(person: Person) -> str:
    """The name under which a person's votes and messages are kept."""
    return person.username or person.email or person.name


def _digest(told: _Told) -> str:
    """Equal for both dialects of one event and for every delivery of it."""
    people = [user_name(_person(told.document, key)) for key in ("author", "remover", "reviewer")]
    parts = (told.kind, told.number, told.at, *people, _text(told.document, "comment"))
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def _project(told: _Told) -> str:
    for holder in (told.change, told.document):
        found = holder.get("project")
        name = found.get("name") if isinstance(found, dict) else found
        if isinstance(name, str) and name:
            return name
    return ""


def _object(holder: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = holder.get(key)
    return found if isinstance(found, dict) else {}


def _text(holder: Mapping[str, Any], *keys: str) -> str:
    """The first text among the keys, without what databases refuse; empty without one."""
    for key in keys:
        if isinstance(found := holder.get(key), str):
            return found.replace("\0", "").encode(errors="replace").decode()
    return ""


def _whole(found: object) -> int | None:
    # Old servers send numbers as text.
    if isinstance(found, str) and re.fullmatch(r"[0-9]{1,9}", found):
        found = int(found)
    is_number = isinstance(found, int) and not isinstance(found, bool)
    return found if is_number and isinstance(found, int) and 0 < found < 1 << 31 else None


def _vote(value: object) -> int | None:
    # The stream writes it as text.
    if isinstance(value, str) and re.fullmatch(r"[+-]?[0-9]{1,2}", value):
        return int(value)
    return value if isinstance(value, int) and -100 < value < 100 else None  # noqa: PLR2004 - as the pattern


def _is_revision(found: object) -> bool:
    return isinstance(found, str) and _REVISION.fullmatch(found) is not None


def _person(holder: Mapping[str, Any], key: str) -> Person:
    found = _object(holder, key)
    return Person(_text(found, "name"), _text(found, "email"), _text(found, "username"))
