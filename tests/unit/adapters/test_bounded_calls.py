"""Calls to a server that may hang."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Event, stack_size

import pytest

from service.adapters.bounded_calls import SILENT_SECONDS, BoundedCalls
from service.domain.errors import NotAllowed, Transient


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def calls(clock: Clock) -> BoundedCalls:
    return BoundedCalls("the server", 10.0, ConnectionError, clock)


def fail(error: Exception) -> None:
    raise error


def test_a_call_returns_its_result(calls: BoundedCalls) -> None:
    assert calls.run(lambda: 7) == 7


@pytest.mark.parametrize("error", [NotAllowed("no"), ValueError("bad"), KeyError("x")])
def test_a_call_raises_its_error_and_the_next_one_is_made(calls: BoundedCalls, error: Exception) -> None:
    for _ in range(2):
        with pytest.raises(type(error)) as raised:
            calls.run(lambda: fail(error))
        assert raised.value is error


def test_a_fifth_call_is_refused_until_one_of_four_has_ended(calls: BoundedCalls) -> None:
    all_run, may_end = Barrier(5), Event()

    def work() -> bool:
        all_run.wait(20)
        return may_end.wait(20)

    with ThreadPoolExecutor(4) as pool:
        running = [pool.submit(calls.run, work) for _ in range(4)]
        all_run.wait(20)
        with pytest.raises(Transient, match="the server is still answering others; try again in a minute"):
            calls.run(lambda: 1)
        may_end.set()
        assert all(each.result(20) for each in running)
    assert calls.run(lambda: 1) == 1


def test_calls_without_a_thread_leave_room_for_later_ones(calls: BoundedCalls) -> None:
    before = stack_size(1 << 50)  # more than any process can address
    try:
        for _ in range(5):
            with pytest.raises(
                Transient, match="this machine has no thread for a call to the server; try again"
            ):
                calls.run(lambda: 1)
    finally:
        stack_size(before)
    assert calls.run(lambda: 1) == 1


def test_after_a_failed_connection_no_call_is_made_for_a_while(calls: BoundedCalls, clock: Clock) -> None:
    made = []
    with pytest.raises(ConnectionRefusedError):
        calls.run(lambda: fail(ConnectionRefusedError()))
    clock.now += SILENT_SECONDS - 0.1
    with pytest.raises(Transient, match="did not answer a moment ago; try again in a minute"):
        calls.run(lambda: made.append(1))
    assert made == []
    clock.now += 0.1
    calls.run(lambda: made.append(1))
    assert made == [1]


def test_a_call_that_misses_its_deadline_fails_and_still_counts(clock: Clock) -> None:
    calls = BoundedCalls("the server", 0.01, ConnectionError, clock)
    may_end = Event()
    for _ in range(4):
        with pytest.raises(Transient, match=r"did not answer within 0\.01 seconds"):
            calls.run(lambda: may_end.wait(60))
        clock.now += SILENT_SECONDS
    with pytest.raises(Transient, match="is still answering others"):
        calls.run(lambda: None)
    may_end.set()
