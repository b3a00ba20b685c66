"""Change known failures from a page, or add one by a pattern."""

from __future__ import annotations

from typing import TYPE_CHECKING

from service.domain.failures.known import ACTIVE, require_transition
from service.domain.values.errors import BadInput
from service.ports.access import Author

if TYPE_CHECKING:
    from service.domain.review.change import Account
    from service.ports.failures.storing import KnownChange, NewKnown
    from service.ports.store import Store


class KnownChanges:
    """Apply the changes that people make on the pages of known failures.

    Args:
        store: keeps the known failures.
    """

    def __init__(self, store: Store) -> None:
        self._store = store

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
