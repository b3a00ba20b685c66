"""What people are shown: values as the pages and the HTTP API read them."""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass, field
from datetime import UTC, datetime
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from service.domain.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Mapping

    from service.domain.calibration.evidence import VotingStatus
    from service.domain.identity import BuildName


@dataclass(frozen=True, slots=True)
class Cursor:
    """Where a page of changes ends: the next one begins with what was updated before."""

    updated_at: datetime
    id: int

    def encode(self) -> str:
        """An opaque text that fits into a URL."""
        plain = f"{self.updated_at.astimezone(UTC).isoformat()} {self.id}"
        return base64.urlsafe_b64encode(plain.encode()).decode().rstrip("=")

    @classmethod
    def decode(cls, text: str) -> Cursor:
        """The cursor that :meth:`encode` wrote; BadInput for anything else."""
        try:
            plain = base64.urlsafe_b64decode(text[:200] + "=" * (-len(text[:200]) % 4)).decode()
            moment, _, number = plain.rpartition(" ")
            return cls(datetime.fromisoformat(moment).astimezone(UTC), int(number))
        except (ValueError, OverflowError, binascii.Error):
            raise BadInput("the cursor is not one that this service gave out", "cursor") from None


@dataclass(frozen=True, slots=True)
class ChangeSummary:
    """A change with the state of its newest patch set.

    ``vote`` is that of the newest decision on that patch set, +1, −1 or None for none; ``header`` is
    empty while there is no decision. ``cause`` is the first cause of the worst build.
    """

    id: int
    instance: str
    number: int
    project: str
    branch: str
    subject: str
    owner: str
    status: str
    updated_at: datetime
    patch_set: int
    revision: str
    vote: int | None
    header: str
    run_id: int | None
    run_state: str | None
    builds: int
    finished_builds: int
    cause: str


@dataclass(frozen=True, slots=True)
class PatchSetSummary:
    """One patch set in the history of its change."""

    number: int
    revision: str
    author: str
    subject: str
    kind: str
    created_at: datetime
    vote: int | None
    header: str


@dataclass(frozen=True, slots=True)
class ChangeDetail:
    """A change with all its patch sets, oldest first."""

    change: ChangeSummary
    patch_sets: tuple[PatchSetSummary, ...]


@dataclass(frozen=True, slots=True)
class DecisionView:
    """A vote and its message; ``number`` counts per patch set.

    ``review_note`` is what was noted on the way to the review server, such as a vote that was not granted;
    empty where all went well. ``review_state`` is how far the message came then.
    """

    run_id: int
    number: int
    vote: int | None
    header: str
    message: str
    created_at: datetime
    review_state: str = ""
    review_note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class OverrideView:
    """What a person decided about a patch set; ``kind`` is that of the domain's ``RulingKind``.

    ``is_standing``: nobody took it back. ``excuses`` names the builds whose failure does not count by it
    now, also those of earlier rounds. ``sentence`` is the line that messages have.
    """

    kind: str
    who: str
    reason: str
    bug: str
    filter: str
    at: datetime
    is_active: bool
    waives: tuple[BuildName, ...]
    sentence: str


@dataclass(frozen=True, slots=True)
class RunSummary:
    """A round of builds that votes on ``label``.

    ``change`` and ``patch_set`` are None where it belongs to no patch set.
    """

    id: int
    kind: str
    state: str
    project: str
    branch: str
    revision: str
    parent: str | None
    subject: str
    author: str
    reason: str
    change: int | None
    patch_set: int | None
    created_at: datetime
    finished_at: datetime | None
    label: str


@dataclass(frozen=True, slots=True)
class BuildSummary:
    """A build as part of a run; ``floor`` is the share below which its differences are no news.

    ``external_number`` and ``url`` are what another CI calls a build of kind external, once it told.
    ``excused_by`` is the sentence of the ruling by which its failure does not count in that run; empty where
    there is none, and where the build is not read as part of a run.
    """

    id: int
    job: str
    number: int
    kind: str
    pool: str
    state: str
    phase: str
    result: str | None
    outcome: str | None
    causes: tuple[str, ...]
    is_voting: bool
    is_reused: bool
    attempt: int
    machine: str | None
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    floor: float
    external_number: int | None = None
    url: str = ""
    waived_by: str = ""


@dataclass(frozen=True, slots=True)
class PatchSetDetail:
    """Everything known of a patch set, with the builds of its newest round.

    Decisions and rulings come newest first; the rulings are all that were made, also those taken back.
    """

    change: ChangeSummary
    patch_set: PatchSetSummary
    message: str
    decisions: tuple[DecisionView, ...]
    runs: tuple[RunSummary, ...]
    builds: tuple[BuildSummary, ...]
    overrides: tuple[OverrideView, ...]


@dataclass(frozen=True, slots=True)
class RunDetail:
    """A run with its builds and the decisions it led to, newest first."""

    run: RunSummary
    builds: tuple[BuildSummary, ...]
    decisions: tuple[DecisionView, ...]


@dataclass(frozen=True, slots=True)
class BuildDetail:
    """A build with where it ran. ``log`` is the artifact that holds its log."""

    build: BuildSummary
    runs: tuple[RunSummary, ...]
    log: str | None
    environment_id: int | None
    fingerprint: str
    environment: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True)
class ComparisonView:
    """Base against patch for one metric of one benchmark, as stored."""

    series_id: int
    suite: str
    benchmark: str
    metric: str
    unit: str
    better: str
    verdict: str
    pairs: int
    ratio: float | None
    low: float | None
    high: float | None
    base: float | None
    patch: float | None
    reason: str


@dataclass(frozen=True, slots=True)
class MeasuredBuild:
    """What one job of a patch set compared."""

    job: str
    number: int
    comparisons: tuple[ComparisonView, ...]


@dataclass(frozen=True, slots=True)
class MeasuredPatchSet:
    """A patch set with the comparisons of its newest check that has some, against ``parent``.

    Equal ``parent_tree`` means equal base programs, also where the parents' commits differ.
    """

    number: int
    revision: str
    run_id: int
    parent: str | None
    parent_tree: str | None
    builds: tuple[MeasuredBuild, ...]


@dataclass(frozen=True, slots=True)
class MeasuredPatchSets:
    """Patch sets of a change that have comparisons, newest first; ``older`` counts those left out."""

    patch_sets: tuple[MeasuredPatchSet, ...]
    older: int


@dataclass(frozen=True, slots=True)
class SamplesView:
    """Every sample of a comparison: element k of both sides was measured in pair k, None: discarded."""

    series_id: int
    suite: str
    benchmark: str
    metric: str
    unit: str
    better: str
    base: tuple[float | None, ...]
    patch: tuple[float | None, ...]


@dataclass(frozen=True, slots=True)
class SeriesSummary:
    """One metric of one benchmark on one machine class and branch, over time."""

    id: int
    instance: str
    project: str
    branch: str
    machine_class: str
    job: str
    suite: str
    benchmark: str
    metric: str
    unit: str
    better: str


@dataclass(frozen=True, slots=True)
class TrendPoint:
    """One comparison in the history of a series; ``kind`` is ``post-submit`` for a merged commit."""

    kind: str
    measured_at: datetime
    job: str
    number: int
    environment_id: int | None
    machine: str
    verdict: str
    pairs: int
    base: float | None
    patch: float | None
    ratio: float | None
    low: float | None
    high: float | None
    run_id: int | None
    revision: str
    subject: str
    author: str
    change: int | None
    patch_set: int | None


@dataclass(frozen=True, slots=True)
class Trend:
    """A series with its points, oldest first."""

    series: SeriesSummary
    points: tuple[TrendPoint, ...]


@dataclass(frozen=True, slots=True)
class MachineView:
    """A machine, what it is, and the build it holds right now (``job/number``).

    ``obstacle`` is what keeps it from taking work; empty where nothing does.
    """

    name: str
    machine_class: str
    pool: str
    first_seen_at: datetime
    last_seen_at: datetime
    environment_id: int | None
    environment: Mapping[str, Any]
    build: tuple[str, int] | None
    obstacle: str = ""


@dataclass(frozen=True, slots=True)
class VotingStatusView:
    """What a machine's A/A sessions say of a series, as the job's newest session was configured."""

    machine: str
    series: SeriesSummary
    measured_at: datetime
    voting_status: VotingStatus
