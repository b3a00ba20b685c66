"""Decide a finished run: its vote, and the message with the reasons."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Final, NamedTuple

import structlog

from service.domain.building.spec import BuildSpec
from service.domain.failures.known import KnownMatches
from service.domain.project.policy import VoteWhen
from service.domain.review.change import Review
from service.domain.review.inline_comments import comments_to_post
from service.domain.runs.machine_report import CHECKED, PATCH_BUILT
from service.domain.runs.overrides import OverrideKind
from service.domain.runs.vote import CONSEQUENCES, Ballot, Outcome, vote_of
from service.domain.runs.waivers import JudgedBuild, beyond_acceptance, waived_by
from service.domain.values.identity import BuildName, RunKind
from service.domain.verdict.explanation.explanation import unpack
from service.domain.wording.explanations import benchmarks_told, causes_on_lines, causes_told
from service.domain.wording.failures import also_on_parent, partly_known
from service.domain.wording.known_failures import closed_bugs, may_be_known
from service.domain.wording.measured_causes import about_instructions
from service.domain.wording.message import (
    BuildReport,
    Header,
    compose,
    header_of,
    header_of_failed,
    result_kept,
)
from service.domain.wording.next_steps import EndedBuild, NextStepKind, last_lines, next_steps
from service.domain.wording.overrides import beyond_sentences, waiver_sentence
from service.ports.failures.storing import known_by_build, matched_by_build
from service.ports.runs.decisions import NewDecision, review_key, why_key
from service.steps.failures.match_known import keep_matches
from service.steps.runs.claims import answered_claims
from service.steps.runs.log_context import bind_run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from service.domain.building.findings import Finding
    from service.domain.failures.evidence import ParentBuild, Rate
    from service.domain.review.change import InlineComment
    from service.domain.review.links import Links
    from service.domain.runs.overrides import Override
    from service.domain.runs.waivers import Waiver
    from service.domain.values.identity import ChangeKey
    from service.domain.verdict.explanation.explanation import Explanation
    from service.domain.wording.next_steps import NextStep
    from service.ports.failures.storing import Failures
    from service.ports.review.changes import Changes
    from service.ports.runs.builds import BuildRecord
    from service.ports.runs.decisions import Outbox, Overrides
    from service.ports.runs.runs import RunRecord
    from service.ports.store import Transaction
    from service.ports.verdict import Explanations, Measurements

    _BuildAndWaiver = tuple[BuildRecord, Waiver | None]


_LOG: Final = structlog.get_logger(__name__)


def decide_run(tx: Transaction, run: RunRecord, builds: Sequence[BuildRecord], links: Links) -> None:
    """Store the decision of a run and queue its review; called again after each override."""
    bind_run(run)
    alike, expired = keep_matches(tx.failures, run, builds)
    judged = list(zip(builds, waivers_on(tx.failures, tx.overrides, run, builds), strict=True))
    specs = {build.id: BuildSpec.from_mapping(build.spec) for build in builds}
    # One voting job with ``none`` is enough to withhold the vote.
    policies = [specs[build.id].job.policy for build in builds if build.is_voting]
    is_withheld = any(policy.on_nothing_to_build is VoteWhen.NONE for policy in policies)
    vote = vote_of([_ballot(each) for each in judged], VoteWhen.NONE if is_withheld else VoteWhen.PASS)
    reported = _reported(judged)
    header = header_of(vote, [_ballot(each) for each in reported], _failed_headers(judged, specs))
    if run.kind is not RunKind.CHECK:
        vote = None  # the run measures a branch; a merged commit needs no vote
    number = tx.decisions.next_number(run)
    rates = _rates(tx.failures, judged)
    again, parents = _lines_beyond(tx.failures, tx.overrides, run, builds), _parents(tx.failures, run, judged)
    partly = {
        id_: (
            partly_known(
                each.failures,
                each.expired,
                [like.failure for like in alike.get(id_, ())],
                is_cut=each.is_cut,
            ),
            *closed_bugs(known for _, known in each.failures),
        )
        for id_, each in matched_by_build(tx.failures, run.id, expired).items()
    }
    asked = {id_: may_be_known(each) for id_, each in alike.items()}
    why = explained(tx.explanations, builds)
    for build in builds:  # this message says it, or the build is waived now
        tx.outbox.drop_review(why_key(run.id, build.id))
    reports = [
        _report(each, rates, links.build, _causes(each, [asked, partly, again], why, parents))
        for each in reported
    ]
    steps = _next_steps(tx.measurements, judged, specs) if run.kind is RunKind.CHECK else ()
    kept = _kept(tx.changes, run, builds, specs)
    page = links.decision(run.id, number)
    claims = answered_claims(tx.claims, run, _may_follow(tx.explanations, run, builds, specs))
    message = compose(header, reports, page, kept, claims, last_lines(steps))
    tx.decisions.add(NewDecision(run.id, run.patch_set_id, number, vote, header, message))
    _LOG.info("run.decided", decision=number, vote=vote, header=str(header))
    # A merged change without a build has no trend, and its message would say nothing.
    is_silent = run.kind is RunKind.POST_SUBMIT and header is Header.NOT_EXECUTED
    if run.change is not None and run.kind is not RunKind.CALIBRATION and not is_silent:
        labels = {} if vote is None else {run.label: vote}
        # A merge commit has other lines than the patch set that they are posted on.
        is_merge = run.kind is RunKind.POST_SUBMIT and any(
            spec.patch.commit != run.revision for spec in specs.values()
        )
        comments = () if is_merge else _remarks(tx.outbox, run.change, run.revision, judged, why)
        review = Review(run.change, run.revision, message, labels, comments)
        tx.outbox.queue_review(review_key(run.id, number), review)


def _may_follow(
    stored: Explanations, run: RunRecord, builds: Sequence[BuildRecord], specs: Mapping[int, BuildSpec]
) -> frozenset[str]:
    """Return the claimed benchmarks that machines may yet measure after a check's own builds with pairs."""
    if run.kind is not RunKind.CHECK:
        return frozenset()
    measured = [each.id for each in builds if each.execution and each.report.outcome is None]
    own = [id_ for id_ in measured if specs[id_].patch.pushed == run.revision]
    asked = [id_ for id_ in own if specs[id_].claimed_names]
    ended = stored.packed_of(asked) if asked else {}
    return frozenset(name for id_ in asked if id_ not in ended for name in specs[id_].claimed_names)


class Explained(NamedTuple):
    """The lines of a message about the blamed benchmarks of a build, and the comments on lines of code."""

    lines: tuple[str, ...]
    findings: tuple[Finding, ...]
    benchmarks: tuple[str, ...] = ()


def explained(stored: Explanations, builds: Sequence[BuildRecord]) -> Mapping[int, Explained]:
    """Explain the blamed benchmarks of builds; a build without an explained one is left out.

    Machines write explanations; one that cannot be read is left out, too.
    """
    blamed = {build.id: build for build in builds if build.blamed}
    found = {}
    for build, packed in stored.packed_of(list(blamed)).items() if blamed else ():
        try:
            counting = _blamed(unpack(packed, 0), blamed[build])
            lines, comments = causes_told(counting), causes_on_lines(counting)
        except Exception as error:  # noqa: BLE001 - a machine wrote it: optional text never ends a vote
            _LOG.warning("explanation.unreadable", id=build, error=repr(error))
            continue
        if lines:
            found[build] = Explained(lines, comments, benchmarks_told(counting))
    return found


def _blamed(found: Iterable[Explanation], build: BuildRecord) -> list[Explanation]:
    """Keep the benchmarks that count against a build; suites may share their names."""
    suites = defaultdict[str, set[str]](set)  # one without a suite is of an earlier version
    for row in build.slowdowns or ():
        suites[row.benchmark].add(row.suite)
    return [
        each
        for each in found
        if each.benchmark in build.blamed and {each.suite, ""} & suites.get(each.benchmark, {""})
    ]


def _kept(
    stored: Changes, run: RunRecord, builds: Sequence[BuildRecord], specs: Mapping[int, BuildSpec]
) -> str:
    """Return the note that all results are those of an earlier patch set with the same code; may be empty."""
    measured = [specs[build.id] for build in builds if build.outcome is not Outcome.NOT_BUILT]
    if run.kind is not RunKind.CHECK or run.change is None or not measured:
        return ""
    if any(spec.patch.pushed == run.revision for spec in measured):
        return ""
    same_code = stored.same_code(run.change, run.revision)
    return result_kept(min(same_code)) if len(same_code) > 1 else ""


def waivers_on(
    failures: Failures, overrides: Overrides, run: RunRecord, builds: Sequence[BuildRecord]
) -> tuple[Waiver | None, ...]:
    """Find the waiver of each finished build's failure; None for a build without one."""
    return waived_by(judged_of(failures, run, builds), _overrides_of(overrides, run), run.revision)


def judged_of(stored: Failures, run: RunRecord, builds: Sequence[BuildRecord]) -> Sequence[JudgedBuild]:
    """Return the finished builds of a run as waivers need them."""
    known = known_by_build(stored, run.id)
    return [
        JudgedBuild(build.id, outcome_of(build), build.blamed, known.get(build.id), build.slowdowns)
        for build in builds
    ]


def _lines_beyond(
    failures: Failures, overrides: Overrides, run: RunRecord, builds: Sequence[BuildRecord]
) -> Mapping[int, tuple[str, ...]]:
    """Return the lines about accepted benchmarks that count again, by build."""
    made = _overrides_of(overrides, run)
    if not any(each.kind is OverrideKind.ACCEPT for each in made):
        return {}
    judged = judged_of(failures, run, builds)
    return {e.id: beyond_sentences(beyond_acceptance(e, made, run.revision)) for e in judged}


def _overrides_of(stored: Overrides, run: RunRecord) -> Sequence[Override]:
    return stored.of(run.patch_set_id) if run.patch_set_id is not None else ()


def outcome_of(build: BuildRecord) -> Outcome:
    """Return the outcome of a finished build."""
    if build.outcome is None:
        raise ValueError(f"build {build.job}/{build.number} is finished without an outcome")
    return build.outcome


def has_failed(build: BuildRecord) -> bool:
    """Return whether a finished build votes −1 unless it is waived."""
    return _ballot((build, None)).fails


def _reported(judged: Sequence[_BuildAndWaiver]) -> Sequence[_BuildAndWaiver]:
    """Select the builds for the message: withdrawn builds only if another build was executed.

    Such a withdrawn build prevents a +1, and the message must show why.
    """
    # In a decided run, only a withdrawal cancels the build of another CI.
    begun = [each for each in judged if not (each[0].is_external and each[0].outcome is Outcome.CANCELLED)]
    is_nothing_executed = all(build.outcome is Outcome.NOT_BUILT for build, _ in begun)
    return begun if is_nothing_executed else judged


def _next_steps(
    stored: Measurements, judged: Sequence[_BuildAndWaiver], specs: Mapping[int, BuildSpec]
) -> tuple[NextStep, ...]:
    """List what a reader of the message can do about the builds of a check."""
    ended = [
        EndedBuild(
            job=build.job,
            kind=build.kind,
            outcome=outcome_of(build),
            slower=build.blamed,
            undecided=tuple(stored.unresolved_benchmarks(build.id)),
            is_voting=build.is_voting,
            is_waived=waiver is not None,
        )
        for build, waiver in judged
    ]
    found = next_steps(ended, {granted for spec in specs.values() for granted in spec.commands.granted})
    return tuple(
        each for each in found if each.step is not NextStepKind.ENABLE
    )  # reviewers cannot enable commands


def _ballot(judged: _BuildAndWaiver) -> Ballot:
    build, waiver = judged
    return Ballot(outcome_of(build), is_voting=build.is_voting, is_waived=waiver is not None)


def _failed_headers(judged: Sequence[_BuildAndWaiver], specs: Mapping[int, BuildSpec]) -> tuple[Header, ...]:
    """Return the header of each build that fails and counts."""
    failed = (each[0] for each in judged if _ballot(each).fails)
    return tuple(header_of_failed(each.kind, is_built=_is_built(each, specs[each.id])) for each in failed)


def _is_built(build: BuildRecord, spec: BuildSpec) -> bool:
    """Return whether the sources of a failed build were built, or it ended without need of them."""
    if build.outcome is not Outcome.FAILED or spec.job.configuration.build is None:
        return True
    return not build.report.seconds.keys().isdisjoint((PATCH_BUILT, CHECKED))


def _remarks(
    stored: Outbox,
    change: ChangeKey,
    revision: str,
    judged: Sequence[_BuildAndWaiver],
    why: Mapping[int, Explained],
) -> tuple[InlineComment, ...]:
    """Compose inline comments from the findings and explanations of failed builds, each once per change.

    Waived builds and builds that do not vote get none: an unresolved comment may block the submit.
    """
    failed = [each[0] for each in judged if _ballot(each).fails]
    named = [(build.job, finding) for build in failed for finding in build.findings]
    named += [(each.job, finding) for each in failed if each.id in why for finding in why[each.id].findings]
    jobs = [build.job for build, _ in judged]
    return comments_to_post(named, jobs, stored.remarks_on(change, revision)) if named else ()


def _rates(stored: Failures, judged: Sequence[_BuildAndWaiver]) -> Mapping[int, Rate]:
    """Return the rate of each known failure that waives a build."""
    matches = (waiver.known for _, waiver in judged if isinstance(waiver, KnownMatches))
    known = sorted({each.id for found in matches for each in found})
    return stored.rates_of(known) if known else {}


def _parents(
    stored: Failures, run: RunRecord, judged: Sequence[_BuildAndWaiver]
) -> Mapping[int, Sequence[ParentBuild]]:
    """Return for each failed build that counts the builds of the parent that have some of its failures.

    The causes of another CI stay as it wrote them.
    """
    failed = [
        build.id
        for build, waiver in judged
        if build.outcome is Outcome.FAILED and waiver is None and not build.url
    ]
    return stored.on_parent(run.id, failed) if failed and run.parent is not None else {}


def _causes(
    judged: _BuildAndWaiver,
    first: Sequence[Mapping[int, Sequence[str]]],
    why: Mapping[int, Explained],
    parents: Mapping[int, Sequence[ParentBuild]],
) -> tuple[str, ...]:
    """Return the lines about a build; the ``first`` ones say why a part of it still counts.

    ``why`` has those of its slower benchmarks, which replace those that only count instructions.
    """
    build, waiver = judged
    if waiver is not None:
        return build.causes
    counts = (line for lines in first for line in lines.get(build.id, ()))
    told = why.get(build.id, Explained((), ()))
    old = tuple(map(about_instructions, told.benchmarks))
    causes = [line for line in build.causes if not line.startswith(old)]
    new = (line for line in told.lines if line not in causes)
    return (*counts, *causes, *new, *also_on_parent(parents.get(build.id, ())))


def _report(
    judged: _BuildAndWaiver,
    rates: Mapping[int, Rate],
    link: Callable[[BuildName], str],
    causes: tuple[str, ...],
) -> BuildReport:
    build, waiver = judged
    result = CONSEQUENCES[outcome_of(build)].result
    line = "" if waiver is None else waiver_sentence(waiver, rates)
    page = build.url or link(BuildName(build.job, build.number))
    return BuildReport(
        page,
        result,
        causes,
        is_external=bool(build.url),
        override=line,
        job="" if build.url else build.job,
    )
