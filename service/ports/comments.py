"""What the steps remember of a review server: how far it was read, what was said and decided there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from datetime import datetime

    from service.domain.building.findings import Finding
    from service.domain.building.spec import BuildSpec
    from service.domain.decision.overrides import Override
    from service.domain.decision.rounds import Place
    from service.domain.decision.states import RunState
    from service.domain.gerrit.change import PostedMessage
    from service.domain.identity import ChangeKey, RunKind
    from service.ports.records import (
        BuildRecord,
        ChangeRecord,
        NewOverride,
        ReviewComment,
        RunRecord,
        SyncCursor,
    )


class Comments(Protocol):
    """The part of a unit of work that is about people."""

    def sync_cursor(self, instance: str) -> SyncCursor | None:
        """How far a server was read; None before the first contact."""

    def move_sync_cursor(self, instance: str, seen_until: datetime) -> None:
        """Every change updated before then is stored as a hint; never moves back."""

    def record_comments(self, record: ChangeRecord, said: Sequence[PostedMessage]) -> Sequence[int]:
        """Store messages on the current patch set in their order; those that were not heard before."""

    def lock_comment(self, comment_id: int) -> ReviewComment:
        """A message that was heard, with its change locked until the transaction ends."""

    def pending_until(self, comment_id: int) -> Sequence[ReviewComment]:
        """What is still to be obeyed of its change up to a message, in the order in which it was said."""

    def answer(self, comment_id: int, text: str) -> None:
        """It was obeyed or refused, and this was said to it."""

    def add_override(self, patch_set_id: int, override: NewOverride) -> int:
        """Append to the log of what people decided."""

    def overrides(self, patch_set_id: int) -> Sequence[Override]:
        """What people decided about a patch set, oldest first; those in force and those taken back."""


class Rounds(Protocol):
    """The part of a unit of work in which rounds follow each other."""

    def newest_check(self, patch_set_id: int) -> RunRecord | None:
        """The last check of a patch set that nobody called off, locked; None where there was none."""

    def checks_of(self, instance: str, revision: str) -> tuple[tuple[RunState, bool], ...]:
        """The states of the checks of a commit, whatever patch set it is, and whether each was planned."""

    def places(self, run_id: int) -> Sequence[Place]:
        """The places of a run's builds in their order."""

    def follow_run(self, previous: RunRecord, comment_id: int | None) -> int:
        """A running run without builds that follows a finished one of the same revision."""

    def take_build(self, run_id: int, position: int, build_id: int) -> None:
        """Make a build of an earlier round a part of a run."""

    def repeat_build(self, build: BuildRecord, spec: BuildSpec | None, deadline_seconds: float) -> int:
        """A new build that does what another did, as a part of no run; queued but for another CI's.

        ``spec`` is what it does instead, where its job was configured otherwise since.
        """

    def put_build(self, run_id: int, position: int, job: str, build_id: int, comment_id: int | None) -> None:
        """Give a job's place in a run to a new build; the one that stood there is remembered."""

    def newest_run(self, change: ChangeKey, kind: RunKind, revision: str) -> RunRecord | None:
        """The last run of a kind for a revision of a change, both locked; None where there is none."""

    def builds_of_job(self, run: RunRecord, job: str) -> Sequence[BuildRecord]:
        """A job's builds in every round that a revision had, the oldest first, also those replaced there."""

    def name_build(self, build_id: int, external_number: int, url: str) -> None:
        """Write down what another CI calls a build that it runs."""

    def cancel_check(self, run_id: int) -> None:
        """A person ends an unfinished run; it is not made anew by itself."""


class Remarks(Protocol):
    """The part of a unit of work that is about lines of files."""

    def store_findings(self, build_id: int, findings: Sequence[Finding]) -> None:
        """Keep what a build named by file and line, in the place of what it named before."""

    def remarks_on(self, change: ChangeKey, revision: str) -> Collection[tuple[str, str]]:
        """Path and text of each remark on a line that a change was sent, or will be sent on this revision."""
