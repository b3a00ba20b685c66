"""Builds as steps read and write them, also those of other CIs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from service.domain.building.findings import Finding
from service.domain.building.spec import BuildSpec
from service.domain.project.job_kinds import JobKind
from service.domain.runs.external import ExternalBuild, Notice
from service.domain.runs.machine_report import MachineReport
from service.domain.runs.slowdown import Slowdown
from service.domain.runs.states import BuildState
from service.domain.runs.vote import Outcome
from service.ports.runs.runs import RunRecord


@dataclass(frozen=True, slots=True)
class NewBuild:
    """A build to be queued, or stored as finished at once if ``outcome`` is given.

    A build of another CI is not queued. Without a ``sequence`` a build shares no pairs. An exclusive
    build has its host to itself. Only ``for_machine`` claims it; empty: any machine of the pool.
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
    for_machine: str = ""


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
    blamed: tuple[str, ...] = ()  # the slower benchmarks
    slowdowns: tuple[Slowdown, ...] | None = None  # of these, the rows that vote; None: not stored
    notes: tuple[str, ...] = ()  # for pages only
    external_number: int | None = None
    url: str = ""
    findings: tuple[Finding, ...] = ()
    reported: str = ""
    log_url: str = ""

    @property
    def report(self) -> MachineReport:
        """The end of the machine's work; an empty one before it."""
        return MachineReport.from_mapping(self.execution) if self.execution else MachineReport()

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


class Builds(Protocol):
    """Numbered executions of jobs; one may be a part of several runs, and may run again."""

    def add(self, run_id: int, position: int, build: NewBuild) -> int:
        """Queue a numbered build as part of a run, or store it as finished; return its id."""

    def adopt(
        self, run: RunRecord, position: int, sequence: str, deadline_seconds: float, queued_seconds: float
    ) -> BuildRecord | None:
        """Make the newest build of a sequence that has or will have a result a part of a run too.

        It is of the run's branch and has at least ``deadline_seconds`` left, or ``queued_seconds`` if it is
        queued. Return None without one.
        """

    def of_run(self, run_id: int) -> Sequence[BuildRecord]:
        """Return the builds of a run in their order."""

    def lock(self, build_id: int) -> BuildRecord:
        """Return a build, locked until the transaction ends; raises NotFound."""

    def finish(
        self,
        build_id: int,
        outcome: Outcome,
        causes: Sequence[str],
        blamed: Sequence[str] = (),
        notes: Sequence[str] = (),
    ) -> Sequence[int]:
        """End a build; return the unfinished runs it belongs to. A finished build keeps its outcome.

        ``blamed`` are the benchmarks that made it slower, ``notes`` sentences for pages only. A machine that
        holds a lease on it loses it, unless it has reported the build.
        """

    def take(self, run_id: int, position: int, build_id: int) -> None:
        """Make a build of an earlier run a part of a run."""

    def repeat(self, build: BuildRecord, spec: BuildSpec | None, deadline_seconds: float) -> int:
        """Store a new build that does the same as another, in no run yet; queued unless it is another CI's.

        ``spec`` is what it does instead, if its job was configured otherwise since.
        """

    def put(self, run_id: int, position: int, job: str, build_id: int, comment_id: int | None) -> None:
        """Give a job's place in a run to a new build; the build that it replaces is remembered."""


class ExternalBuilds(Protocol):
    """Builds of other CIs, and reports about them, each with an idempotency key."""

    def claim_report(self, report: NewReport) -> SentReport | None:
        """Store a report; return an earlier one with its token and idempotency key, if any.

        Another transaction with the same token and key waits until this one ends.
        """

    def answer_report(self, report: NewReport, *, is_news: bool) -> None:
        """Store the answer to a report."""

    def builds_numbered(
        self, instance: str, project: str, job: str, external_number: int
    ) -> Sequence[BuildRecord]:
        """Return the builds of a project's job that another CI gave a number, oldest first."""

    def runs_with(self, build_id: int) -> Sequence[int]:
        """Return the ids of the runs that have a build, oldest first."""

    def record_report(self, build_id: int, reported: ExternalBuild, state: str) -> None:
        """Store how another CI names a build, and the build's state or result there.

        The address of a log that is empty leaves the stored one as it is.
        """

    def keep_result(self, build_id: int, outcome: Outcome, causes: Sequence[str]) -> None:
        """Replace the end of a build by a result that arrived later; no run is decided again."""

    def store_execution(self, build_id: int, execution: Mapping[str, Any]) -> None:
        """Replace what is stored of a build's execution."""
