"""Tell what made a build slower if its run was decided before its machine had found that out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from service.domain.review.change import Review
from service.domain.review.inline_comments import comments_to_post
from service.domain.runs.states import BuildState, RunState
from service.domain.values.identity import BuildName, RunKind
from service.domain.wording.explanations import are_told, why_slower
from service.ports.runs.decisions import why_key
from service.steps.runs.decide_run import explained, has_failed, waivers_on

if TYPE_CHECKING:
    from service.domain.review.links import Links
    from service.ports.runs.builds import BuildRecord
    from service.ports.runs.runs import RunRecord
    from service.ports.store import Store, Transaction


def tell_why(store: Store, links: Links, build_id: int) -> None:
    """Queue a message without a vote for each decided check that counts a build, once.

    A run that is decided later has the same lines in its own message. Delivery drops the message if the patch
    set is outdated by then.
    """
    with store.transaction() as tx:
        build = tx.builds.lock(build_id)
        why = explained(tx.explanations, [build]).get(build_id)
        if build.state is not BuildState.FINISHED or why is None:
            return
        runs = tx.external.runs_with(build_id)
    # Not the name alone: a build has one page, and messages are recognised by their last line.
    message = why_slower(why.lines, f"{links.build(BuildName(build.job, build.number))}#why")
    for run_id in runs:
        with store.transaction() as tx:
            run = tx.runs.lock(run_id)  # it may be decided just now
            is_told = are_told(why.lines, tx.decisions.last_message(run_id))
            if run.change is not None and not is_told and _counts(tx, run, build):
                named = [(build.job, each) for each in why.findings]
                posted = tx.outbox.remarks_on(run.change, run.revision) if named else ()
                jobs = [each.job for each in tx.builds.of_run(run_id)]
                comments = comments_to_post(named, jobs, posted)
                review = Review(run.change, run.revision, message, comments=comments, is_silent=True)
                tx.outbox.queue_review(why_key(run_id, build_id), review)


def _counts(tx: Transaction, run: RunRecord, build: BuildRecord) -> bool:
    """Return whether a decided check counts a build as failed."""
    if run.kind is not RunKind.CHECK or run.state is not RunState.FINISHED:
        return False
    builds = tx.builds.of_run(run.id)
    waivers = waivers_on(tx.failures, tx.overrides, run, builds)
    judged = zip(builds, waivers, strict=True)
    return any(each.id == build.id and waiver is None and has_failed(each) for each, waiver in judged)
