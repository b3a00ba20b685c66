"""Tell a merged change by a comment, which leaves like every other one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from typing_extensions import override

from service.domain.review.change import Review
from service.domain.values.errors import NotFound
from service.domain.wording.digest import Digest
from service.domain.wording.regressions import comment_of
from service.ports.trunk import Notifier

if TYPE_CHECKING:
    from collections.abc import Callable

    from service.domain.wording.digest import Told
    from service.ports.store import Store
    from service.ports.trunk import DueNotice


class Comments(Notifier):
    """Comments in the outbox of reviews."""

    def __init__(self, store: Store) -> None:
        self._store = store

    @override
    def send(self, notice: DueNotice, told: Told, begin: Callable[[], bool]) -> bool:
        if notice.run_id is None or isinstance(told, Digest):
            raise NotFound("a week has no change")
        with self._store.transaction() as tx:
            merged = tx.runs.lock(notice.run_id)
            if merged.change is None:
                raise NotFound("the commit has no change")
            review = Review(merged.change, merged.revision, comment_of(told))
            tx.outbox.queue_review(f"regression/{notice.regression_id}", review)
        return True
