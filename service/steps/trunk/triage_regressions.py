"""Store what people make of regressions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from service.ports.access import Author
from service.steps.access.overriders import Overriders

if TYPE_CHECKING:
    from collections.abc import Sequence

    from service.domain.review.change import Account
    from service.ports.review.server import AccountRights
    from service.ports.store import Store
    from service.ports.trunk import RegressionChange


class RegressionTriage(Overriders):
    """Apply the judgements that people make on the pages of regressions.

    Args:
        store: keeps the regressions.
        answers: of the review servers; their groups decide.
    """

    def __init__(self, store: Store, answers: AccountRights) -> None:
        super().__init__(answers)
        self._store = store

    def change(
        self, ids: Sequence[int], change: RegressionChange, account: Account, *, signed_in_as: str
    ) -> None:
        """Change regressions, all or none; raises NotFound."""
        author = Author(account=account.id, name=account.name, signed_in_as=signed_in_as)
        with self._store.transaction() as tx:
            tx.regressions.change(ids, change, author)
