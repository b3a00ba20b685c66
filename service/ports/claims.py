"""Claims of commit messages and their answers, as steps store them and as pages and API show them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from service.domain.claims.answers import AnsweredClaim, MeasuredRow
from service.domain.claims.values import Claim
from service.domain.review.change import ChangeStatus
from service.ports.runs.shown import ADDRESS


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimedRun:
    """The run of a merged commit or of the newest patch set that has claims; of another version, none."""

    run_id: int
    instance: str
    project: str
    branch: str
    revision: str
    subject: str
    author: str
    decided_at: datetime
    is_merged: bool
    change: int | None
    change_address: str | None = field(metadata=ADDRESS)
    patch_set: int | None
    status: ChangeStatus | None  # of the change, now
    claims: tuple[AnsweredClaim, ...]


class Claims(Protocol):
    """The claims of revisions, and what may answer them; a revision's message never changes."""

    def keep(self, instance: str, project: str, revision: str, claims: Sequence[Claim]) -> None:
        """Keep the claims of a revision, unless some are kept; at least one and at most 200."""

    def of(self, instance: str, project: str, revision: str) -> Sequence[Claim]:
        """Return the claims of a revision, in the order of its message; of another version, none."""

    def measured(self, run_id: int, benchmarks: Collection[str]) -> Sequence[MeasuredRow]:
        """Return what the builds of a run compared of these benchmarks, in the order of its jobs.

        So what they compared under new names, by ``renamed``. A benchmark that none compared has what a
        machine measured of it because it is claimed, once it has.
        """

    def compared(self, run_id: int) -> Sequence[str]:
        """Return the first 5,000 benchmarks that the builds of a run compared, in the order of its jobs."""


class ClaimReading(Protocol):
    """Claims with their answers, of runs that the caller may see."""

    def claims(self, run_id: int) -> Sequence[AnsweredClaim]:
        """Answer the claims of a run's revision by what its builds have measured so far.

        Raises:
            NotFound: there is no such run.
        """

    def claims_of_runs(self, runs: Collection[int]) -> Mapping[int, Sequence[AnsweredClaim]]:
        """Answer the claims of each of these runs that is visible and has some, by run.

        Of a viewer, the review server is asked about the changes of all of them at once.
        """

    def recent_claims(self, since: datetime, limit: int) -> Sequence[ClaimedRun]:
        """Return runs decided since then whose revisions have claims, one for a change, the newest first."""
