"""Reports of another CI about its builds: started, finished, or withdrawn before the start."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from service.domain.decision.external import Notice, causes_of, outcome_of
from service.domain.decision.machine_report import BuildEnd
from service.domain.decision.states import BuildState, RunState
from service.domain.decision.vote import Outcome
from service.domain.errors import BadInput, NotFound, Transient
from service.domain.failures.reported import failures_of_causes
from service.domain.identity import RunKind
from service.domain.wording.build_causes import WITHDRAWN
from service.steps.deciding.analyse import finish
from service.steps.planning.rerun import run_again

if TYPE_CHECKING:
    from service.domain.decision.external import ExternalBuild, Report
    from service.ports.records import BuildRecord, NewReport, RunRecord
    from service.ports.store import RunHistory, Store, Transaction


def record_external_build(store: Store, report: Report) -> bool:
    """Record a report; return False if it changes nothing, as a repeated one or one of an older build.

    After a finished run, a build that starts or ends begins the next run, in which only that job runs again;
    in a running run, it replaces the job's previous build. A result needs no announcement before it.

    Raises:
        BadInput: the result is unknown, or the job is not of kind ``external``.
        NotFound: the revision has no such run or job.
        Transient: the run is not planned yet.
    """
    with store.transaction() as tx:
        return _record(tx, report)


def record_once(store: Store, report: Report, sent: NewReport) -> bool:
    """Record a report that was sent under a key; return the first answer if it is sent again.

    Raises:
        BadInput: as in :func:`record_external_build`, or the key was used for another report.
        NotFound, Transient: as in :func:`record_external_build`. The report may be sent again under its key.
    """
    with store.transaction() as tx:
        first = tx.claim_report(sent)
        if first is None:
            is_news = _record(tx, report)
            tx.answer_report(sent, is_news=is_news)
            return is_news
        if first.digest != sent.digest:
            raise BadInput("this key was used for another report; send a new key", "Idempotency-Key")
        return first.is_news


def _record(tx: Transaction, report: Report) -> bool:
    if report.result == Notice.STARTED:
        return _announce(tx, report)
    if report.result == Notice.WITHDRAWN:
        return _withdraw(tx, report)
    return _finish(tx, report)


def _announce(tx: Transaction, report: Report) -> bool:
    place = _place_of(tx, report)
    if place is None or not _is_news(tx, place, report.build):
        return False
    _adopt(tx, place, report.build)
    return True


def _finish(tx: Transaction, report: Report) -> bool:
    causes = causes_of(report.causes)
    failures, is_cut = failures_of_causes(causes)
    end = BuildEnd(outcome_of(report.result), causes, failures=failures, is_cut=is_cut)
    place, finished = _place_of(tx, report), report.build
    if place is None or not (place.awaits(finished) or _is_news(tx, place, finished)):
        return False
    finish(tx, place.build.id if place.awaits(finished) else _adopt(tx, place, finished), end)
    return True


def _withdraw(tx: Transaction, report: Report) -> bool:
    place = _place_of(tx, report)
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


def _place_of(tx: Transaction, report: Report) -> _Place | None:
    """Find and lock the build of another CI's job; None if the run ended without a decision."""
    target, job = report.target, report.build.job
    run = tx.newest_run(target.change, target.kind, target.revision)
    # The same answer for a change of another project: the sender may not know whether it exists.
    if run is None or target.project not in {None, run.project}:
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
