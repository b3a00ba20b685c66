"""Makes the decision of a round whose builds are all in: the vote, and the message that says why."""

from __future__ import annotations

from typing import TYPE_CHECKING

from service.domain.building.spec import BuildSpec
from service.domain.decision.message import BuildReport, compose
from service.domain.decision.overrides import JudgedBuild, Override, sentence, waived_by
from service.domain.decision.vote import CONSEQUENCES, Ballot, Counts, Outcome, header_of, vote_of
from service.domain.gerrit.inline_comments import remarks
from service.domain.identity import BuildName, RunKind
from service.domain.inference.policy import VoteWhen
from service.ports.records import BuildRecord, NewDecision, QueuedReview, RunRecord, review_key

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from service.domain.gerrit.change import InlineComment
    from service.domain.identity import ChangeKey
    from service.domain.links import Links
    from service.ports.store import Transaction
    from service.ports.transaction.decisions import Outbox, Overrides

    _Ruled = tuple[BuildRecord, Override | None]


def decide(tx: Transaction, run: RunRecord, builds: Sequence[BuildRecord], links: Links) -> None:
    """Store the decision of a run and queue its review; called anew when people decided otherwise."""
    outcomes = [outcome_of(build) for build in builds]
    overrides = overrides_on(tx, run, builds)
    ballots = [
        Ballot(outcome, is_voting=build.is_voting, is_waived=override is not None)
        for outcome, build, override in zip(outcomes, builds, overrides, strict=True)
    ]
    vote = vote_of(ballots, _on_nothing_to_build(builds))
    ruled = list(zip(builds, overrides, strict=True))
    told = _told(ruled)
    header = header_of(vote, [outcome_of(build) for build, _ in told])
    if run.kind is not RunKind.CHECK:
        vote = None  # it measures the branch; there is nothing left to vote on
    number = tx.next_decision(run)
    marker = links.decision(run.id, number)
    reports = [_report(build, override, links.build) for build, override in told]
    message = compose(header, reports, marker)
    tx.add_decision(NewDecision(run.id, run.patch_set_id, number, vote, header, message))
    if run.change is not None and run.kind is not RunKind.CALIBRATION:
        labels = {} if vote is None else {run.label: vote}
        comments = _remarks(tx, run.change, run.revision, ruled)
        review = QueuedReview(run.change, run.revision, message, marker, labels, comments)
        tx.queue_review(review_key(run.id, number), review)


def overrides_on(tx: Overrides, run: RunRecord, builds: Sequence[BuildRecord]) -> tuple[Override | None, ...]:
    """For each finished build the ruling that excuses its failure."""
    made = tx.overrides(run.patch_set_id) if run.patch_set_id is not None else ()
    judged = [JudgedBuild(build.id, outcome_of(build), build.blamed) for build in builds]
    return waived_by(judged, made, run.revision)


def outcome_of(build: BuildRecord) -> Outcome:
    """The outcome of a finished build."""
    if build.outcome is None:
        raise ValueError(f"build {build.job}/{build.number} is finished without an outcome")
    return build.outcome


def has_failed(build: BuildRecord) -> bool:
    """Whether a finished build votes −1 unless an override waives it."""
    return build.is_voting and CONSEQUENCES[outcome_of(build)].counts is Counts.FAIL


def _told(ruled: Sequence[_Ruled]) -> Sequence[_Ruled]:
    """The builds that the message names: where nothing was executed, none of those that were withdrawn.

    Beside others a withdrawn one is named: it keeps the round from a +1, and people shall see why.
    """
    begun = [(build, override) for build, override in ruled if not _is_withdrawn(build)]
    is_nothing_executed = all(build.outcome is Outcome.NOT_BUILT for build, _ in begun)
    return begun if is_nothing_executed else ruled


def _remarks(
    tx: Outbox, change: ChangeKey, revision: str, ruled: Sequence[_Ruled]
) -> tuple[InlineComment, ...]:
    """What failed builds found on lines, each thing once on a change, and nothing that people excused.

    Nothing of builds that do not vote: a comment that waits for an answer may keep a change from submit.
    """
    failed = (build for build, override in ruled if override is None and has_failed(build))
    named = [(build.job, finding) for build in failed for finding in build.findings]
    return remarks(named, tx.remarks_on(change, revision)) if named else ()


def _is_withdrawn(build: BuildRecord) -> bool:
    # Of a round that is decided nothing else cancels another CI's build.
    return build.is_external and build.outcome is Outcome.CANCELLED


def _on_nothing_to_build(builds: Sequence[BuildRecord]) -> VoteWhen:
    """The jobs' answer; one that wants no vote is enough."""
    policies = [BuildSpec.from_mapping(build.spec).job.policy for build in builds if build.is_voting]
    withheld = any(policy.on_nothing_to_build is VoteWhen.NONE for policy in policies)
    return VoteWhen.NONE if withheld else VoteWhen.PASS


def _report(build: BuildRecord, override: Override | None, link: Callable[[BuildName], str]) -> BuildReport:
    result = CONSEQUENCES[outcome_of(build)].result
    remark = "" if override is None else sentence(override)
    page = build.url or link(BuildName(build.job, build.number))
    return BuildReport(page, result, build.causes, is_external=bool(build.url), remark=remark)
