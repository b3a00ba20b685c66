"""The store of the control plane: units of work, each made of parts by subject."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from contextlib import AbstractContextManager
    from datetime import datetime

    from service.domain.access.audit import AuditKind
    from service.domain.building.findings import Finding
    from service.domain.building.spec import BuildSpec
    from service.domain.review.change import Change, PostedMessage, Review
    from service.domain.runs.external import ExternalBuild
    from service.domain.runs.overrides import Override
    from service.domain.runs.slowdown import Slowdown
    from service.domain.runs.states import RunState
    from service.domain.runs.vote import Outcome
    from service.domain.values.identity import ChangeKey, RunKind, SeriesKey
    from service.domain.verdict.calibration.evidence import History, Session
    from service.ports.failures.storing import Failures, KnownFailures
    from service.ports.page_requests import PageRequest
    from service.ports.queue import Task
    from service.ports.records import (
        BuildRecord,
        ChangeRecord,
        NewBuild,
        NewDecision,
        NewOverride,
        NewReport,
        NewRun,
        ReviewComment,
        RunRecord,
        SentReport,
        StoredComparison,
        StoredPair,
        StoredResult,
        SyncCursor,
    )


class Events(Protocol):
    """Hints of review servers that a change moved, and how far each server was read."""

    def add_event(self, instance: str, digest: bytes, kind: str, change: int | None, body: bytes) -> int:
        """Store an event; return its id. A duplicate is counted and is unhandled again."""

    def event_change(self, event_id: int) -> ChangeKey | None:
        """Return the change an event hints at; None if it concerns none. NotFound without such an event."""

    def mark_handled(self, event_id: int) -> None:
        """Record that an event needs no more work."""

    def sync_cursor(self, instance: str) -> SyncCursor | None:
        """Return how far a server was read; None before the first contact."""

    def move_sync_cursor(self, instance: str, seen_until: datetime) -> None:
        """Record that every change updated before then is stored; a cursor never moves back."""


class Changes(Protocol):
    """Changes and their patch sets, as the review server last showed them."""

    def upsert_change(self, change: Change) -> ChangeRecord:
        """Store a change and its current patch set unless a newer state is stored; lock the change.

        Newer is the later update; of updates at the same moment, the higher patch set.
        """

    def stored_change(self, key: ChangeKey) -> int | None:
        """Return the id of a change, which is locked until the transaction ends; None if none is stored."""

    def same_code(self, change: ChangeKey, revision: str) -> Sequence[int]:
        """Return the number of a patch set and those directly before it with the same code, newest first.

        Empty if the patch set is not stored.
        """

    def open_changes(self, instance: str) -> Sequence[ChangeKey]:
        """Return the changes of a server that are open as last stored, by number."""


class Visibility(Protocol):
    """Changes and branches that readers see without sign-in, as the server last answered; at first none.

    A change is public no longer if it turns private, moves to another branch, or is not shown to Benchgate
    itself.
    """

    def hide_change(self, change_id: int) -> None:
        """Record that the server does not show a change to Benchgate: it is deleted, or private."""

    def record_visible(self, instance: str, asked: Collection[int], visible: Collection[int]) -> None:
        """Record which of the changes that Benchgate asked about are public, and so are their branches.

        A change that is stored as private stays hidden: the answer is older than its new state.
        """

    def hidden_changes(self, instance: str, after: int, limit: int) -> Sequence[int]:
        """Return changes on public branches that are neither private nor public, by number."""

    def branches(self, instance: str) -> Sequence[tuple[str, str]]:
        """Return project and branch of all stored changes."""

    def record_branch(self, instance: str, project: str, branch: str, *, is_public: bool) -> None:
        """Record whether a branch is public; if it is not, nor are its changes."""


class ReviewComments(Protocol):
    """Messages on changes, and requests on pages, that may hold commands; each is answered once."""

    def record_comments(self, record: ChangeRecord, messages: Sequence[PostedMessage]) -> Sequence[int]:
        """Store messages on the current patch set in their order; return the ids of the new ones."""

    def add_request(self, request: PageRequest) -> int | None:
        """Store a request of a page as a message; return its id, None if its ticket was used before."""

    def lock_comment(self, comment_id: int) -> ReviewComment:
        """Return a message; its change is locked until the transaction ends. NotFound without such a one."""

    def pending_until(self, comment_id: int) -> Sequence[ReviewComment]:
        """Return the unanswered messages of its change up to a message, oldest first."""

    def answer(self, comment_id: int, text: str) -> None:
        """Record that a message was handled, and the reply; it may be empty."""


class Runs(Protocol):
    """Runs from planning to their end, and those that patch sets, changes and commits had."""

    def add_run(self, run: NewRun) -> int | None:
        """Store a run in state planning; return its id, None if the same one exists."""

    def lock_run(self, run_id: int) -> RunRecord:
        """Return a run; its change and itself are locked until the transaction ends. NotFound without it."""

    def start_run(
        self, run_id: int, *, tree: str, parent: str | None, parent_tree: str | None, label: str
    ) -> None:
        """Move a planned run to running. A run in any other state stays as it is."""

    def end_run(self, run_id: int, state: RunState, reason: str = "") -> None:
        """Move a run to an end state; a run that has ended keeps its state."""

    def cancel_runs(self, change_id: int, *, keep_patch_set: int | None, reason: str = "") -> None:
        """Cancel unfinished check runs of a change, except those of one patch set.

        Their builds go on until :meth:`LostBuilds.drop_unwanted_builds` finds that no other run adopted them.
        """

    def cancel_check(self, run_id: int) -> None:
        """End an unfinished run because a person asked for it; the service does not start it anew."""

    def follow_run(self, previous: RunRecord, comment_id: int | None) -> int:
        """Store a running run without builds that follows a finished one of the same revision."""

    def runs_of(self, patch_set_id: int) -> Sequence[RunRecord]:
        """Return the runs of a patch set, oldest first."""

    def newest_check(self, patch_set_id: int) -> RunRecord | None:
        """Return the last check of a patch set that no person cancelled, locked; None if there is none."""

    def newest_run(self, change: ChangeKey, kind: RunKind, revision: str) -> RunRecord | None:
        """Return the last run of a kind for a revision of a change, both locked; None if there is none."""

    def checks_of(self, instance: str, revision: str) -> tuple[tuple[RunState, bool], ...]:
        """Return the states of the checks of a commit on any patch set, and whether each was planned."""

    def last_durations(self, run: RunRecord, count: int) -> Sequence[float]:
        """Return how many seconds the last finished runs of the run's kind and branch took, newest first."""


class Builds(Protocol):
    """Numbered executions of jobs; one may be a part of several runs, and may run again."""

    def add_build(self, run_id: int, position: int, build: NewBuild) -> int:
        """Queue a numbered build as part of a run, or store it as finished; return its id."""

    def adopt_build(
        self, run: RunRecord, position: int, sequence: str, deadline_seconds: float
    ) -> BuildRecord | None:
        """Make the newest build of a sequence that has or will have a result a part of a run too.

        It is of the run's branch, and has at least so much time left from now on. None if there is none.
        """

    def builds_of(self, run_id: int) -> Sequence[BuildRecord]:
        """Return the builds of a run in their order."""

    def builds_of_job(self, run: RunRecord, job: str) -> Sequence[BuildRecord]:
        """Return a job's builds in all runs of the run's kind and revision, oldest first.

        Builds that were replaced there are among them.
        """

    def lock_build(self, build_id: int) -> BuildRecord:
        """Return a build, locked until the transaction ends. NotFound without such a build."""

    def finish_build(
        self,
        build_id: int,
        outcome: Outcome,
        causes: Sequence[str],
        blamed: Sequence[str] = (),
        notes: Sequence[str] = (),
    ) -> Sequence[int]:
        """End a build; return the unfinished runs it belongs to. A finished build keeps its outcome.

        ``blamed`` are the benchmarks that made it slower, ``notes`` sentences for pages only. A machine that
        holds a lease on it loses it.
        """

    def take_build(self, run_id: int, position: int, build_id: int) -> None:
        """Make a build of an earlier run a part of a run."""

    def repeat_build(self, build: BuildRecord, spec: BuildSpec | None, deadline_seconds: float) -> int:
        """Store a new build that does the same as another, in no run yet; queued unless it is another CI's.

        ``spec`` is what it does instead, if its job was configured otherwise since.
        """

    def put_build(self, run_id: int, position: int, job: str, build_id: int, comment_id: int | None) -> None:
        """Give a job's place in a run to a new build; the build that it replaces is remembered."""


class ExternalBuilds(Protocol):
    """Builds of other CIs, and the reports about them under keys that their senders chose."""

    def claim_report(self, report: NewReport) -> SentReport | None:
        """Store a report; return the one that its token sent before under its key, None if there is none.

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


class Measurements(Protocol):
    """Pairs, samples, comparisons, findings, and A/A sessions per series and machine."""

    def stored_pairs(self, sequence_id: int) -> Sequence[StoredPair]:
        """Return the pairs of a sequence, in order of variant and number."""

    def listing(self, sequence_id: int) -> Sequence[Mapping[str, Any]]:
        """Return the listing of a sequence; empty if none is fixed."""

    def disturbed_pairs(self, sequence_id: int) -> Mapping[int, bool]:
        """Return for each pair of the programs as built whether other work disturbed it."""

    def store_results(
        self,
        build: BuildRecord,
        kind: RunKind,
        series: Mapping[SeriesKey, tuple[str, str]],
        results: Sequence[StoredResult],
        comparisons: Sequence[StoredComparison],
    ) -> None:
        """Replace the results of a build. ``series`` gives unit and better direction by key.

        Raises:
            KeyError: a result or comparison of a series that is not in ``series``.
        """

    def unresolved_benchmarks(self, build_id: int) -> Sequence[str]:
        """Return the benchmarks of a build with an undecided comparison that more pairs may decide.

        A comparison that the link layout or a second opinion leaves undecided is slower as linked, and
        instructions do not come in pairs: more pairs change neither.
        """

    def store_findings(self, build_id: int, findings: Sequence[Finding]) -> None:
        """Replace what a build reported by file and line."""

    def store_slowdowns(self, build_id: int, slowdowns: Sequence[Slowdown]) -> None:
        """Replace the slow-downs of a build that vote −1."""

    def continue_series(self, former: Mapping[SeriesKey, SeriesKey]) -> None:
        """Record which stored series continue another one, because their benchmarks were renamed.

        A series that continues another one already, or that another one continues, stays as it is. One that
        gets a former name back continues the series of the later name.
        """

    def store_evidence(self, build: BuildRecord, sessions: Mapping[SeriesKey, Session]) -> None:
        """Store the A/A sessions of a build, each of a series whose results are stored already.

        The builds of one sequence share one session per series, of the machine that measured it first.
        """

    def evidence(self, machine: str, series: Sequence[SeriesKey]) -> Mapping[SeriesKey, History]:
        """Return the sessions of series on a machine; a series without one is left out.

        A series that continues another one also has the sessions of that one.
        """


class Overrides(Protocol):
    """The log of what people decided about patch sets; entries are only ever added."""

    def add_override(self, patch_set_id: int, entry: NewOverride) -> int:
        """Append an entry, and record it in the audit log; return its id. NotFound without the patch set."""

    def overrides(self, patch_set_id: int) -> Sequence[Override]:
        """Return all entries of a patch set, oldest first, also those that were revoked."""

    def overrides_on(self, change: ChangeKey, patch_sets: Sequence[int]) -> Mapping[int, Sequence[Override]]:
        """Return all entries of patch sets by their numbers, oldest first; one without any is left out."""


class Decisions(Protocol):
    """Votes with their messages."""

    def next_decision(self, run: RunRecord) -> int:
        """Return the number of the run's next decision, counted per patch set, else per run.

        The patch set is locked until the transaction ends, so that no other run gets the same number.
        """

    def add_decision(self, decision: NewDecision) -> int:
        """Store a decision; return its number."""


class Outbox(Protocol):
    """Hints and reviews that leave once the transaction is committed."""

    def queue_task(self, task: Task, *entities: int) -> None:
        """Queue a hint for each entity. NotFound without such a build to execute."""

    def queue_review(self, dedup_key: str, review: Review) -> None:
        """Queue a review for the review server, once for each key."""

    def sent_review(self, patch_set_id: int) -> Review | None:
        """Return the review of a patch set's last decision if the server took its message and its votes."""

    def revive_review(self, patch_set_id: int, *, is_lost: bool = False) -> None:
        """Queue the review of a patch set's last decision again if it was superseded or is dead.

        ``is_lost``: also if it was sent.
        """

    def remarks_on(self, change: ChangeKey, revision: str) -> Collection[tuple[str, str]]:
        """Return path and text of each line comment sent to a change, or queued for this revision."""


class Audit(Protocol):
    """The audit log, to which entries are only ever added."""

    def record_act(self, kind: AuditKind, actor: str, subject: str, details: Mapping[str, str]) -> None:
        """Append a :class:`service.domain.access.audit.AuditEntry` when the transaction is committed.

        Appending is the last that a transaction does, because all others that append wait for its end.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class Transaction:
    """One unit of work: all of it is stored, or nothing. A step takes the parts that it uses."""

    events: Events
    changes: Changes
    visibility: Visibility
    comments: ReviewComments
    runs: Runs
    builds: Builds
    external: ExternalBuilds
    measurements: Measurements
    failures: Failures
    known: KnownFailures
    overrides: Overrides
    decisions: Decisions
    outbox: Outbox
    audit: Audit


class Store(Protocol):
    """The database as the control plane uses it."""

    def transaction(self) -> AbstractContextManager[Transaction]:
        """Open a unit of work: committed at the end, rolled back if the body raises."""

    def exclusive(self, name: str) -> AbstractContextManager[bool]:
        """Enter a section; the value is False if another process is in a section of that name."""
