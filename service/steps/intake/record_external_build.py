"""Takes in what another CI tells of its builds: begun, ended, or withdrawn before they began."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from service.domain.decision.external import causes_of, outcome_of
from service.domain.decision.judgement import Judgement
from service.domain.decision.states import BuildState, RunState
from service.domain.decision.vote import Outcome
from service.domain.errors import BadInput, NotFound, Transient
from service.domain.identity import RunKind
from service.steps.deciding.analyse import finish
from service.steps.planning.rerun import run_again

if TYPE_CHECKING:
    from collections.abc import Sequence

    from service.domain.decision.external import ExternalBuild, Target
    from service.ports.records import BuildRecord, RunRecord
    from service.ports.store import Store, Transaction
    from service.ports.transaction.runs import RunHistory

WITHDRAWN: Final = "the other CI withdrew it before it began"


def announce_external(store: Store, target: Target, begun: ExternalBuild) -> bool:
    """Another CI runs a job, or runs it again; False where that is no news.

    After a finished round this opens the next one, in which only that job runs again; in a running one it
    takes the place of what stood there. The same or an older build, told again, changes nothing.

    Raises:
        BadInput: the job is not another CI's.
        NotFound: the revision has no such run or job.
        Transient: the run is not planned yet.
    """
    with store.transaction() as tx:
        place = _place_of(tx, target, begun.job)
        if place is None or not _is_news(tx, place, begun):
            return False
        _take_in(tx, place, begun)
        return True


def record_external_build(
    store: Store, target: Target, ended: ExternalBuild, result: str, causes: Sequence[str] = ()
) -> bool:
    """Another CI's build has ended; False where that is no news. One that was not announced is, by this.

    Raises:
        BadInput: the job is not another CI's, or the result is no known word.
        NotFound: the revision has no such run or job.
        Transient: the run is not planned yet.
    """
    judgement = Judgement(outcome_of(result), causes_of(causes))
    with store.transaction() as tx:
        place = _place_of(tx, target, ended.job)
        if place is None or not (place.awaits(ended) or _is_news(tx, place, ended)):
            return False
        finish(tx, place.build.id if place.awaits(ended) else _take_in(tx, place, ended), judgement)
        return True


def withdraw_external(store: Store, target: Target, job: str) -> bool:
    """Another CI dropped a job from its queue before it began; False where it is not waited for.

    Raises:
        BadInput: the job is not another CI's.
        NotFound: the revision has no such run or job.
        Transient: the run is not planned yet.
    """
    with store.transaction() as tx:
        place = _place_of(tx, target, job)
        if place is None or not place.awaits_any:
            return False
        finish(tx, place.build.id, Judgement(Outcome.CANCELLED, (WITHDRAWN,)))
        return True


@dataclass(frozen=True, slots=True)
class _Place:
    """The build of a job in the newest round of a revision."""

    run: RunRecord
    build: BuildRecord

    @property
    def awaits_any(self) -> bool:
        """Whether it waits for a build of the other CI that has not begun."""
        return self.build.state is not BuildState.FINISHED and self.build.external_number is None

    def awaits(self, told: ExternalBuild) -> bool:
        """Whether it waits for the end of exactly that build."""
        return self.build.state is not BuildState.FINISHED and self.build.external_number == told.number


def _place_of(tx: Transaction, target: Target, job: str) -> _Place | None:
    """The place of another CI's job, all of it locked; None where the round has ended without a decision."""
    run = tx.newest_run(target.change, target.kind, target.revision)
    if run is None:
        raise NotFound(f"there is no {target.kind} run of {target.revision} on change {target.change.number}")
    if run.state is RunState.PLANNING:
        raise Transient(f"run {run.id} is not planned yet")
    if run.state not in {RunState.RUNNING, RunState.FINISHED}:
        return None
    build = next((each for each in tx.builds_of(run.id) if each.job == job), None)
    if build is None:
        raise NotFound(f"run {run.id} has no job {job}")
    if not build.is_external:
        raise BadInput(f"{job} is not of kind external", "job")
    return _Place(run, tx.lock_build(build.id))


def _is_news(tx: RunHistory, place: _Place, told: ExternalBuild) -> bool:
    # Numbers grow: what is not newer than all that we know was told before, or was overtaken.
    if any(told.number <= (each.external_number or 0) for each in tx.builds_of_job(place.run, told.job)):
        return False
    if place.build.outcome is Outcome.NOT_BUILT and place.build.external_number is None:
        return False  # none of its paths is touched, whatever the other CI makes of it
    # A branch is measured once.
    return place.run.kind is RunKind.CHECK or place.run.state is RunState.RUNNING


def _take_in(tx: Transaction, place: _Place, told: ExternalBuild) -> int:
    """Our build that is the told one from now on."""
    build_id = place.build.id
    if not place.awaits_any:
        (build_id,) = run_again(tx, place.run, {told.job: None})
    tx.name_build(build_id, told.number, told.url)
    return build_id
