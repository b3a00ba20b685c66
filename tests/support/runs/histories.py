"""Recorded comment histories of changes: what happened, and what the Build Bot then wrote."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from service.domain.runs.vote import Result
from service.domain.values.identity import RunKind

if TYPE_CHECKING:
    from collections.abc import Mapping

FOLDER = Path(__file__).parents[2] / "samples" / "histories"
BOT = "Build Bot"

Votes = dict[str, dict[str, int]]  # label → person → value


@dataclass(frozen=True, slots=True)
class ExternalBuild:
    """A build as the recorded CI reported it: ``url`` is its page, with which each cause ended."""

    job: str
    number: int
    url: str
    result: Result
    causes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Round:
    """Builds that ended together, in the order in which they were asked for.

    The first check of a history names all its jobs; a later one only those that a person ran again, one
    after the other. Where the order was not recorded it is one that leads to the recorded texts.
    """

    kind: RunKind
    builds: tuple[ExternalBuild, ...]


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment as Gerrit showed it, with what led to it and the votes that stood afterwards.

    A person's comment may have brought a new patch set, set votes (label → value) or removed them
    (label → whose); the Build Bot's ends a round.
    """

    at: datetime
    by: str
    text: str
    votes_after: Votes
    votes: Mapping[str, int]
    removes: Mapping[str, str]
    is_new_patch_set: bool
    round: Round | None


@dataclass(frozen=True, slots=True)
class RecordedHistory:
    """The comments on one patch set, oldest first."""

    name: str
    patch_set: int
    votes_before: Votes
    story: tuple[Comment, ...]


def recorded_histories() -> tuple[RecordedHistory, ...]:
    """All of them, by name."""
    return tuple(read_history(path) for path in sorted(FOLDER.glob("*.json")))


def read_history(path: Path) -> RecordedHistory:
    """One history; its text is kept line by line, so that trailing blanks survive every editor."""
    document = json.loads(path.read_bytes())
    story = tuple(_comment(entry) for entry in document["story"])
    return RecordedHistory(path.stem, document["patch_set"], document["votes_before"], story)


def _comment(entry: Mapping[str, Any]) -> Comment:
    return Comment(
        at=datetime.fromisoformat(entry["at"]).replace(tzinfo=UTC),
        by=entry["by"],
        text="\n".join(entry["text"]),
        votes_after=entry["votes_after"],
        votes=entry.get("votes", {}),
        removes=entry.get("removes", {}),
        is_new_patch_set=entry.get("new_patch_set", False),
        round=_round(entry["round"]) if "round" in entry else None,
    )


def _round(entry: Mapping[str, Any]) -> Round:
    return Round(RunKind(entry["kind"]), tuple(_build(each) for each in entry["builds"]))


def _build(entry: Mapping[str, Any]) -> ExternalBuild:
    return ExternalBuild(
        entry["job"], entry["number"], entry["url"], Result(entry["result"]), tuple(entry["causes"])
    )
