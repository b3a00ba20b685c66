"""Reports of another CI about its builds: started, finished, or withdrawn before the start."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from service.domain.decision.external import causes_of, outcome_of
from service.domain.decision.machine_report import BuildEnd
from service.domain.decision.states import BuildState, RunState
from service.domain.decision.vote import Outcome
from service.domain.errors import BadInput, NotFound, Transient
from service.domain.identity import RunKind
from service.domain.wording.build_causes import WITHDRAWN
from service.steps.deciding.analyse import finish
from service.steps.planning.rerun import run_again

if TYPE_CHECKING:
    from collections.abc import Sequence

    from service.domain.decision.external import ExternalBuild, Target
    from service.ports.records import BuildRecord, RunRecord
    from service.ports.store import RunHistory, Store, Transaction


def announce_external(store: Store, target: Target, started: ExternalBuild) -> bool:
    """Record that another CI started a build; return False if the report changes nothing.

    After a finished run this starts the next run, in which only that job runs again; in a running run, the
    build replaces the job's previous build. A repeated report, or one of an older build, changes nothing.

    Raises:
        BadInput: the job is not of kind ``external``.
        NotFound: the revision has no such run or job.
        Transient: the run is not planned yet.
    """
    with store.transaction() as tx:
        place = _place_of(tx, target, started.job)
        if place is None or not _is_news(tx, place, started):
            return False
        _adopt(tx, place, started)
        return True


def record_external_build(
    store: Store, target: Target, finished: ExternalBuild, result: str, causes: Sequence[str] = ()
) -> bool:
    """Record the result of another CI's build, also of one that was not announced.

    Returns False if the report changes nothing.

    Raises:
        BadInput: the result is unknown, or the job is not of kind ``external``.
        NotFound, Transient: as in :func:`announce_external`.
    """
    end = BuildEnd(outcome_of(result), causes_of(causes))
    with store.transaction() as tx:
        place = _place_of(tx, target, finished.job)
        if place is None or not (place.awaits(finished) or _is_news(tx, place, finished)):
            return False
        finish(tx, place.build.id if place.awaits(finished) else _adopt(tx, place, finished), end)
        return True


def withdraw_external(store: Store, target: Target, job: str) -> bool:
    """Record that another CI dropped a job before its start; return False if no build waits for it.

    Raises:
        BadInput, NotFound, Transient: as in :func:`announce_external`.
    """
    with store.transaction() as tx:
        place = _place_of(tx, target, job)
        if place is None or not place.awaits_any:
            return False
        finish(tx, place.build.id, BuildEnd(Outcome.CANCELLED, (WITHDRAWN,)))
        return True


@dataclass(frozen=True, slots=True)
class _Place:
    """The build of a job in the newest run of a revision."""

    run: RunRecord
    build: BuildRecord

    @property
    def awaits_any(self) -> bool:
        """Return whether this waits for a build that the other CI has not started."""
        return self.build.state is BuildState.RUNNING and self.build.external_number is None

    def awaits(self, reported: ExternalBuild) -> bool:
        """Return whether this waits for the result of exactly that build."""
        return self.build.state is BuildState.RUNNING and self.build.external_number == reported.number


def _place_of(tx: Transaction, target: Target, job: str) -> _Place | None:
    """Find and lock the build of another CI's job; None if the run ended without a decision."""
    run = tx.newest_run(target.change, target.kind, target.revision)
    if run is None:
        raise NotFound(f"there is no {target.kind} run of {target.revision} on change {target.change.number}")
    if run.state is RunState.PLANNING:
        raise Transient(f"run {run.id} is not planned yet")
    if run.state not in {RunState.RUNNING, RunState.FINISHED}:
        return None
    build = next((build for build in tx.builds_of(run.id) if build.job == job), None)
    if build is None:
        raise NotFound(f"run {run.id} has no job {job}")
    if not build.is_external:
        raise BadInput(f"{job} is not of kind external", "job")
    return _Place(run, tx.lock_build(build.id))


def _is_news(tx: RunHistory, place: _Place, reported: ExternalBuild) -> bool:
    # Numbers grow: an equal or smaller number is a repeated report, or one of an older build.
    builds = tx.builds_of_job(place.run, reported.job)
    if any(reported.number <= (build.external_number or 0) for build in builds):
        return False
    if place.build.outcome is Outcome.NOT_BUILT and place.build.external_number is None:
        return False  # no matching files changed, even if the other CI builds it
    # A branch is measured once.
    return place.run.kind is RunKind.CHECK or place.run.state is RunState.RUNNING


def _adopt(tx: Transaction, place: _Place, reported: ExternalBuild) -> int:
    """Link the reported build to a stored build, and return the ID of the latter."""
    build_id = place.build.id
    if not place.awaits_any:
        (build_id,) = run_again(tx, place.run, {reported.job: None})
    tx.name_build(build_id, reported.number, reported.url)
    return build_id
