"""Record another CI's reports about its builds: started, finished, or withdrawn before the start."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from service.domain.failures.configured import NO_PATTERNS
from service.domain.failures.failure import distinct
from service.domain.failures.reported import failures_of_causes
from service.domain.failures.signature import signature_of
from service.domain.runs.external import Notice, causes_of, outcome_of
from service.domain.runs.machine_report import BuildEnd, MachineReport
from service.domain.runs.states import BuildState, RunState
from service.domain.runs.vote import CONSEQUENCES, Counts, Outcome
from service.domain.values.errors import BadInput, NotFound, NotSeenYet, Transient
from service.domain.values.identity import RunKind
from service.domain.wording.build_causes import WITHDRAWN
from service.domain.wording.failures import failure_causes
from service.domain.wording.refusals import LATE_RESULT
from service.ports.failures.storing import BuildFailures
from service.steps.runs.analyse import finish
from service.steps.runs.rerun import run_again

if TYPE_CHECKING:
    from collections.abc import Callable

    from service.domain.failures.configured import ConfiguredPatterns
    from service.domain.runs.external import ExternalBuild, Report
    from service.ports.runs.builds import BuildRecord, ExternalBuilds, NewReport
    from service.ports.runs.runs import RunRecord
    from service.ports.store import Store, Transaction

_UNSEEN_SECONDS: Final = 15.0  # five attempts last longer than a poll for changes, which needs no event


def record_external_build(store: Store, report: Report, patterns: ConfiguredPatterns = NO_PATTERNS) -> bool:
    """Record a report; return False if it changes nothing, as a repeated one or one of an older build.

    After a finished run, a build that starts or ends begins the next run, and only that job runs again;
    in a running run, it replaces the job's previous build. A result needs no announcement before it. The
    result of a patch set that is not current, or of a run that was cancelled, is kept and never voted on.

    Args:
        store: of the builds.
        report: about one build.
        patterns: configured ones, for causes that name no failure that Benchgate knows.

    Raises:
        BadInput: the result is unknown, the job is not of kind ``external``, the number is that of a build of
            another revision, or the build already ended with another result.
        NotFound: the run has no such job.
        NotSeenYet: the revision has no run.
        Transient: its run is not planned yet.
    """
    return record_once(store, report, None, patterns)


def record_once(
    store: Store, report: Report, sent: NewReport | None, patterns: ConfiguredPatterns = NO_PATTERNS
) -> bool:
    """Record a report; if its idempotency key was used before, return the first answer.

    Raises:
        BadInput: as in :func:`record_external_build`, or the key was used for another report.
        NotFound, Transient: as in :func:`record_external_build`. The report may be sent again under its key.
    """
    ends: list[Callable[[], object]] = []
    with store.transaction() as tx:
        if sent and (first := tx.external.claim_report(sent)) is not None:
            if first.digest != sent.digest:
                raise BadInput("this key was used for another report; send a new key", "Idempotency-Key")
            return first.is_news
        is_news = _record(tx, report, patterns, ends)
        if sent:
            tx.external.answer_report(sent, is_news=is_news)
    for log_end in ends:
        log_end()
    return is_news


def _record(
    tx: Transaction, report: Report, patterns: ConfiguredPatterns, ends: list[Callable[[], object]]
) -> bool:
    if report.result == Notice.STARTED:
        return (place := _place_of(tx, report)) is not None and _announce(tx, place, report)
    if report.result == Notice.WITHDRAWN:
        return (place := _place_of(tx, report)) is not None and _withdraw(tx, place, ends)
    outcome_of(report.result)  # raises before anything is looked for
    return (place := _place_of(tx, report)) is not None and _finish(tx, place, report, patterns, ends)


def _end_of(report: Report, tested: MachineReport, patterns: ConfiguredPatterns) -> BuildEnd:
    """Make the end of a build from a reported result, and from the tests that were reported before it."""
    outcome, causes = outcome_of(report.result), causes_of(report.causes)
    if CONSEQUENCES[outcome].counts is Counts.PASS:
        return BuildEnd(outcome, causes)
    named, is_cut = failures_of_causes(causes, patterns)
    unnamed = [each for each in tested.failures if not any(each.subject in cause for cause in causes)]
    # The results of a test say why it failed; a cause has only its name.
    reported = {each.subject for each in tested.failures}
    vague = [each for each in named if signature_of(each).covers_any_failure and each.subject in reported]
    failures, has_more = distinct([*(each for each in named if each not in vague), *tested.failures])
    shown = failure_causes(unnamed, is_cut=tested.is_cut and bool(unnamed))
    is_cut = is_cut or tested.is_cut or has_more
    return BuildEnd(outcome, (*causes, *shown), failures=failures, is_cut=is_cut)


def _announce(tx: Transaction, place: _Place, report: Report) -> bool:
    is_wanted = place.awaits_any if place.is_late else place.is_open
    if not (is_wanted and place.is_newest(report.build)):
        return False
    tx.external.record_report(_adopt(tx, place, report), report.build, report.result)
    return True


def _finish(
    tx: Transaction,
    place: _Place,
    report: Report,
    patterns: ConfiguredPatterns,
    ends: list[Callable[[], object]],
) -> bool:
    known = place.known(report.build)
    tested = known.report if known is not None else MachineReport()
    if known is not None and known.has_result:
        if known.reported == report.result:
            return False
        raise BadInput(
            f"build {report.build.number} of {report.build.job} already ended with {known.reported}, and a "
            "result is final; a repeated build has a new number",
            "result",
        )
    if known is None:
        if not place.is_newest(report.build) or not (place.is_open or place.is_late):
            return False
        build_id = _adopt(tx, place, report)
    elif known.state is not BuildState.RUNNING and known.id == place.build.id and place.is_open:
        build_id = _adopt(tx, place, report)  # the deadline passed before its result came
    else:
        build_id = known.id  # it runs, or it was cancelled or replaced before its result came
    tx.external.record_report(build_id, report.build, report.result)
    tx.measurements.store_findings(build_id, report.findings)
    end = _end_of(report, tested, patterns)
    if known is not None and known.id != build_id and known.execution:
        tx.external.store_execution(build_id, known.execution)
    build = tx.builds.lock(build_id)
    if build.state is BuildState.FINISHED:
        tx.external.keep_result(build_id, end.outcome, end.causes)
        tx.failures.store_failures(build_id, BuildFailures(end.failures, end.is_cut))
    else:
        ends.append(finish(tx, build, end))
    return True


def _withdraw(tx: Transaction, place: _Place, ends: list[Callable[[], object]]) -> bool:
    if not place.awaits_any:
        return False
    ends.append(finish(tx, place.build, BuildEnd(Outcome.CANCELLED, (WITHDRAWN,))))
    return True


@dataclass(frozen=True, slots=True)
class _Place:
    """A job's build in the newest run of a revision, and all its builds of that revision."""

    run: RunRecord
    build: BuildRecord
    builds: tuple[BuildRecord, ...]

    @property
    def is_late(self) -> bool:
        """Return whether no vote can come of the run any more."""
        return self.run.is_outdated or self.run.state not in {RunState.RUNNING, RunState.FINISHED}

    @property
    def is_open(self) -> bool:
        """Return whether a new build counts; a branch is measured once."""
        return not self.is_late and (self.run.kind is RunKind.CHECK or self.run.state is RunState.RUNNING)

    @property
    def is_unnamed(self) -> bool:
        """Return whether the other CI reported no build for the place."""
        return self.build.external_number is None

    @property
    def awaits_any(self) -> bool:
        """Return whether this waits for a build that the other CI has not started."""
        return self.build.state is BuildState.RUNNING and self.is_unnamed

    def known(self, reported: ExternalBuild) -> BuildRecord | None:
        """Return the newest build that has the reported number."""
        named = [build for build in self.builds if build.external_number == reported.number]
        return named[-1] if named else None

    def is_newest(self, reported: ExternalBuild) -> bool:
        """Return whether a number is new; numbers grow, so a smaller one is of an older build."""
        if self.build.outcome is Outcome.NOT_BUILT and self.is_unnamed:
            return False  # no matching files changed, even if the other CI builds it
        return all(reported.number > (build.external_number or 0) for build in self.builds)


def _place_of(tx: Transaction, report: Report) -> _Place | None:
    """Find and lock the build of another CI's job; None if the run ended before it was planned."""
    target, job = report.target, report.build.job
    run = tx.history.newest_run(target.change, target.kind, target.revision)
    # The same answer for a change of another project: the sender may not know whether it exists.
    if run is None or target.project not in {None, run.project}:
        # Another CI may learn of a patch set first, or of a merged change.
        raise NotSeenYet(
            f"there is no {target.kind} run of {target.revision} on change {target.change.number}; "
            "if Benchgate has not seen it yet, send the report again",
            _UNSEEN_SECONDS,
        )
    if run.state is RunState.PLANNING:
        raise Transient(f"run {run.id} is not planned yet")
    planned = tx.builds.of_run(run.id)
    build = next((build for build in planned if build.job == job), None)
    if build is None:
        if not planned:
            return None
        raise NotFound(f"run {run.id} has no job {job}")
    if not build.is_external:
        raise BadInput(f"{job} is not of kind external", "job")
    place = _Place(run, tx.builds.lock(build.id), tuple(tx.history.builds_of(run, job)))
    _check_number(tx.external, place, report.build)
    return place


def _check_number(stored: ExternalBuilds, place: _Place, reported: ExternalBuild) -> None:
    """Refuse a number that another revision has."""
    same = {build.id for build in place.builds}
    run, number = place.run, reported.number
    named = stored.builds_numbered(run.instance, run.project, reported.job, number)
    if any(build.id not in same for build in named):
        raise BadInput(
            f"build {number} of {reported.job} was reported for another revision, and a number is of one "
            "revision; report the revision that was built",
            "number",
        )


def _adopt(tx: Transaction, place: _Place, report: Report) -> int:
    """Return the build for a report: the one at the place if none was reported, else a new one."""
    if place.awaits_any or (place.is_late and place.is_unnamed):
        return place.build.id
    target = report.target
    (build_id,) = run_again(tx, place.run, {report.build.job: None})
    if place.is_late and place.run.state is RunState.FINISHED:
        # The new run only shows the result beside the other builds.
        new = tx.history.newest_run(target.change, target.kind, target.revision)
        tx.runs.end((new or place.run).id, RunState.CANCELLED, LATE_RESULT)
    return build_id
