"""Apply Gerrit events to a change of the console review server."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from service.adapters.review.console.state import StoredChange
from service.adapters.review.gerrit.fields import (
    int_from,
    is_revision,
    number_in,
    object_from,
    person_from,
    ref_of,
    text_in,
)
from service.adapters.review.gerrit.messages import GerritMessage
from service.domain.review.change import Change, ChangeStatus, PatchSet, PatchSetKind, Person
from service.domain.values.errors import BadEvent

if TYPE_CHECKING:
    from collections.abc import Mapping

    from service.domain.review.change import Event
    from service.domain.values.identity import ChangeKey

_END_OF_TIME: Final = 1 << 36  # seconds; Python has no later dates
_STATUS_AFTER: Final[Mapping[str, ChangeStatus]] = {
    "patchset-created": ChangeStatus.NEW,
    "change-merged": ChangeStatus.MERGED,
    "change-abandoned": ChangeStatus.ABANDONED,
    "change-restored": ChangeStatus.NEW,
}


def after_event(
    known: StoredChange | None, event: Event, document: Mapping[str, Any], key: ChangeKey, now: datetime
) -> StoredChange | None:
    """Apply an event about a change, and return the change; None if there is nothing to store.

    ``document`` is the JSON object of the event.

    Old and repeated events do no harm: each patch set and message is added once, and status and flags are
    those of the newest event.

    Raises:
        BadEvent: a required key is missing; the message names it.
    """
    patch_set = _patch_set(event, document)
    if known is None:
        if event.type == "change-deleted" or patch_set is None:
            return None  # the change is unknown, and the event has no patch set to review
        known = _new(event, document, key, patch_set, now)
    elif known.is_deleted:
        return None
    at = _time_in(document)
    is_news = at is None or at >= known.event_at
    if is_news:
        known.event_at = known.event_at if at is None else at
        known.change = _updated(known.change, event, document, now)
    if patch_set is not None:
        known.revisions.setdefault(patch_set.number, patch_set.revision)
        if patch_set.number > known.change.current.number:
            known.change = replace(known.change, current=patch_set)
        if event.type in {"comment-added", "vote-deleted"}:
            _add_comment(known, event, document, patch_set.number, now, is_news=is_news)
    if event.type == "change-deleted":  # it stays known, so that a late event does not create it again
        return StoredChange(known.change, is_deleted=True)
    return known


def _time_in(document: Mapping[str, Any]) -> float | None:
    at = document.get("eventCreatedOn")
    return float(at) if isinstance(at, int | float) and 0 <= at < _END_OF_TIME else None


def _patch_set(event: Event, document: Mapping[str, Any]) -> PatchSet | None:
    """Parse the patch set of an event; None if it has none."""
    fields = object_from(document.get("patchSet"))
    if not fields and event.type != "patchset-created":
        return None
    number, revision = number_in(fields, "number", may_be_text=True), text_in(fields, "revision")
    if number is None:
        raise BadEvent("the key 'number' is missing or not a number", "patchSet")
    if not is_revision(revision):
        raise BadEvent("the key 'revision' is missing or not a commit ID", "patchSet")
    parents = fields.get("parents")
    return PatchSet(
        number=number,
        revision=revision,
        ref=text_in(fields, "ref") or ref_of(event.change or 0, number),
        parents=tuple(filter(is_revision, parents)) if isinstance(parents, list) else (),
        kind=PatchSetKind(text_in(fields, "kind")),
        author=person_from(fields.get("author")),
    )


def _new(
    event: Event, document: Mapping[str, Any], key: ChangeKey, patch_set: PatchSet, now: datetime
) -> StoredChange:
    branch = text_in(document["change"], "branch")
    branch = branch or text_in(document, "refName").removeprefix("refs/heads/")
    for name, value in (("project", event.project), ("branch", branch)):
        if not value:
            raise BadEvent(f"the key '{name}' is missing or not a string", "change")
    return StoredChange(Change(key, event.project, branch, "", "", ChangeStatus.NEW, now, patch_set))


def _updated(change: Change, event: Event, document: Mapping[str, Any], now: datetime) -> Change:
    """Take over the values that the newest event has; keep the others."""
    fields = document["change"]
    change_key = object_from(document.get("changeKey"))
    shown = text_in(fields, "status")
    status = _STATUS_AFTER.get(event.type) or (
        ChangeStatus(shown) if shown in set(ChangeStatus) else change.status
    )
    # Gerrit omits a flag that is not set, so in an event with a status an absent flag is off.
    has_flags = "status" in fields or event.type in {"wip-state-changed", "private-state-changed"}
    merged_as = text_in(document, "newRev")
    is_merge = status is ChangeStatus.MERGED and is_revision(merged_as)
    change_id = text_in(fields, "id") or text_in(change_key, "id") or text_in(change_key, "key")
    return replace(
        change,
        branch=text_in(fields, "branch") or change.branch,
        change_id=change_id or change.change_id,
        subject=text_in(fields, "subject") or change.subject,
        message=text_in(fields, "commitMessage") or change.message,
        owner=person_from(fields["owner"]) if "owner" in fields else change.owner,
        status=status,
        is_wip=fields.get("wip") is True if has_flags else change.is_wip,
        is_private=fields.get("private") is True if has_flags else change.is_private,
        merged_as=merged_as if is_merge else change.merged_as,
        updated=max(change.updated, now),
    )


def _add_comment(
    known: StoredChange,
    event: Event,
    document: Mapping[str, Any],
    patch_set: int,
    now: datetime,
    *,
    is_news: bool,
) -> None:
    at = _time_in(document)
    author, remover, reviewer = (_user(document, key) for key in ("author", "remover", "reviewer"))
    is_removal = event.type == "vote-deleted"
    voter = reviewer if is_removal else author
    approvals = document.get("approvals")
    for approval in map(object_from, approvals if is_news and voter and isinstance(approvals, list) else ()):
        label, vote = text_in(approval, "type"), _vote(approval.get("value"))
        if label and vote is not None:
            known.set_vote(patch_set, label, voter, vote)
    text = text_in(document, "comment")
    # Equal for every delivery of an event, by stream and by webhook.
    parts = (event.type, event.change, at, author, remover, reviewer, text)
    digest = hashlib.sha256(json.dumps(parts).encode()).hexdigest()
    if text and all(message.id != digest for message in known.messages):
        writer = user(remover if is_removal else author)
        written = now if at is None else datetime.fromtimestamp(at, UTC)
        known.messages.append(GerritMessage(digest, patch_set, writer, written, text))


def user(name: str) -> Person:
    """Make the account of a user; the name is its ID."""
    return Person(name=name, username=name, account=name)


def _user(document: Mapping[str, Any], key: str) -> str:
    """Return the name that a person's votes and messages are stored under."""
    person = person_from(document.get(key))
    return person.username or person.email or person.name


def _vote(value: object) -> int | None:
    # The stream sends it as a string.
    if isinstance(value, str) and re.fullmatch(r"[+-]?[0-9]{1,2}", value):
        return int(value)
    vote = int_from(value)
    return vote if vote is not None and -100 < vote < 100 else None  # noqa: PLR2004 - as the pattern
