"""Parsers of Gerrit's JSON: changes, messages and votes. A missing required value raises Permanent."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from service.domain.errors import Permanent
from service.domain.gerrit.change import Change, ChangeStatus, PatchSet, Person, PostedMessage
from service.domain.identity import ChangeKey
from service.domain.text import plain

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_REVISION: Final = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_ACCOUNT: Final = re.compile(r"<GERRIT_ACCOUNT_([0-9]+)>")  # a name in a message by the server
_MICROSECONDS: Final = 26  # characters; Gerrit writes nanoseconds, and always UTC
_PATCH_SET_LEVEL: Final = "/PATCHSET_LEVEL"
_SERVICE: Final = "SERVICE_USER"


def change_from(document: object, instance: str) -> Change:
    """Parse a change that was requested with its current revision, commit, labels and accounts."""
    fields = _object(document)
    number = _needed_number(fields, "_number")
    status = _text(fields, "status")
    if status not in set(ChangeStatus):
        raise Permanent(f"Gerrit sends no known status of change {number}")
    current, message = _current_from(fields, number)
    return Change(
        key=ChangeKey(instance, number),
        project=_needed(fields, "project"),
        branch=_needed(fields, "branch").removeprefix("refs/heads/"),
        change_id=_text(fields, "change_id"),
        subject=_text(fields, "subject"),
        status=ChangeStatus(status),
        updated=_moment(fields, "updated"),
        current=current,
        message=message,
        owner=_person(fields.get("owner")),
        is_wip=fields.get("work_in_progress") is True,
        is_private=fields.get("is_private") is True,
        # If the submit rewrote the commit, the new commit is the last patch set.
        merged_as=current.revision if status == ChangeStatus.MERGED else None,
        submitted=_moment(fields, "submitted") if _text(fields, "submitted") else None,
        votes=_votes(fields),
    )


def number_in(document: object) -> int | None:
    """Parse only the number of a change."""
    return _number(_object(document), "_number")


def has_more(page: Sequence[object]) -> bool:
    """Whether there is another page of changes."""
    return bool(page) and _object(page[-1]).get("_more_changes") is True


def messages_from(document: object) -> list[PostedMessage]:
    """Parse the messages on a change, oldest first."""
    messages = [_message(_object(item)) for item in listed(document)]
    return sorted(messages, key=lambda message: message.written)


def replies_from(document: object) -> Mapping[str, str]:
    """Parse the comments on whole patch sets, oldest first, by the ID of the message with which they came."""
    comments = [_object(item) for item in listed(_object(document).get(_PATCH_SET_LEVEL, []))]
    replies: dict[str, list[str]] = {}
    for comment in sorted(comments, key=lambda comment: _text(comment, "updated")):
        replies.setdefault(_text(comment, "change_message_id"), []).append(_text(comment, "message"))
    return {message: "\n\n".join(texts) for message, texts in replies.items()}


def labels_from(document: object) -> dict[str, int]:
    """Parse the labels that a review has set."""
    labels = _object(_object(document).get("labels"))
    return {label: value for label in labels if (value := _whole(labels[label])) is not None}


def account_from(document: object) -> str:
    """Parse the ID of an account."""
    return str(_needed_number(_object(document), "_account_id"))


def listed(document: object) -> list[Any]:
    """Return the items of a list."""
    if not isinstance(document, list):
        raise Permanent("Gerrit's response is not a list")
    return document


def _current_from(change: Mapping[str, Any], number: int) -> tuple[PatchSet, str]:
    """Parse the current patch set and its commit message."""
    revision = _text(change, "current_revision")
    shown = _object(_object(change.get("revisions")).get(revision))
    if not _REVISION.fullmatch(revision) or "commit" not in shown:
        raise Permanent(f"Gerrit sends no current revision of change {number} with its commit")
    commit, patch_set = _object(shown["commit"]), _needed_number(shown, "_number")
    parents = [_text(_object(parent), "commit") for parent in listed(commit.get("parents", []))]
    current = PatchSet(
        number=patch_set,
        revision=revision,
        ref=_text(shown, "ref") or f"refs/changes/{number % 100:02}/{number}/{patch_set}",
        parents=tuple(parents),
        kind=_text(shown, "kind") or "REWORK",
        author=_person(commit.get("author")),
        uploader=_person(shown.get("uploader")),
    )
    return current, _text(commit, "message")


def _votes(change: Mapping[str, Any]) -> dict[str, dict[str, int]]:
    votes: dict[str, dict[str, int]] = {}
    for label, account, value in _ballots(_object(change.get("labels"))):
        votes.setdefault(label, {})[account] = value
    return votes


def _ballots(labels: Mapping[str, Any]) -> Iterator[tuple[str, str, int]]:
    """Yield label, account and vote; an account that has not voted has no value, or a zero."""
    for label, shown in labels.items():
        for ballot in listed(_object(shown).get("all", [])):
            value = _whole(_object(ballot).get("value"))
            if value:
                yield label, account_from(ballot), value


def _message(fields: Mapping[str, Any]) -> PostedMessage:
    return PostedMessage(
        id=_needed(fields, "id"),
        patch_set=_number(fields, "_revision_number") or 0,
        author=_person(fields.get("author")),
        written=_moment(fields, "date"),
        text=_with_names(fields),
        tag=_text(fields, "tag"),
    )


def _with_names(message: Mapping[str, Any]) -> str:
    """Replace accounts by names and addresses, as on Gerrit's pages and in its events."""
    people = map(_person, listed(message.get("accounts_in_message", [])))
    names = {person.account: _named(person) for person in people}
    return _ACCOUNT.sub(lambda match: names.get(match[1], match[0]), _text(message, "message"))


def _named(person: Person) -> str:
    address = f"<{person.email}>" if person.email else ""
    return plain(f"{person.name} {address}") or f"Gerrit Account {person.account}"


def _person(document: object) -> Person:
    fields = _object(document)
    account, tags = _number(fields, "_account_id"), fields.get("tags")
    return Person(
        name=_text(fields, "name"),
        email=_text(fields, "email"),
        username=_text(fields, "username"),
        account="" if account is None else str(account),
        is_service=isinstance(tags, list) and _SERVICE in tags,
    )


def _moment(holder: Mapping[str, Any], key: str) -> datetime:
    try:
        return datetime.fromisoformat(_needed(holder, key)[:_MICROSECONDS]).replace(tzinfo=UTC)
    except ValueError:
        raise Permanent(f"Gerrit sends no date as '{key}'") from None


def _object(document: object) -> Mapping[str, Any]:
    return document if isinstance(document, Mapping) else {}


def _needed(holder: Mapping[str, Any], key: str) -> str:
    text = _text(holder, key)
    if not text:
        raise Permanent(f"Gerrit sends no '{key}'")
    return text


def _text(holder: Mapping[str, Any], key: str) -> str:
    """Return a string without the characters that PostgreSQL refuses; empty if there is none."""
    text = holder.get(key)
    return text.replace("\0", "").encode(errors="replace").decode() if isinstance(text, str) else ""


def _needed_number(holder: Mapping[str, Any], key: str) -> int:
    number = _number(holder, key)
    if number is None:
        raise Permanent(f"Gerrit sends no '{key}'")
    return number


def _number(holder: Mapping[str, Any], key: str) -> int | None:
    number = _whole(holder.get(key))
    return number if number is not None and 0 < number < 1 << 31 else None


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
