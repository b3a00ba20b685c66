"""Store a person's judgement of regressions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from service.ports.access import Author

if TYPE_CHECKING:
    from collections.abc import Sequence

    from service.domain.review.change import Account
    from service.ports.store import Store
    from service.ports.trunk import RegressionChange


def judge_regressions(
    store: Store, ids: Sequence[int], change: RegressionChange, account: Account, *, signed_in_as: str
) -> None:
    """Change regressions, all or none; raises NotFound."""
    author = Author(account=account.id, name=account.name, signed_in_as=signed_in_as)
    with store.transaction() as tx:
        tx.regressions.change(ids, change, author)
