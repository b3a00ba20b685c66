from __future__ import annotations

import asyncio
import threading
from itertools import chain
from typing import TYPE_CHECKING

import pytest
import structlog

from service.domain.values.errors import Transient
from service.web.review.group_commit import MOST_TOGETHER, GroupCommit

if TYPE_CHECKING:
    from collections.abc import Sequence


class Shelf:
    """Stores bodies once it is opened; what it stored at a time."""

    def __init__(self, fault: Exception | None = None, faulty: bytes | None = None) -> None:
        self.stored: list[list[bytes]] = []
        self.open = threading.Event()
        self.tries = 0
        self._fault = fault
        self._faulty = faulty

    def store(self, bodies: Sequence[bytes]) -> list[int | None]:
        assert self.open.wait(20)
        self.tries += 1
        if self._fault is not None and (self._faulty is None or self._faulty in bodies):
            raise self._fault
        self.stored.append(list(bodies))
        return [len(body) for body in bodies]


async def all_at_once(intake: GroupCommit, shelf: Shelf, bodies: Sequence[bytes]) -> list[object]:
    """Return the answers to bodies; all but the first arrive while the first is stored."""
    tasks = [asyncio.create_task(intake.add(body)) for body in bodies]
    await asyncio.sleep(0.01)
    shelf.open.set()
    return await asyncio.gather(*tasks, return_exceptions=True)


def test_bodies_that_arrive_while_one_is_stored_are_stored_together() -> None:
    shelf = Shelf()
    bodies = [b"x" * size for size in range(1, 6)]
    answers = asyncio.run(all_at_once(GroupCommit(shelf.store), shelf, bodies))

    assert answers == [1, 2, 3, 4, 5]
    assert list(chain.from_iterable(shelf.stored)) == bodies
    assert len(shelf.stored) <= 2


def test_no_transaction_grows_beyond_a_limit() -> None:
    shelf = Shelf()
    bodies = [b"%d" % number for number in range(3 * MOST_TOGETHER)]
    asyncio.run(all_at_once(GroupCommit(shelf.store), shelf, bodies))

    assert list(chain.from_iterable(shelf.stored)) == bodies
    assert max(map(len, shelf.stored)) == MOST_TOGETHER


def test_all_waiting_bodies_fail_together_and_later_ones_are_stored() -> None:
    shelf = Shelf(Transient("away"), faulty=b"1")
    intake = GroupCommit(shelf.store)

    async def play() -> tuple[list[object], int | None]:
        return await all_at_once(intake, shelf, [b"1", b"1", b"1"]), await intake.add(b"22")

    answers, later = asyncio.run(play())
    assert [str(answer) for answer in answers] == ["away"] * 3
    assert (later, shelf.stored) == (2, [[b"22"]])


def test_while_nothing_can_be_stored_callers_wait_for_one_attempt_only() -> None:
    shelf = Shelf(Transient("away"))
    answers = asyncio.run(all_at_once(GroupCommit(shelf.store), shelf, [b"1"] * (3 * MOST_TOGETHER)))

    assert [str(answer) for answer in answers] == ["away"] * (3 * MOST_TOGETHER)
    assert shelf.tries == 1


def test_a_body_that_can_never_be_stored_does_not_fail_others() -> None:
    shelf = Shelf(ValueError("no"), faulty=b"333")
    with structlog.testing.capture_logs() as logs:
        answers = asyncio.run(all_at_once(GroupCommit(shelf.store), shelf, [b"1", b"22", b"333", b"4444"]))

    assert [answer if isinstance(answer, int) else repr(answer) for answer in answers] == [
        1,
        2,
        "ValueError('no')",
        4,
    ]
    assert {entry["event"] for entry in logs} == {"webhook.stored_apart"}


def test_a_cancelled_caller_does_not_affect_others() -> None:
    shelf = Shelf()
    intake = GroupCommit(shelf.store)

    async def play() -> int | None:
        gone = [asyncio.create_task(intake.add(b"1")) for _ in range(3)]
        stays = asyncio.create_task(intake.add(b"22"))
        await asyncio.sleep(0.01)
        for each in gone:
            each.cancel()
        await asyncio.sleep(0)
        shelf.open.set()
        return await stays

    assert asyncio.run(play()) == 2
    assert sum(map(len, shelf.stored)) == 4


@pytest.mark.parametrize("fault", [None, Transient("away")])
def test_an_ended_event_loop_does_not_hinder_the_next_one(fault: Exception | None) -> None:
    shelf = Shelf(fault, faulty=b"1")
    shelf.open.set()
    intake = GroupCommit(shelf.store)

    async def one(body: bytes) -> int | None:
        try:
            return await intake.add(body)
        except Transient:
            return None

    assert asyncio.run(one(b"1")) == (1 if fault is None else None)
    assert asyncio.run(one(b"22")) == 2
