"""A store's rows as plain lists and dictionaries."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any, TypeVar

from service.domain.review.change import PatchSetKind
from service.domain.trunk.notice import NoticeState
from service.domain.values.errors import NotFound
from service.ports.runs.decisions import ReviewState

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from service.domain.access.audit import AuditEntry
    from service.domain.claims.values import Claim
    from service.domain.failures.failure import Failure
    from service.domain.failures.known import KnownFailure
    from service.domain.machines.closures import Closure
    from service.domain.measuring.listing import Listing
    from service.domain.review.change import Change, Review
    from service.domain.runs.overrides import Override
    from service.domain.trunk.notice import Recipient
    from service.domain.trunk.regression import GateSaid, RegressionState
    from service.domain.values.identity import ChangeKey, SeriesKey
    from service.domain.verdict.calibration.evidence import Session
    from service.domain.verdict.calibration.schedule import IdleJob
    from service.domain.verdict.trend.imported import ImportedValue
    from service.ports.backfill import StoredBackfill
    from service.ports.failures.storing import BuildFailures
    from service.ports.review.changes import ReviewComment, SyncCursor
    from service.ports.runs.builds import BuildRecord, SentReport
    from service.ports.runs.decisions import NewDecision
    from service.ports.runs.queue import Hint, Task
    from service.ports.runs.runs import RunRecord
    from service.ports.trunk import SlowerResult
    from service.ports.verdict import StoredComparison, StoredPair, StoredResult

NOW = datetime(2026, 3, 2, 12, tzinfo=UTC)
RowT = TypeVar("RowT")


@dataclass(frozen=True)
class StoredEvent:
    instance: str
    digest: bytes
    kind: str
    change: int | None
    received: float
    deliveries: int = 1
    is_handled: bool = False
    project: str = ""


@dataclass(frozen=True)
class StoredPatchSet:
    change_id: int
    number: int
    revision: str
    ref: str
    kind: PatchSetKind = PatchSetKind.OTHER_CODE


@dataclass(frozen=True)
class Waiting:
    """The queue and the times of a build; ``since``: when it entered its state."""

    pool: str
    priority: int
    deadline: float
    created: float
    since: float
    owner: str
    turn: float
    for_machine: str = ""

    @property
    def order(self) -> tuple[int, float]:
        """Its place in the queue, before that of a later build with an equal one."""
        return self.priority, self.turn


@dataclass(frozen=True)
class Lease:
    machine: str
    expires: float


@dataclass(frozen=True)
class Machine:
    pool: str
    seen: float
    obstacle: str = ""
    host: str = ""


@dataclass(frozen=True)
class Failures:
    attempts: int
    next_at: float
    is_dead: bool
    error: str


@dataclass(frozen=True)
class StoredReview:
    review: Review
    state: ReviewState = ReviewState.PENDING
    note: str = ""
    attempts: int = 0
    failed_posts: int = 0
    missing_since: float | None = None
    next_at: float = 0.0


@dataclass(frozen=True)
class Results:
    series: Mapping[SeriesKey, tuple[str, str]]
    results: Sequence[StoredResult]
    comparisons: Sequence[StoredComparison]


@dataclass(frozen=True)
class StoredRegression:
    run_id: int
    state: RegressionState
    results: tuple[tuple[SlowerResult, GateSaid], ...]
    assignee: str = ""
    bug: str = ""
    note: str = ""
    narrowed: tuple[int, int | None, int] | None = None  # series, run, commits


@dataclass(frozen=True)
class StoredNotice:
    id: int
    next_at: float
    state: NoticeState = NoticeState.WAITING
    attempts: int = 0
    note: str = ""
    changed_at: float = 0.0


Week = tuple[date, str, str]  # the Monday, instance and project of a digest


@dataclass
class Memory:
    """Everything that is remembered; numbers are places in lists, counted from 1.

    ``clock`` is in seconds; a test moves it. Rows are frozen, so that a copy of the lists is a snapshot.
    """

    clock: float = 0.0
    events: list[StoredEvent] = field(default_factory=list)
    changes: dict[ChangeKey, Change] = field(default_factory=dict)
    change_ids: list[ChangeKey] = field(default_factory=list)
    public: set[ChangeKey] = field(default_factory=set)
    public_branches: set[tuple[str, str, str]] = field(default_factory=set)  # instance, project, branch
    patch_sets: list[StoredPatchSet] = field(default_factory=list)
    runs: list[RunRecord] = field(default_factory=list)
    backfills: list[StoredBackfill] = field(default_factory=list)
    created: dict[int, float] = field(default_factory=dict)  # by run
    ended: dict[int, float] = field(default_factory=dict)  # by run
    planned: set[int] = field(default_factory=set)  # runs
    merged_as: dict[int, str] = field(default_factory=dict)  # by run
    trees: dict[int, tuple[str, str | None]] = field(default_factory=dict)  # of a run and its parent
    reasons: dict[int, str] = field(default_factory=dict)
    builds: list[BuildRecord] = field(default_factory=list)
    waiting: dict[int, Waiting] = field(default_factory=dict)
    run_builds: list[tuple[int, int]] = field(default_factory=list)
    positions: dict[tuple[int, int], int] = field(default_factory=dict)
    replaced: list[tuple[int, int]] = field(default_factory=list)
    sequences: list[str] = field(default_factory=list)
    listings: dict[int, Sequence[Listing]] = field(default_factory=dict)
    pairs: dict[int, Sequence[StoredPair]] = field(default_factory=dict)
    disturbed: set[tuple[int, int]] = field(default_factory=set)  # sequence and pair
    results: dict[int, Results] = field(default_factory=dict)
    evidence: dict[tuple[SeriesKey, int], tuple[str, Session]] = field(default_factory=dict)
    explanations: dict[int, bytes] = field(default_factory=dict)  # by build
    explained_at: dict[int, float] = field(default_factory=dict)  # by build
    claims: dict[tuple[str, str, str], tuple[Claim, ...]] = field(default_factory=dict)
    imported: dict[tuple[SeriesKey, str], ImportedValue] = field(default_factory=dict)
    continued: dict[SeriesKey, SeriesKey] = field(default_factory=dict)  # by the newer one, the older
    decisions: list[NewDecision] = field(default_factory=list)
    outbox: dict[int, Hint] = field(default_factory=dict)
    sent: int = 0  # hints so far: a number is never used again
    reviews: dict[str, StoredReview] = field(default_factory=dict)
    failures: dict[tuple[Task, int], Failures] = field(default_factory=dict)
    leases: dict[int, Lease] = field(default_factory=dict)
    machines: dict[str, Machine] = field(default_factory=dict)
    closures: list[tuple[str, Closure]] = field(default_factory=list)  # of hosts; each has one machine
    beats: dict[str, str] = field(default_factory=dict)
    idle_jobs: list[IdleJob] = field(default_factory=list)
    sync_cursors: dict[str, SyncCursor] = field(default_factory=dict)
    comment: list[ReviewComment] = field(default_factory=list)
    recorded: dict[object, float] = field(default_factory=dict)
    tickets: set[bytes] = field(default_factory=set)
    answers: dict[int, str] = field(default_factory=dict)
    overrides: list[tuple[int, Override]] = field(default_factory=list)
    reports: dict[tuple[int, str], SentReport] = field(default_factory=dict)  # by token and key
    audit: list[AuditEntry] = field(default_factory=list)
    build_failures: dict[int, BuildFailures] = field(default_factory=dict)
    cleared: dict[int, tuple[Failure, ...]] = field(default_factory=dict)  # by build
    known: list[KnownFailure] = field(default_factory=list)
    regressions: list[StoredRegression] = field(default_factory=list)
    notices: dict[tuple[int | Week, Recipient], StoredNotice] = field(default_factory=dict)
    known_since: dict[int, datetime] = field(default_factory=dict)
    known_matches: dict[tuple[int, int, int], int] = field(default_factory=dict)  # by run, build and place

    @property
    def hints(self) -> list[tuple[Task, int]]:
        """Task and entity of each hint that waits."""
        return [(hint.task, hint.entity) for hint in self.outbox.values()]

    @property
    def now(self) -> datetime:
        return NOW + timedelta(seconds=self.clock)

    def snapshot(self) -> dict[str, Any]:
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        return {
            name: value if isinstance(value, float | int) else value.copy() for name, value in values.items()
        }

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        for name, value in snapshot.items():
            setattr(self, name, value)

    def has_expired(self, build_id: int) -> bool:
        return build_id in self.leases and self.leases[build_id].expires <= self.clock

    def is_held(self, build_id: int) -> bool:
        return build_id in self.leases and self.leases[build_id].expires > self.clock

    def put_build(self, build: BuildRecord) -> None:
        """Replace a build; a new state begins now."""
        if self.builds[build.id - 1].state is not build.state:
            self.waiting[build.id] = replace(self.waiting[build.id], since=self.clock)
        self.builds[build.id - 1] = build


class InMemory:
    """A part of the unit of work on a memory."""

    def __init__(self, memory: Memory) -> None:
        self._m = memory


def row(rows: Sequence[RowT], number: int, entity: str) -> RowT:
    """The row of a number, counted from 1."""
    if not 0 < number <= len(rows):
        raise NotFound(f"there is no {entity} {number}")
    return rows[number - 1]
