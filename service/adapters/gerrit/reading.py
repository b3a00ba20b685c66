"""Reads Gerrit's JSON as changes, messages and votes; Permanent where it lacks what we cannot do without."""

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
_ACCOUNT: Final = re.compile(r"<GERRIT_ACCOUNT_([0-9]+)>")  # stands for a name in a server's own message
_MICROSECONDS: Final = 26  # characters; Gerrit writes nanoseconds, and always UTC
_PATCH_SET_LEVEL: Final = "/PATCHSET_LEVEL"
_SERVICE: Final = "SERVICE_USER"


def change_from(document: object, instance: str) -> Change:
    """A change that was asked for with its current revision, commit, labels and accounts."""
    found = _object(document)
    number = _needed_number(found, "_number")
    status = _text(found, "status")
    if status not in set(ChangeStatus):
        raise Permanent(f"Gerrit shows no known status of change {number}")
    current, message = _current_from(found, number)
    return Change(
        key=ChangeKey(instance, number),
        project=_needed(found, "project"),
        branch=_needed(found, "branch").removeprefix("refs/heads/"),
        change_id=_text(found, "change_id"),
        subject=_text(found, "subject"),
        status=ChangeStatus(status),
        updated=_moment(found, "updated"),
        current=current,
        message=message,
        owner=_person(found.get("owner")),
        is_wip=found.get("work_in_progress") is True,
        is_private=found.get("is_private") is True,
        # Where a submit rewrites the commit, what it made is the last patch set.
        merged_as=current.revision if status == ChangeStatus.MERGED else None,
        submitted=_moment(found, "submitted") if _text(found, "submitted") else None,
        votes=_votes(found),
    )


def number_in(document: object) -> int | None:
    """The number of a change that may be unreadable otherwise."""
    return _number(_object(document), "_number")


def has_more(page: Sequence[object]) -> bool:
    """Whether the changes of a page are not the last ones."""
    return bool(page) and _object(page[-1]).get("_more_changes") is True


def messages_from(document: object) -> list[PostedMessage]:
    """The messages on a change, oldest first."""
    messages = [_message(_object(each)) for each in listed(document)]
    return sorted(messages, key=lambda message: message.written)


def replies_from(document: object) -> Mapping[str, str]:
    """The comments on patch sets as a whole, oldest first, by the id of the message they came with."""
    comments = [_object(each) for each in listed(_object(document).get(_PATCH_SET_LEVEL, []))]
    replies: dict[str, list[str]] = {}
    for comment in sorted(comments, key=lambda comment: _text(comment, "updated")):
        replies.setdefault(_text(comment, "change_message_id"), []).append(_text(comment, "message"))
    return {message: "\n\n".join(texts) for message, texts in replies.items()}


def labels_from(document: object) -> dict[str, int]:
    """The labels that a review has set."""
    labels = _object(_object(document).get("labels"))
    return {label: value for label in labels if (value := _whole(labels[label])) is not None}


def account_from(document: object) -> str:
    """The id by which Gerrit knows an account."""
    return str(_needed_number(_object(document), "_account_id"))


def listed(document: object) -> list[Any]:
    """The items of a list."""
    if not isinstance(document, list):
        raise Permanent("Gerrit answers with something else than a list")
    return document


def _current_from(change: Mapping[str, Any], number: int) -> tuple[PatchSet, str]:
    """The current patch set with its commit message."""
    revision = _text(change, "current_revision")
    shown = _object(_object(change.get("revisions")).get(revision))
    if not _REVISION.fullmatch(revision) or "commit" not in shown:
        raise Permanent(f"Gerrit shows no current revision of change {number} with its commit")
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
    """Label, account and vote; who may vote and did not has no value, or a zero."""
    for label, shown in labels.items():
        for ballot in listed(_object(shown).get("all", [])):
            value = _whole(_object(ballot).get("value"))
            if value:
                yield label, account_from(ballot), value


def _message(found: Mapping[str, Any]) -> PostedMessage:
    return PostedMessage(
        id=_needed(found, "id"),
        patch_set=_number(found, "_revision_number") or 0,
        author=_person(found.get("author")),
        written=_moment(found, "date"),
        text=_with_names(found),
        tag=_text(found, "tag"),
    )


def _with_names(message: Mapping[str, Any]) -> str:
    """The text as the pages and the events show it: people by name and address."""
    people = (_person(each) for each in listed(message.get("accounts_in_message", [])))
    names = {person.account: _named(person) for person in people}
    return _ACCOUNT.sub(lambda found: names.get(found[1], found[0]), _text(message, "message"))


def _named(person: Person) -> str:
    address = f"<{person.email}>" if person.email else ""
    return plain(f"{person.name} {address}") or f"Gerrit Account {person.account}"


def _person(document: object) -> Person:
    found = _object(document)
    account, tags = _number(found, "_account_id"), found.get("tags")
    return Person(
        name=_text(found, "name"),
        email=_text(found, "email"),
        username=_text(found, "username"),
        account="" if account is None else str(account),
        is_service=isinstance(tags, list) and _SERVICE in tags,
    )


def _moment(holder: Mapping[str, Any], key: str) -> datetime:
    try:
        return datetime.fromisoformat(_needed(holder, key)[:_MICROSECONDS]).replace(tzinfo=UTC)
    except ValueError:
        raise Permanent(f"Gerrit shows no date as '{key}'") from None


def _object(document: object) -> Mapping[str, Any]:
    return document if isinstance(document, Mapping) else {}


def _needed(holder: Mapping[str, Any], key: str) -> str:
    text = _text(holder, key)
    if not text:
        raise Permanent(f"Gerrit shows no '{key}'")
    return text


def _text(holder: Mapping[str, Any], key: str) -> str:
    """A text without what databases refuse; empty without one."""
    found = holder.get(key)
    return found.replace("\0", "").encode(errors="replace").decode() if isinstance(found, str) else ""


def _needed_number(holder: Mapping[str, Any], key: str) -> int:
    number = _number(holder, key)
    if number is None:
        raise Permanent(f"Gerrit shows no '{key}'")
    return number


def _number(holder: Mapping[str, Any], key: str) -> int | None:
    number = _whole(holder.get(key))
    return number if number is not None and 0 < number < 1 << 31 else None


def _whole(found: object) -> int | None:
    return found if isinstance(found, int) and not isinstance(found, bool) else None
