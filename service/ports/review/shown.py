"""Changes and patch sets as pages and API show them.

A field's ``metadata`` describes the field in the API's document. All times are in UTC.
"""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass, field
from datetime import UTC, datetime

from service.domain.review.change import ChangeStatus
from service.domain.runs.states import RunState
from service.domain.values.errors import BadInput
from service.domain.values.identity import RunKind
from service.ports.runs.shown import ADDRESS, PAGES_ONLY, VOTE, BuildOfRun, Decision, Override, Run, Standing


@dataclass(frozen=True, slots=True)
class Cursor:
    """The end of a page of changes: the next page begins with the change updated before it."""

    updated_at: datetime
    id: int

    def encode(self) -> str:
        """Return an opaque text that fits into a URL."""
        plain = f"{self.updated_at.astimezone(UTC).isoformat()} {self.id}"
        return base64.urlsafe_b64encode(plain.encode()).decode().rstrip("=")

    @classmethod
    def decode(cls, text: str) -> Cursor:
        """Return the cursor that :meth:`encode` wrote; raise BadInput for any other text."""
        try:
            plain = base64.urlsafe_b64decode(text[:200] + "=" * (-len(text[:200]) % 4)).decode()
            moment, _, number = plain.rpartition(" ")
            return cls(datetime.fromisoformat(moment).astimezone(UTC), int(number))
        except (ValueError, OverflowError, binascii.Error):
            raise BadInput("the cursor is not one that this service gave out", "cursor") from None


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownRequest:
    """A command that a person requested on a page. ``answer`` may be empty: its effect is shown anyway.

    ``text`` is the command as people write it in a comment.
    """

    id: int
    person: str
    text: str
    created_at: datetime
    is_pending: bool
    answer: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A change with the state of its newest patch set."""

    id: int = field(metadata=PAGES_ONLY)
    instance: str
    number: int
    address: str = field(metadata=ADDRESS)
    project: str
    branch: str
    subject: str
    owner: str
    status: ChangeStatus
    updated_at: datetime
    patch_set: int
    revision: str
    vote: int | None = field(metadata=VOTE)
    header: str = field(metadata={"description": "first line of the newest decision; may be empty"})
    run_id: int | None = field(metadata={"description": "the newest run, also one after the merge"})
    run_state: RunState | None
    builds: int
    finished_builds: int
    undecided: int = field(metadata={"description": "undecided results of the newest run"})
    cause: str = field(metadata={"description": "the first cause of the worst build"})
    run_kind: RunKind | None = None
    standing: Standing = field(default=Standing(), metadata=PAGES_ONLY)


@dataclass(frozen=True, slots=True, kw_only=True)
class PatchSet:
    """One patch set in the history of its change."""

    id: int = field(metadata=PAGES_ONLY)
    number: int
    revision: str
    author: str
    subject: str
    kind: str = field(metadata={"description": "in Gerrit's words", "examples": ["REWORK"]})
    created_at: datetime
    vote: int | None = field(metadata=VOTE)
    header: str
    undecided: int = field(metadata={"description": "undecided results of the newest run"})
    standing: Standing = field(default=Standing(), metadata=PAGES_ONLY)


@dataclass(frozen=True, slots=True)
class ChangeWithPatchSets:
    """A change with all its patch sets, oldest first."""

    change: Change
    patch_sets: tuple[PatchSet, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PatchSetDetail:
    """Everything known of a patch set, with the builds of its newest run.

    Decisions, overrides and requests come newest first; revoked overrides are included.
    """

    change: Change
    patch_set: PatchSet
    message: str
    decisions: tuple[Decision, ...]
    runs: tuple[Run, ...]
    builds: tuple[BuildOfRun, ...]
    overrides: tuple[Override, ...]
    problems: tuple[str, ...]  # steps of the change that failed several times
    requests: tuple[ShownRequest, ...] = field(default=(), metadata=PAGES_ONLY)
    patch_sets: tuple[PatchSet, ...] = field(default=(), metadata=PAGES_ONLY)  # of the change, oldest first
