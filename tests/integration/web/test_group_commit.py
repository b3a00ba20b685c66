from __future__ import annotations

import asyncio
import threading
from itertools import chain
from typing import TYPE_CHECKING

import pytest
import structlog

from service.domain.errors import Transient
from service.web.group_commit import MOST_TOGETHER, GroupCommit

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
    """What each was answered, where all but the first came while the first was being stored."""
    tasks = [asyncio.create_task(intake.add(body)) for body in bodies]
    await asyncio.sleep(0.01)
    shelf.open.set()
    return await asyncio.gather(*tasks, return_exceptions=True)


def test_what_comes_while_one_is_stored_is_stored_together_and_each_gets_its_own_answer() -> None:
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


def test_each_of_those_that_cannot_be_stored_now_is_told_so_and_what_comes_later_is_stored() -> None:
    shelf = Shelf(Transient("away"), faulty=b"1")
    intake = GroupCommit(shelf.store)

    async def play() -> tuple[list[object], int | None]:
        return await all_at_once(intake, shelf, [b"1", b"1", b"1"]), await intake.add(b"22")

    answers, later = asyncio.run(play())
    assert [str(answer) for answer in answers] == ["away"] * 3
    assert (later, shelf.stored) == (2, [[b"22"]])


def test_while_nothing_can_be_stored_nobody_waits_for_more_than_one_try() -> None:
    shelf = Shelf(Transient("away"))
    answers = asyncio.run(all_at_once(GroupCommit(shelf.store), shelf, [b"1"] * (3 * MOST_TOGETHER)))

    assert [str(answer) for answer in answers] == ["away"] * (3 * MOST_TOGETHER)
    assert shelf.tries == 1


def test_one_that_can_never_be_stored_takes_no_other_with_it() -> None:
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


def test_who_no_longer_waits_keeps_nobody_from_an_answer() -> None:
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
def test_a_loop_that_ended_leaves_nothing_that_hinders_the_next(fault: Exception | None) -> None:
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
