"""Choose the commands that a change's page offers to a person as forms."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from service.domain.review.comment_commands import OverrideCommand, RecheckCommand, filter_text
from service.domain.review.form_commands import Action
from service.domain.wording.next_steps import (
    ANY,
    NextStepKind,
    builds_by_step,
    common_filter,
    job_to_override,
    jobs_to_recheck,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from service.domain.project.project_file import Permission
    from service.domain.review.form_commands import FormCommand
    from service.domain.wording.next_steps import EndedBuild

    Useful = Mapping[NextStepKind, Sequence[EndedBuild]]


@dataclass(frozen=True, slots=True)
class Offer:
    """A command that a page has a form for.

    Args:
        action: the command.
        jobs: those that it names; empty for all that failed.
        filter: the suggested filter of benchmarks; empty if the person must write one.
    """

    action: Action
    jobs: tuple[str, ...] = ()
    filter: str = ""


@dataclass(frozen=True, slots=True)
class Offers:
    """Offers of a page: for the whole run, for builds by job, and for rows by job and benchmark."""

    run: tuple[Offer, ...] = ()
    builds: Mapping[str, tuple[Offer, ...]] = field(default_factory=dict)
    rows: Mapping[tuple[str, str], tuple[Offer, ...]] = field(default_factory=dict)

    def includes(self, command: FormCommand) -> bool:
        """Return whether a form can make this command, with any filter, bug and reason."""
        word = Action(command.word)
        each = [offer for group in (self.run, *self.builds.values(), *self.rows.values()) for offer in group]
        same = [offer for offer in each if offer.action is word]
        match command:
            case RecheckCommand():
                return not command.is_all and any(set(command.jobs) <= set(offer.jobs) for offer in same)
            case OverrideCommand():
                return any(offer.jobs == tuple(filter(None, (command.job,))) for offer in same)
            case _:
                return bool(same)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunCondition:
    """State of a patch set's newest check that offers depend on.

    Args:
        builds: those that ended.
        is_open: the patch set is the newest of an open change, so commands work.
        is_running: the check has not ended.
        has_overrides: an override or acceptance is in force.
    """

    builds: Sequence[EndedBuild]
    is_open: bool
    is_running: bool
    has_overrides: bool


def offers_for(run: RunCondition, permissions: Collection[Permission]) -> Offers:
    """Choose the commands that are useful for a run and that a person may use."""
    if not run.is_open:
        return Offers()
    useful = builds_by_step(run.builds)
    may = {action for action in Action if action.permission in permissions}
    concerned = {
        build.job: build for build in (*useful[NextStepKind.RECHECK], *useful[NextStepKind.OVERRIDE])
    }
    several = concerned if len(concerned) > 1 else {}  # for one build, the offers for the run suffice
    return Offers(
        run=tuple(offer for offer in _for_run(run, useful) if offer.action in may),
        builds={
            job: offers
            for job, build in several.items()
            if (offers := tuple(offer for offer in _for_build(build, useful) if offer.action in may))
        },
        rows={
            place: offers
            for place, actions in _for_rows(useful).items()
            if (offers := tuple(Offer(action, filter=place[1]) for action in actions if action in may))
        },
    )


def _for_run(run: RunCondition, useful: Useful) -> Iterator[Offer]:
    if run.is_running:
        yield Offer(Action.CANCEL)
    if again := useful[NextStepKind.RECHECK]:
        yield Offer(Action.RECHECK, jobs_to_recheck(again))
    if undecided := [name for build in useful[NextStepKind.MORE_PAIRS] for name in build.undecided]:
        yield Offer(Action.MORE_PAIRS, filter=common_filter(undecided))
    if slower := [name for build in useful[NextStepKind.ACCEPT] for name in build.slower]:
        # A form that accepts everything would accept benchmarks that nobody looked at.
        chosen = common_filter(slower)
        yield Offer(Action.ACCEPT, filter="" if chosen == ANY else chosen)
    if failed := useful[NextStepKind.OVERRIDE]:
        yield Offer(Action.OVERRIDE, tuple(filter(None, (job_to_override(failed),))))
    if run.has_overrides:
        yield Offer(Action.UNDO)


def _for_build(build: EndedBuild, useful: Useful) -> Iterator[Offer]:
    for step, action in ((NextStepKind.RECHECK, Action.RECHECK), (NextStepKind.OVERRIDE, Action.OVERRIDE)):
        # No command can name the check of the project file.
        if build in useful[step] and job_to_override([build]):
            yield Offer(action, (build.job,))


def _for_rows(useful: Useful) -> Mapping[tuple[str, str], Sequence[Action]]:
    rows: dict[tuple[str, str], list[Action]] = {}
    for build in useful[NextStepKind.ACCEPT]:
        for name in filter(filter_text, build.slower):
            rows.setdefault((build.job, name), []).append(Action.ACCEPT)
    for build in useful[NextStepKind.MORE_PAIRS]:
        for name in filter(filter_text, build.undecided):
            rows.setdefault((build.job, name), []).append(Action.MORE_PAIRS)
    return rows
