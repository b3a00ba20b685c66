"""Parsers of Gerrit's JSON: changes, messages and votes. A missing required value raises Permanent."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from service.adapters.review.gerrit.fields import (
    int_from,
    is_revision,
    number_in,
    object_from,
    person_from,
    ref_of,
    text_in,
)
from service.adapters.review.gerrit.messages import ACCOUNT_PLACEHOLDER, GerritMessage
from service.domain.review.change import Change, ChangeStatus, PatchSet, PatchSetKind
from service.domain.values.errors import Permanent
from service.domain.values.identity import ChangeKey
from service.domain.values.text import plain

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_MICROSECONDS: Final = 26  # characters; Gerrit writes nanoseconds, and always UTC
_PATCH_SET_LEVEL: Final = "/PATCHSET_LEVEL"


def change_from(document: object, instance: str) -> Change:
    """Parse a change that was requested with its current revision, commit, labels and accounts."""
    fields = object_from(document)
    number, project = _needed_number(fields, "_number"), _needed(fields, "project")
    status = _status(fields)
    current, message = _current_from(fields, number)
    return Change(
        key=ChangeKey(instance, number, project),
        project=project,
        branch=_needed(fields, "branch").removeprefix("refs/heads/"),
        change_id=text_in(fields, "change_id"),
        subject=text_in(fields, "subject"),
        status=status,
        updated=_moment(fields, "updated"),
        current=current,
        message=message,
        owner=person_from(fields.get("owner")),
        is_wip=fields.get("work_in_progress") is True,
        is_private=fields.get("is_private") is True,
        # If the submit rewrote the commit, the new commit is the last patch set.
        merged_as=current.revision if status is ChangeStatus.MERGED else None,
        submitted=_moment(fields, "submitted") if text_in(fields, "submitted") else None,
        votes=_votes(fields),
    )


def status_in(document: object, project: str, branch: str) -> ChangeStatus | None:
    """Parse the status of the change on a branch; return None if no change of the list is on it."""
    for change in map(object_from, listed(document)):
        if (text_in(change, "project"), text_in(change, "branch")) == (project, branch):
            return _status(change)
    return None


def change_number(document: object) -> int | None:
    """Parse only the number of a change."""
    return number_in(object_from(document), "_number")


def has_more(page: Sequence[object]) -> bool:
    """Return whether there is another page of changes."""
    return bool(page) and object_from(page[-1]).get("_more_changes") is True


def messages_from(document: object) -> list[GerritMessage]:
    """Parse the messages on a change, oldest first."""
    messages = [_message(object_from(item)) for item in listed(document)]
    return sorted(messages, key=lambda message: message.written)


def replies_from(document: object) -> Mapping[str, str]:
    """Parse the comments on whole patch sets, oldest first, by the ID of their message."""
    comments = [object_from(item) for item in listed(object_from(document).get(_PATCH_SET_LEVEL, []))]
    replies: dict[str, list[str]] = {}
    for comment in sorted(comments, key=lambda comment: text_in(comment, "updated")):
        replies.setdefault(text_in(comment, "change_message_id"), []).append(text_in(comment, "message"))
    return {message: "\n\n".join(texts) for message, texts in replies.items()}


def inline_comments_from(document: object) -> Mapping[str, Sequence[tuple[str, str]]]:
    """Parse the ID and text of each comment on a file, by the ID of its message."""
    found: dict[str, list[tuple[str, str]]] = {}
    for path, items in object_from(document).items():
        for comment in map(object_from, listed(items) if path != _PATCH_SET_LEVEL else ()):
            if (comment_id := text_in(comment, "id")) and (message := text_in(comment, "change_message_id")):
                found.setdefault(message, []).append((comment_id, text_in(comment, "message")))
    return found


def labels_from(document: object) -> dict[str, int]:
    """Parse the labels that a review has set."""
    labels = object_from(object_from(document).get("labels"))
    return {label: value for label in labels if (value := int_from(labels[label])) is not None}


def account_from(document: object) -> str:
    """Parse the ID of an account."""
    return str(_needed_number(object_from(document), "_account_id"))


def listed(document: object) -> list[Any]:
    """Return the items of a list."""
    if not isinstance(document, list):
        raise Permanent("Gerrit's response is not a list")
    return document


def _current_from(change: Mapping[str, Any], number: int) -> tuple[PatchSet, str]:
    """Parse the current patch set and its commit message."""
    revision = text_in(change, "current_revision")
    shown = object_from(object_from(change.get("revisions")).get(revision))
    if not is_revision(revision) or "commit" not in shown:
        raise Permanent(f"Gerrit sends no current revision of change {number} with its commit")
    commit, patch_set = object_from(shown["commit"]), _needed_number(shown, "_number")
    parents = [text_in(object_from(parent), "commit") for parent in listed(commit.get("parents", []))]
    current = PatchSet(
        number=patch_set,
        revision=revision,
        ref=text_in(shown, "ref") or ref_of(number, patch_set),
        parents=tuple(parents),
        kind=PatchSetKind(text_in(shown, "kind")),
        author=person_from(commit.get("author")),
        uploader=person_from(shown.get("uploader")),
    )
    return current, text_in(commit, "message")


def _status(change: Mapping[str, Any]) -> ChangeStatus:
    status = text_in(change, "status")
    if status not in set(ChangeStatus):
        raise Permanent("Gerrit sends no known status of a change")
    return ChangeStatus(status)


def _votes(change: Mapping[str, Any]) -> dict[str, dict[str, int]]:
    """Parse the votes by label and account; an account that has not voted has no value, or a zero."""
    votes: dict[str, dict[str, int]] = {}
    for label, shown in object_from(change.get("labels")).items():
        for ballot in listed(object_from(shown).get("all", [])):
            if value := int_from(object_from(ballot).get("value")):
                votes.setdefault(label, {})[account_from(ballot)] = value
    return votes


def _message(fields: Mapping[str, Any]) -> GerritMessage:
    return GerritMessage(
        id=_needed(fields, "id"),
        patch_set=number_in(fields, "_revision_number") or 0,
        author=person_from(fields.get("author")),
        written=_moment(fields, "date"),
        text=_with_names(fields),
        tag=text_in(fields, "tag"),
    )


def _with_names(message: Mapping[str, Any]) -> str:
    """Replace accounts by names and addresses, as on Gerrit's pages and in its events."""
    names = {}
    for person in map(person_from, listed(message.get("accounts_in_message", []))):
        address = f"<{person.email}>" if person.email else ""
        names[person.account] = plain(f"{person.name} {address}") or f"Gerrit Account {person.account}"
    return ACCOUNT_PLACEHOLDER.sub(lambda match: names.get(match[1], match[0]), text_in(message, "message"))


def _moment(holder: Mapping[str, Any], key: str) -> datetime:
    try:
        return datetime.fromisoformat(_needed(holder, key)[:_MICROSECONDS]).replace(tzinfo=UTC)
    except ValueError:
        raise Permanent(f"Gerrit sends no date as '{key}'") from None


def _needed(holder: Mapping[str, Any], key: str) -> str:
    text = text_in(holder, key)
    if not text:
        raise Permanent(f"Gerrit sends no '{key}'")
    return text


def _needed_number(holder: Mapping[str, Any], key: str) -> int:
    number = number_in(holder, key)
    if number is None:
        raise Permanent(f"Gerrit sends no '{key}'")
    return number
