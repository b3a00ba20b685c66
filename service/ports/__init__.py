"""What the steps need of the world: small Protocols that the adapters implement."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from service.ports.building import Binaries
from service.ports.hearing import Hearing, Remarks, Rounds

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from contextlib import AbstractContextManager

    from service.domain.calibration import IdleJob
    from service.domain.evidence import History, Session
    from service.domain.identity import ChangeKey, RunKind, SeriesKey
    from service.domain.records import (
        BuildRecord,
        ChangeRecord,
        DueReview,
        Hint,
        NewBuild,
        NewDecision,
        NewRun,
        QueuedReview,
        RunRecord,
        Setback,
        StoredComparison,
        StoredResult,
    )
    from service.domain.review import Change, InlineComment

# --- the machine's view of its build ------------------------------------------------------------------


class Lease(Protocol):
    """A build held by this worker. Every method raises LeaseLost once another holds it."""

    def watch(self) -> None:
        """Raise Cancelled, Overdue or LeaseLost when the work should end; cheap enough to call always."""

    def enter(self, phase: str) -> None:
        """Say what is being done; shown on the pages."""


class PairLog(Protocol):
    """The pairs measured so far, which survive the worker."""

    def fix_listing(self, listing: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
        """Store what will be measured; the listing that was stored first is returned."""

    def pairs(self) -> Sequence[tuple[int, bytes]]:
        """Number and raw record of each complete pair, in order."""

    def record(self, pair: int, raw: bytes, launches: Sequence[Mapping[str, Any]]) -> None:
        """Store a complete pair."""


class Worklist(Protocol):
    """Where a machine gets builds and reports them."""

    def introduce(self, fingerprint: str, facts: Mapping[str, Any]) -> None:
        """Make this machine known with its environment."""

    def claim(self) -> Claimed | None:
        """The next build of this machine's pool; None when there is nothing to do."""

    def see(self, obstacle: str | None = None) -> None:
        """Leave a sign of life; ``obstacle`` says what keeps it from taking work, None: as it said before."""


class Claimed(Lease, PairLog, Binaries, Protocol):
    """A claimed build with all that its machine may do to it."""

    @property
    def name(self) -> str:
        """Job and number, for logs."""

    @property
    def spec(self) -> Mapping[str, Any]:
        """What to do, frozen when it was planned."""

    @property
    def seed(self) -> str:
        """The seed of every random choice of the measuring."""

    def execute(self, execution: Mapping[str, Any], log: bytes) -> None:
        """Report the end of the machine's work; the lease ends with it."""

    def release(self, delay: float = 0.0) -> None:
        """Hand the build back: unharmed without a delay, else as an attempt that met a passing fault."""

    @property
    def attempt(self) -> int:
        """Which attempt this is, from 1."""

    def close(self) -> None:
        """Stop renewing; always called."""


# --- the service's memory -----------------------------------------------------------------------------


class Transaction(Hearing, Rounds, Remarks, Protocol):
    """One unit of work: all of it is stored, or nothing."""

    def add_event(self, instance: str, digest: bytes, kind: str, change: int | None, body: bytes) -> int:
        """Store an event; a duplicate is counted and looked at again."""

    def event_change(self, event_id: int) -> ChangeKey | None:
        """The change an event hints at; None where it concerns none."""

    def mark_handled(self, event_id: int) -> None:
        """The event needs no more work."""

    def upsert_change(self, change: Change) -> ChangeRecord:
        """Store a change and its current patch set unless a newer state is stored; locks the change."""

    def open_changes(self, instance: str) -> Sequence[ChangeKey]:
        """The changes of a server that were open when they were last looked at."""

    def runs_of(self, patch_set_id: int) -> Sequence[RunRecord]:
        """The runs of a patch set, oldest first."""

    def cancel_runs(self, change_id: int, *, keep_patch_set: int | None) -> None:
        """Cancel unfinished check runs of a change, but for one patch set.

        Their builds go on until :meth:`Upkeep.drop_unwanted_builds` finds that no other run took them over.
        """

    def add_run(self, run: NewRun) -> int | None:
        """A run in state planning; None where the same one exists."""

    def lock_run(self, run_id: int) -> RunRecord:
        """A run, locked until the transaction ends."""

    def start_run(
        self, run_id: int, *, tree: str, parent: str | None, parent_tree: str | None, label: str
    ) -> None:
        """The run is planned; its builds are known."""

    def end_run(self, run_id: int, state: str, reason: str = "") -> None:
        """Move a run to an end state."""

    def add_build(self, run_id: int, position: int, build: NewBuild) -> int:
        """Queue a numbered build (or store it as finished) as part of a run."""

    def adopt_build(
        self, run: RunRecord, position: int, sequence: str, deadline_seconds: float
    ) -> BuildRecord | None:
        """Make the newest build of a sequence that has or will have a result a part of a run; None: none.

        It is of the run's branch, and has at least so much time left.
        """

    def builds_of(self, run_id: int) -> Sequence[BuildRecord]:
        """The builds of a run in their order."""

    def lock_build(self, build_id: int) -> BuildRecord:
        """A build, locked until the transaction ends."""

    def pair_artifacts(self, sequence_id: int) -> Sequence[tuple[int, str]]:
        """Number and artifact of each pair of a sequence, in order."""

    def listing(self, sequence_id: int) -> Sequence[Mapping[str, Any]]:
        """The listing of a sequence; empty where none was fixed."""

    def disturbed_pairs(self, sequence_id: int) -> Mapping[int, bool]:
        """By number of each pair of the programs as built, whether other work disturbed it."""

    def unresolved_benchmarks(self, build_id: int) -> Sequence[str]:
        """The benchmarks of a build with a comparison that is undecided, and that more pairs may decide."""

    def store_results(
        self,
        build: BuildRecord,
        kind: RunKind,
        series: Mapping[SeriesKey, tuple[str, str]],
        results: Sequence[StoredResult],
        comparisons: Sequence[StoredComparison],
    ) -> None:
        """Replace the results of a build. ``series`` gives unit and better direction by key."""

    def store_evidence(self, build: BuildRecord, sessions: Mapping[SeriesKey, Session]) -> None:
        """Keep the A/A sessions of a build, each of a series whose results are stored already.

        The builds of one sequence have one session a series, and the machine that measured it first.
        """

    def evidence(self, machine: str, series: Sequence[SeriesKey]) -> Mapping[SeriesKey, History]:
        """What is known of these series on a machine; those without a session are left out."""

    def finish_build(
        self, build_id: int, outcome: str, result: str, causes: Sequence[str], blamed: Sequence[str] = ()
    ) -> Sequence[int]:
        """End a build; the runs that wait for it. ``blamed`` are the benchmarks for which it is slower."""

    def add_decision(self, decision: NewDecision) -> int:
        """Store a decision; its number (counted per patch set, else per run)."""

    def next_decision(self, run: RunRecord) -> int:
        """The number that the run's next decision will have."""

    def queue_task(self, task: str, *entities: int) -> None:
        """Send a hint for each once this transaction is committed."""

    def revive_review(self, patch_set_id: int) -> None:
        """Post the review of a patch set's last decision after all, where its change was closed or hidden."""

    def queue_review(self, dedup_key: str, review: QueuedReview) -> None:
        """Post to the review server once this transaction is committed."""


class Store(Protocol):
    """The database as the control plane uses it."""

    def transaction(self) -> AbstractContextManager[Transaction]:
        """A unit of work: committed at the end, rolled back when the body raises."""

    def exclusive(self, name: str) -> AbstractContextManager[bool]:
        """True while no other process is in a section of that name."""


class Upkeep(Protocol):
    """What keeps the flow going when something was lost."""

    def due_hints(self) -> Sequence[Hint]:
        """Hints that wait in the outbox."""

    def drop_hints(self, hint_ids: Sequence[int]) -> None:
        """These hints were sent."""

    def due_reviews(self) -> Sequence[DueReview]:
        """Reviews that are due now, in the order of their decisions."""

    def settle_review(
        self, outbox_id: int, state: str, note: str = "", said: Sequence[InlineComment] | None = None
    ) -> None:
        """A review ended: sent, superseded, refused or dead. ``said``: what was taken of its comments."""

    def postpone_review(
        self, outbox_id: int, seconds: float, error: str, *, is_missing: bool = False
    ) -> None:
        """A review could not be sent now; ``is_missing``: its change was not there."""

    def note_failed_post(self, outbox_id: int) -> None:
        """A server was given a review and did not say that it took it."""

    def requeue_lost_builds(self, max_attempts: int) -> Sequence[int]:
        """Builds whose machine fell silent: queued again, or given up (those are returned)."""

    def overdue_builds(self) -> Sequence[int]:
        """Unfinished builds past their deadline that no machine holds."""

    def drop_unwanted_builds(self) -> None:
        """Ask for the end of builds that no unfinished run wants, nor one that is being planned may want."""

    def cancelled_builds(self) -> Sequence[int]:
        """Builds that nobody wants any more and that no machine holds."""

    def stalled(self, older_than: float) -> Sequence[tuple[str, int]]:
        """(task, entity) of everything that waits for a step that should have come by now."""

    def idle_pools(self, older_than: float) -> Sequence[tuple[str, int]]:
        """(pool, build) where builds wait and no machine of the pool is known to be busy."""

    def make_way(self) -> Sequence[int]:
        """Cancel calibrations that a machine holds while other builds wait for it; those builds."""

    def idle_jobs(self, asked_within: float) -> Sequence[IdleJob]:
        """The benchmark jobs of branches checked within so many seconds, in pools with nothing to do."""

    def pools(self) -> Sequence[str]:
        """The pools in which a machine was seen within the last minutes."""

    def record_setback(self, task: str, entity: int, error: str, *, max_attempts: int) -> Setback:
        """A step failed; how often, and whether those were all its attempts."""

    def clear_setback(self, task: str, entity: int) -> None:
        """A step succeeded."""

    def ensure_partitions(self) -> None:
        """Make the partitions of the coming months."""

    def beat(self, part: str, note: str = "") -> None:
        """Leave a sign of life of a part of the service."""


class Queue(Protocol):
    """Sends hints to workers. Raises Transient."""

    def send(self, task: str, entity: int, pool: str) -> None:
        """Hint at an entity; ``pool`` is ``control`` or a pool of machines."""


class Progress(Protocol):
    """Tells a person how far a long piece of work is."""

    def say(self, text: str, done: float | None = None) -> None:
        """What is being done now; ``done`` is a share of the whole where it is known."""
