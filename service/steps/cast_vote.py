"""Ends a round: when all its builds are in, one decision with its vote and message."""

from __future__ import annotations

from typing import TYPE_CHECKING

from service.domain.identity import BuildName, RunKind
from service.domain.message import BuildReport, compose
from service.domain.project_file import OnUndecided
from service.domain.records import BuildRecord, NewDecision, QueuedReview, RunRecord
from service.domain.run import BuildState, RunState
from service.domain.spec import BuildSpec
from service.domain.vote import CONSEQUENCES, Ballot, Outcome, header_of, vote_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from service.ports import Store, Transaction


class Links:
    """Where the pages of runs and builds are, as messages link to them."""

    def __init__(self, base_url: str) -> None:
        self._base = base_url.rstrip("/")

    def run(self, run_id: int) -> str:
        """The page of a run."""
        return f"{self._base}/runs/{run_id}"

    def decision(self, run_id: int, number: int) -> str:
        """A decision on the page of its run: the mark by which a posted message is known as ours."""
        return f"{self.run(run_id)}#v{number}"

    def build(self, name: BuildName) -> str:
        """The page of a build."""
        return f"{self._base}/job/{name}/"


def cast_vote(store: Store, links: Links, run_id: int) -> None:
    """Decide a run whose builds are all finished; any other run is left alone."""
    with store.transaction() as tx:
        run = tx.lock_run(run_id)
        if run.state is not RunState.RUNNING:
            return
        builds = tx.builds_of(run_id)
        if any(build.state is not BuildState.FINISHED for build in builds):
            return
        if run.kind is not RunKind.CALIBRATION:  # there is nothing to decide about a branch and itself
            _decide(tx, run, builds, links)
        tx.end_run(run_id, RunState.FINISHED)


def _decide(tx: Transaction, run: RunRecord, builds: Sequence[BuildRecord], links: Links) -> None:
    outcomes = [_outcome(build) for build in builds]
    ballots = [
        Ballot(outcome, is_voting=build.is_voting) for outcome, build in zip(outcomes, builds, strict=True)
    ]
    vote = vote_of(ballots, _on_nothing_to_build(builds))
    header = header_of(vote, outcomes)
    if run.kind is not RunKind.CHECK:
        vote = None  # it measures the branch; there is nothing left to vote on
    number = tx.next_decision(run)
    marker = links.decision(run.id, number)
    message = compose(header, [_report(build, links.build) for build in builds], marker)
    tx.add_decision(NewDecision(run.id, run.patch_set_id, number, vote, header, message))
    if run.change is not None and run.kind is RunKind.CHECK:
        labels = {} if vote is None else {run.label: vote}
        review = QueuedReview(run.change, run.revision, message, marker, labels)
        tx.queue_review(f"run/{run.id}/decision/{number}", review)


def _on_nothing_to_build(builds: Sequence[BuildRecord]) -> OnUndecided:
    """The jobs' answer; one that wants no vote is enough."""
    policies = [BuildSpec.from_mapping(build.spec).job.policy for build in builds if build.is_voting]
    withheld = any(policy.on_nothing_to_build is OnUndecided.NONE for policy in policies)
    return OnUndecided.NONE if withheld else OnUndecided.PASS


def _outcome(build: BuildRecord) -> Outcome:
    if build.outcome is None:
        raise ValueError(f"build {build.job}/{build.number} is finished without an outcome")
    return build.outcome


def _report(build: BuildRecord, link: Callable[[BuildName], str]) -> BuildReport:
    result = CONSEQUENCES[_outcome(build)].result
    return BuildReport(link(BuildName(build.job, build.number)), result, build.causes)
