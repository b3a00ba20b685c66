"""Change known failures from a page, or add one by a pattern."""

from __future__ import annotations

from typing import TYPE_CHECKING

from service.domain.failures.known import ACTIVE, require_transition
from service.domain.project.project_file import Permission
from service.domain.values.errors import BadInput, BenchgateError, NotAllowed, Permanent, Transient
from service.domain.wording import refusals, replies
from service.ports.failures.storing import Author

if TYPE_CHECKING:
    from collections.abc import Sequence

    from service.domain.review.change import Account
    from service.ports.failures.storing import KnownChange, NewKnown
    from service.ports.review.server import AccountRights
    from service.ports.store import Store


class KnownChanges:
    """Apply the changes that people make on the pages of known failures.

    Args:
        store: keeps the known failures.
        answers: of the review servers; their groups decide.
    """

    def __init__(self, store: Store, answers: AccountRights) -> None:
        self._store = store
        self._answers = answers

    def account_for(self, email: str, instance: str, groups: Sequence[str]) -> Account:
        """Return the account that lets a person change or make a known failure.

        Args:
            email: of the person.
            instance: the review server.
            groups: may override on the branches of its scope; the person must be in each.

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
        """Return why a person may not change or make a known failure, or None if they may."""
        try:
            self.account_for(email, instance, groups)
        except (NotAllowed, Transient) as error:
            return error
        return None

    def change(self, known_id: int, change: KnownChange, account: Account, *, signed_in_as: str) -> None:
        """Change a known failure.

        Raises:
            NotFound: there is no such one.
            BadInput: the state cannot follow the present one, or needs a bug.
        """
        with self._store.transaction() as tx:
            require_transition(tx.known.lock(known_id).state, change.state)
            if change.state in ACTIVE and not change.bug:
                raise BadInput("is missing: name it like MB-123, #123 or by its URL", "bug")
            author = Author(account=account.id, name=account.name, signed_in_as=signed_in_as)
            tx.known.change(known_id, change, author)

    def add(self, new: NewKnown, account: Account, *, signed_in_as: str) -> int:
        """Make failures that a pattern matches known, or renew the one of this scope; return its number."""
        author = Author(account=account.id, name=account.name, signed_in_as=signed_in_as)
        with self._store.transaction() as tx:
            return tx.known.make(new, author).id
