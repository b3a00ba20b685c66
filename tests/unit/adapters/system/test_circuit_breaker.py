"""Calls to a server that may hang."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Event, Semaphore, stack_size
from typing import NoReturn

import pytest

from service.adapters.system.circuit_breaker import AT_ONCE, SILENT_SECONDS, BoundedCalls
from service.domain.values.errors import NotAllowed, Permanent, Transient
from tests.support.waiting import eventually

LONG = 20.0  # seconds until a test fails


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
    return BoundedCalls("the server", Semaphore(0), clock=clock)


def fail(error: Exception) -> NoReturn:
    raise error


def test_a_call_returns_its_result(calls: BoundedCalls) -> None:
    assert calls.run(lambda: 7) == 7


@pytest.mark.parametrize("error", [NotAllowed("no"), Permanent("bad"), KeyError("x")])
def test_a_call_raises_its_error_and_the_next_one_is_made(calls: BoundedCalls, error: Exception) -> None:
    for _ in range(2):
        with pytest.raises(type(error)) as raised:
            calls.run(lambda: fail(error))
        assert raised.value is error


def test_a_fifth_call_is_refused_until_one_of_four_has_ended(calls: BoundedCalls) -> None:
    """Nobody may wait here."""
    all_run, may_end = Barrier(AT_ONCE + 1), Event()

    def work() -> bool:
        all_run.wait(20)
        return may_end.wait(20)

    with ThreadPoolExecutor(AT_ONCE) as pool:
        running = [pool.submit(calls.run, work) for _ in range(AT_ONCE)]
        all_run.wait(20)
        with pytest.raises(Transient, match=r"^too many requests wait for the server$"):
            calls.run(lambda: 1)
        may_end.set()
        assert all(each.result(20) for each in running)
    assert calls.run(lambda: 1) == 1


def test_calls_without_a_thread_leave_room_for_later_ones(calls: BoundedCalls) -> None:
    before = stack_size(1 << 50)  # more than any process can address
    try:
        for _ in range(5):
            with pytest.raises(Transient, match=r"^this machine has no thread for a call to the server$"):
                calls.run(lambda: 1)
    finally:
        stack_size(before)
    assert calls.run(lambda: 1) == 1


def test_a_machine_without_a_thread_does_not_end_the_silence(calls: BoundedCalls, clock: Clock) -> None:
    with pytest.raises(Transient):
        calls.run(lambda: fail(Transient("down")))
    clock.now += SILENT_SECONDS
    before = stack_size(1 << 50)
    try:
        with pytest.raises(Transient, match="no thread"):
            calls.run(lambda: 1)
    finally:
        stack_size(before)
    assert calls.failure == "down"


def test_after_a_failure_no_call_is_made_for_a_while(calls: BoundedCalls, clock: Clock) -> None:
    made: list[int] = []
    with pytest.raises(Transient, match="connection refused") as failed:
        calls.run(lambda: fail(Transient("connection refused")))
    assert failed.value.retry_after == SILENT_SECONDS
    clock.now += SILENT_SECONDS - 0.5
    with pytest.raises(Transient, match="connection refused") as refused:
        calls.run(lambda: made.append(1))
    assert (made, refused.value.retry_after, calls.failure) == ([], 0.5, "connection refused")
    clock.now += 0.5
    assert calls.failure == "", "the next call shows"
    calls.run(lambda: made.append(1))
    assert (made, calls.failure) == ([1], "")


def test_a_call_that_misses_its_deadline_fails_and_still_counts(clock: Clock) -> None:
    calls = BoundedCalls("the server", Semaphore(0), 0.01, clock)
    may_end = Event()
    for _ in range(AT_ONCE):
        with pytest.raises(Transient, match=r"^the server did not answer within 0\.01 seconds$"):
            calls.run(lambda: may_end.wait(60))
        clock.now += SILENT_SECONDS
    with pytest.raises(Transient, match=r"^too many requests wait for the server$"):
        calls.run(lambda: None)
    may_end.set()


def test_a_late_answer_ends_the_silence(clock: Clock) -> None:
    calls = BoundedCalls("the server", Semaphore(0), 0.01, clock)
    may_end = Event()
    with pytest.raises(Transient):
        calls.run(lambda: may_end.wait(60))
    assert calls.failure == "the server did not answer within 0.01 seconds"
    may_end.set()
    assert eventually(lambda: calls.failure == "", LONG)
    assert calls.run(lambda: 1) == 1


def test_after_a_failure_one_call_alone_tries_again(calls: BoundedCalls, clock: Clock) -> None:
    begun, may_end = Event(), Event()

    def work() -> bool:
        begun.set()
        return may_end.wait(LONG)

    with pytest.raises(Transient):
        calls.run(lambda: fail(Transient("down")))
    clock.now += SILENT_SECONDS
    with ThreadPoolExecutor(1) as pool:
        trial = pool.submit(calls.run, work)
        assert begun.wait(LONG)
        with pytest.raises(Transient, match="down"):
            calls.run(lambda: 1)
        may_end.set()
        assert trial.result(LONG)
    assert calls.run(lambda: 1) == 1
