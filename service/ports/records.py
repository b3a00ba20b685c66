"""Records of the store, as steps read and write them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from service.domain.building.findings import Finding
from service.domain.project.job_kinds import JobKind
from service.domain.review.change import Review
from service.domain.review.form_commands import FormCommand
from service.domain.runs.external import Notice
from service.domain.runs.overrides import OverrideKind
from service.domain.runs.slowdown import Slowdown
from service.domain.runs.states import BuildState, RunState
from service.domain.runs.vote import Outcome
from service.domain.values.identity import ChangeKey, RunKind, SeriesKey, Side
from service.domain.verdict.inference.reasons import Reason
from service.domain.verdict.inference.verdict import Verdict
from service.ports.queue import Task


@dataclass(frozen=True, slots=True)
class ChangeRecord:
    """A stored change and its current patch set. ``is_current`` is False if a newer state was stored.

    ``is_public``: the review server showed it to a reader who does not sign in.
    """

    change_id: int
    patch_set_id: int
    is_current: bool
    is_public: bool = False


@dataclass(frozen=True, slots=True)
class NewRun:
    """A run to be planned."""

    kind: RunKind
    patch_set_id: int | None
    instance: str
    project: str
    branch: str
    revision: str
    subject: str = ""
    author: str = ""
    pool: str = ""  # the only one whose jobs are built; empty: all


@dataclass(frozen=True, slots=True)
class RunRecord:
    """A stored run. ``change`` and ``ref`` are None if it belongs to no patch set.

    ``pool`` is the only one whose jobs are built; empty: all. ``is_called_off``: a person ended it.
    ``is_outdated``: the run checks a patch set that is not the current one of an open change.
    """

    id: int
    kind: RunKind
    state: RunState
    instance: str
    project: str
    branch: str
    revision: str
    parent: str | None
    label: str
    patch_set_id: int | None
    change: ChangeKey | None
    ref: str | None
    pool: str = ""
    is_called_off: bool = False
    is_outdated: bool = False

    @property
    def patch_set(self) -> int | None:
        """The number of its patch set, which ends the ref."""
        return int(self.ref.rpartition("/")[2]) if self.ref else None


@dataclass(frozen=True, slots=True)
class NewBuild:
    """A build to be queued, or stored as finished at once if ``outcome`` is given.

    A build of another CI is not queued. Without a ``sequence`` a build shares no pairs. An exclusive
    build has its host to itself.
    """

    job: str
    kind: JobKind
    pool: str
    priority: int
    is_voting: bool
    spec: Mapping[str, Any]
    sequence: str
    deadline_seconds: float
    is_exclusive: bool = True
    outcome: Outcome | None = None
    causes: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class BuildRecord:
    """A stored build. ``external_number``, ``url`` and ``log_url`` are another CI's, once it reported them.

    ``reported`` is the last state or result that it reported; empty: none.
    """

    id: int
    job: str
    number: int
    kind: JobKind
    state: BuildState
    attempt: int
    is_voting: bool
    cancel_requested: bool
    spec: Mapping[str, Any]
    execution: Mapping[str, Any] | None
    outcome: Outcome | None
    causes: tuple[str, ...]
    sequence_id: int | None
    machine: str
    created_at: datetime
    blamed: tuple[str, ...] = ()  # the benchmarks for which it is slower
    slowdowns: tuple[Slowdown, ...] | None = None  # of these, the rows that vote; None: not stored
    notes: tuple[str, ...] = ()  # for pages only
    external_number: int | None = None
    url: str = ""
    findings: tuple[Finding, ...] = ()
    reported: str = ""
    log_url: str = ""

    @property
    def is_external(self) -> bool:
        """Return whether another CI runs the build."""
        return self.kind.is_external

    @property
    def host(self) -> str:
        """The host of its machine, which may have several: ``HOST/POOL``."""
        return self.machine.partition("/")[0]

    @property
    def has_result(self) -> bool:
        """Return whether another CI reported how the build ended."""
        return self.reported not in {"", Notice.STARTED}


@dataclass(frozen=True, slots=True)
class StoredPair:
    """A pair of a sequence: its number among the pairs of its variant, and the artifact of its record."""

    pair: int
    artifact: str
    variant: int = 0


@dataclass(frozen=True, slots=True)
class StoredResult:
    """The samples of one side of one series; element k belongs to pair k."""

    series: SeriesKey
    side: Side
    samples: tuple[float | None, ...]


@dataclass(frozen=True, slots=True)
class StoredComparison:
    """A comparison as it is stored."""

    series: SeriesKey
    position: int
    pairs: int
    verdict: Verdict
    ratio: float | None
    low: float | None
    high: float | None
    base: float | None
    patch: float | None
    reasons: tuple[Reason, ...] = ()


@dataclass(frozen=True, slots=True)
class NewDecision:
    """A decision to be stored."""

    run_id: int
    patch_set_id: int | None
    number: int
    vote: int | None
    header: str
    message: str


def review_key(run_id: int, decision: int) -> str:
    """Return the key under which the review of a decision is queued, once."""
    return f"run/{run_id}/decision/{decision}"


class ReviewState(StrEnum):
    """The progress of a review from the outbox to its server."""

    PENDING = "pending"
    SENT = "sent"
    SUPERSEDED = "superseded"  # its change moved on before it was posted
    REFUSED = "refused"  # by the server, for good
    DEAD = "dead"  # the server does not show its change


@dataclass(frozen=True, slots=True)
class DueReview:
    """A review to be posted now."""

    outbox_id: int
    attempts: int
    missing_seconds: float  # since the server first did not show its change; 0: it did at the last attempt
    review: Review
    failed_posts: int = 0  # attempts that the server received and did not confirm


@dataclass(frozen=True, slots=True)
class SyncCursor:
    """The progress of reading a review server, by the server's own clock.

    Comments from before ``first_contact`` are ignored; every change updated before ``seen_until`` is stored.
    """

    first_contact: datetime
    seen_until: datetime


class CommentState(StrEnum):
    """The progress of a message that may hold commands."""

    PENDING = "pending"
    DONE = "done"


class CommentSource(StrEnum):
    """The places where people write commands."""

    COMMENT = "comment"  # on the review server
    PAGE = "page"  # a form of Benchgate's pages


@dataclass(frozen=True, slots=True)
class ReviewComment:
    """A message on a patch set that may hold commands.

    ``signed_in_as`` is the identity provider's name for the person who wrote it on a page; else empty.
    ``command`` is that of a page's form; None: the text has the commands.
    """

    id: int
    change_id: int
    patch_set_id: int
    change: ChangeKey
    patch_set: int
    revision: str
    account: str
    person: str
    text: str
    is_pending: bool
    source: CommentSource
    signed_in_as: str = ""
    command: FormCommand | None = None


@dataclass(frozen=True, slots=True)
class NewOverride:
    """An entry for the log of overrides.

    ``comment_id`` is the message that asked for it, and ``signed_in_as`` is as of this message.
    ``carried_from`` is the patch set with the same code on which the person decided it; 0: this one.
    ``levels`` are the slow-downs that an accept covers; None: of any size.
    """

    kind: OverrideKind
    account: str
    person: str
    builds: Sequence[int] = ()
    pattern: str = ""
    bug: str = ""
    reason: str = ""
    comment_id: int | None = None
    signed_in_as: str = ""
    carried_from: int = 0
    levels: tuple[Slowdown, ...] | None = None


@dataclass(frozen=True, slots=True)
class NewReport:
    """A report that another CI sent with an API token. ``digest``: of its content."""

    token_id: int
    key: str
    digest: bytes


@dataclass(frozen=True, slots=True)
class SentReport:
    """A report that was sent before: the digest of its content, and whether it changed something."""

    digest: bytes
    is_news: bool


@dataclass(frozen=True, slots=True)
class Hint:
    """A hint that waits in the outbox."""

    outbox_id: int
    task: Task
    entity: int
    pool: str


@dataclass(frozen=True, slots=True)
class StepFailure:
    """The failures of a step so far, and whether they were all its attempts."""

    attempts: int
    is_dead: bool
