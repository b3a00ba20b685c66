"""Backfills: requests to measure older commits of a branch, and how far they are."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from service.domain.trunk.backfill import Backfill, LinkTries
from service.domain.verdict.calibration.schedule import BranchKey


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredBackfill:
    """A request with its progress: ``left`` of ``links`` are to be measured; None: nobody looked yet.

    ``ended_at`` is None while it waits for idle pools. ``failed`` counts the links that could not be
    measured.
    """

    id: int
    backfill: Backfill
    requested_by: str
    created_at: datetime
    links: int | None = None
    left: int | None = None
    failed: int = 0
    ended_at: datetime | None = None


class Backfills(Protocol):
    """Backfills in a unit of work, and the runs on the links of a branch."""

    def add(self, backfill: Backfill, requested_by: str) -> int:
        """Store a request, and return its id."""

    def list(self) -> Sequence[StoredBackfill]:
        """Return the requests that wait, and the newest that have ended; the newest first, 100 at most."""

    def waiting(self) -> Sequence[StoredBackfill]:
        """Return the requests that have not ended, the oldest first."""

    def note(self, backfill_id: int, links: int, left: int, failed: int) -> None:
        """Store how far a request is; one without links left has ended. One that ended stays as it is."""

    def cancel(self, backfill_id: int) -> bool:
        """End a request; return False if it had ended. Raises NotFound."""

    def measured_in(
        self, key: BranchKey, jobs: Collection[str], revisions: Collection[str]
    ) -> frozenset[str]:
        """Return those of these commits whose run after the merge measured each of the jobs, or will.

        A job that the commit does not touch counts as measured.
        """

    def tries(self, key: BranchKey) -> Mapping[tuple[str, str], LinkTries]:
        """Return the links of a branch that a pool measured or tried to, by base and patch."""

    def slower(self, key: BranchKey) -> Sequence[tuple[int, int]]:
        """Return run and build of commits with a slower result that nobody measured again, a few at most.

        A backfill measured them in the last 30 days, or a range was narrowed to them. The newest come first.
        """
