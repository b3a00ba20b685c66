"""A queue of reviews, and a server that fails at chosen places."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from service.domain.review.change import Review
from service.steps.review.deliver import deliver_reviews
from tests.support.fakes import FakeReviewServer
from tests.support.memory.store import MemoryStore
from tests.support.review.changes import KEY, change_at

if TYPE_CHECKING:
    from collections.abc import Mapping

    from service.domain.review.change import Change, Posted
    from service.domain.values.identity import ChangeKey

MARKER = "https://bench.example.com/runs/5#v1"
MESSAGE = f"Build Successful \n\nhttps://bench.example.com/job/perf/1/ : SUCCESS\n\n{MARKER}"


@dataclass
class FaultyServer(FakeReviewServer):
    """A server that fails before it applies a request, or after."""

    before: list[Exception] = field(default_factory=list)
    refused: list[Exception] = field(default_factory=list)  # raised instead of accepting a review
    after: list[Exception] = field(default_factory=list)
    pushed: list[Change] = field(default_factory=list)  # appear right before a review is applied

    def change(self, key: ChangeKey) -> Change:
        if self.before:
            raise self.before.pop()
        return super().change(key)

    def post(self, review: Review) -> Posted:
        if self.refused:
            raise self.refused.pop()
        if self.pushed:
            self.put(self.pushed.pop())
        granted = super().post(review)
        if self.after:
            raise self.after.pop()
        return granted


class Delivery:
    """A queue of reviews and the server that they are for."""

    def __init__(self) -> None:
        self.store = MemoryStore()
        self.server = FaultyServer()
        self.server.put(change_at(1))

    def queue(
        self, marker: str = MARKER, labels: Mapping[str, int] | None = None, change: ChangeKey = KEY
    ) -> None:
        message = MESSAGE.replace(MARKER, marker)
        asked = {"Verified": 1} if labels is None else labels
        review = Review(change, "patch1", message, asked)
        with self.store.transaction() as tx:
            tx.outbox.queue_review(marker, review)

    def deliver(self) -> int:
        """Deliver after the longest wait between two attempts."""
        self.store.wait(300.0)
        return deliver_reviews(self.store, self.store, self.server)

    @property
    def waits(self) -> list[float]:
        """The seconds until each review is due."""
        memory = self.store.memory
        return [review.next_at - memory.clock for review in memory.reviews.values()]

    @property
    def states(self) -> list[tuple[str, str]]:
        return [(review.state, review.note) for review in self.store.memory.reviews.values()]
