"""Offer a person the actions on a change's page that their groups permit."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from service.domain.project.job_kinds import JobKind
from service.domain.project.project_file import Permission
from service.domain.review.change import ChangeStatus
from service.domain.runs.overrides import OverrideKind
from service.domain.runs.states import UNFINISHED
from service.domain.values.errors import BadInput, BenchgateError, NotAllowed, Permanent, Transient
from service.domain.values.identity import RunKind
from service.domain.wording import refusals, replies
from service.domain.wording.next_steps import EndedBuild
from service.domain.wording.offers import Offers, RunCondition, offers_for

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from service.domain.review.change import Account
    from service.domain.review.form_commands import FormCommand
    from service.ports.review.server import AccountRights
    from service.ports.review.shown import PatchSetDetail
    from service.ports.runs.shown import Build
    from service.ports.verdict import Comparison

    Compared = Sequence[tuple[Build, str, Sequence[Comparison]]]

_REVOCABLE: Final = frozenset({OverrideKind.OVERRIDE, OverrideKind.ACCEPT})


@dataclass(frozen=True, slots=True)
class OfferedActions:
    """The actions that a page offers to a person.

    Args:
        offers: the actions; empty if there is nothing to do or the person may do nothing.
        account: the person's account on the review server; None if it is not known.
        missing: the reason why the person lacks a permission, by permission.
    """

    offers: Offers = field(default_factory=Offers)
    account: Account | None = None
    missing: Mapping[Permission, BenchgateError] = field(default_factory=dict)

    @property
    def reasons(self) -> tuple[str, ...]:
        """The reasons why actions that make sense are not offered, each once."""
        return tuple(dict.fromkeys(map(str, self.missing.values())))


class ActionOffers:
    """The commands that people may request on pages.

    Args:
        answers: of the review servers; an account's number means another person on each.
    """

    def __init__(self, answers: AccountRights) -> None:
        self._answers = answers

    def offered(self, email: str, page: PatchSetDetail, compared: Compared) -> OfferedActions:
        """List what a page offers to the person with a verified e-mail address (may be empty).

        Args:
            email: of the person.
            page: the patch set.
            compared: the builds of its newest check, as :func:`ended_builds` gets them.
        """
        condition = _condition(page, compared)
        useful = {permission for permission in Permission if offers_for(condition, {permission}) != Offers()}
        if not useful:
            return OfferedActions()
        groups = {Permission(key): group for build in page.builds for key, group in build.groups.items()}
        account: Account | None = None
        missing: dict[Permission, BenchgateError] = {}
        for permission in sorted(useful):
            try:
                account = self._account(page.change.instance, email)
                self._require_member(account, permission, groups, page)
            except (NotAllowed, Transient) as error:
                missing[permission] = error
        return OfferedActions(offers_for(condition, useful - missing.keys()), account, missing)

    def account_for(
        self, email: str, page: PatchSetDetail, compared: Compared, command: FormCommand
    ) -> Account:
        """Return the account for a person's request of a command that makes sense for a page.

        Groups are not checked here: as for comments, the step that runs the command checks those that the
        branch names by then.

        Raises:
            NotAllowed: the person has no account on the review server.
            BadInput: the command makes no sense for the patch set now.
            Transient: the review server cannot be asked.
        """
        if not _is_open(page):
            raise BadInput(replies.outdated(page.patch_set.number))
        if not offers_for(_condition(page, compared), frozenset(Permission)).includes(command):
            raise BadInput(refusals.not_offered(command.word))
        return self._account(page.change.instance, email)

    def _account(self, instance: str, email: str) -> Account:
        if not email:
            raise NotAllowed(refusals.NO_EMAIL)
        try:
            account = self._answers.account_of(instance, email)
        except Transient as error:
            raise Transient(refusals.not_asked(error), error.retry_after) from error
        except Permanent as error:
            raise NotAllowed(replies.refused(error)) from error
        if account is None:
            raise NotAllowed(refusals.no_account(email))
        return account

    def _require_member(
        self, account: Account, permission: Permission, groups: Mapping[Permission, str], page: PatchSetDetail
    ) -> None:
        group = groups.get(permission, "")
        if not group:
            is_enabled = any(permission in build.permissions for build in page.builds)
            raise NotAllowed(refusals.GROUPS_UNKNOWN if is_enabled else replies.not_enabled(permission))
        try:
            is_member = self._answers.is_member(page.change.instance, account.id, group)
        except Transient as error:
            raise Transient(refusals.not_asked(error), error.retry_after) from error
        except Permanent as error:  # also a group that Benchgate's account cannot see
            raise NotAllowed(replies.refused(error)) from error
        if not is_member:
            raise NotAllowed(refusals.not_in_group(permission, account.name, group))


def ended_builds(compared: Compared) -> Sequence[EndedBuild]:
    """Return the part of finished builds that next steps and offers depend on.

    Args:
        compared: each build with the override that waives it (empty if none does) and its comparisons.
    """
    return [
        EndedBuild(
            job=build.job,
            kind=JobKind(build.kind),
            outcome=build.outcome,
            seed=build.seed,
            slower=build.blamed,
            undecided=tuple(dict.fromkeys(row.benchmark for row in rows if row.needs_pairs)),
            is_voting=build.is_voting,
            is_waived=bool(waived_by),
        )
        for build, waived_by, rows in compared
        if build.outcome is not None
    ]


def _condition(page: PatchSetDetail, compared: Compared) -> RunCondition:
    check = next((run for run in page.runs if run.kind is RunKind.CHECK), None)
    return RunCondition(
        builds=ended_builds(compared),
        is_open=_is_open(page),
        is_running=check is not None and check.state in UNFINISHED,
        has_overrides=any(each.is_active and each.kind in _REVOCABLE for each in page.overrides),
    )


def _is_open(page: PatchSetDetail) -> bool:
    return page.change.status is ChangeStatus.NEW and page.patch_set.number == page.change.patch_set
