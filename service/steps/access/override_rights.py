"""Find the account on the review server that lets a person act for a branch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from service.domain.project.project_file import Permission
from service.domain.values.errors import BenchgateError, NotAllowed, Permanent, Transient
from service.domain.wording import refusals, replies

if TYPE_CHECKING:
    from collections.abc import Sequence

    from service.domain.review.change import Account
    from service.ports.review.server import AccountRights


class OverrideRights:
    """Rights to override: those of the members of the groups that the branches name.

    Args:
        answers: of the review servers; their groups decide.
    """

    def __init__(self, answers: AccountRights) -> None:
        self._answers = answers

    def account_for(self, email: str, instance: str, groups: Sequence[str]) -> Account:
        """Return the account that lets a person act for branches.

        Args:
            email: of the person.
            instance: the review server.
            groups: may override on the branches; the person must be in each.

        Raises:
            NotAllowed: the person has no account on the review server, or is not in a group, or a branch
                names none.
            Transient: the review server cannot be asked.
        """
        if not email:
            raise NotAllowed(refusals.NO_EMAIL)
        if not groups or not all(groups):
            raise NotAllowed(replies.not_enabled(Permission.OVERRIDE))
        try:
            account = self._answers.account_of(instance, email)
            if account is None:
                raise NotAllowed(refusals.no_account(email))
            for group in groups:
                if not self._answers.is_member(instance, account.id, group):
                    raise NotAllowed(refusals.not_in_group(Permission.OVERRIDE, account.name, group))
        except Transient as error:
            raise Transient(refusals.not_asked(error), error.retry_after) from error
        except Permanent as error:
            raise NotAllowed(replies.refused(error)) from error
        return account

    def refusal(self, email: str, instance: str, groups: Sequence[str]) -> BenchgateError | None:
        """Return why a person may not act, or None if they may."""
        try:
            self.account_for(email, instance, groups)
        except (NotAllowed, Transient) as error:
            return error
        return None
