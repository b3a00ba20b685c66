"""Calls to a server that may hang."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Event, Semaphore, stack_size
from typing import NoReturn

import pytest

from service.adapters.system.circuit_breaker import AT_ONCE, SILENT_SECONDS, CircuitBreaker
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
def breaker(clock: Clock) -> CircuitBreaker:
    return CircuitBreaker("the server", Semaphore(0), clock=clock)


def fail(error: Exception) -> NoReturn:
    raise error


def test_a_call_returns_its_result(breaker: CircuitBreaker) -> None:
    assert breaker.run(lambda: 7) == 7


@pytest.mark.parametrize("error", [NotAllowed("no"), Permanent("bad"), KeyError("x")])
def test_a_call_raises_its_error_and_the_next_one_is_made(breaker: CircuitBreaker, error: Exception) -> None:
    for _ in range(2):
        with pytest.raises(type(error)) as raised:
            breaker.run(lambda: fail(error))
        assert raised.value is error


def test_a_fifth_call_is_refused_until_one_of_four_has_ended(breaker: CircuitBreaker) -> None:
    """Nobody may wait here."""
    all_run, may_end = Barrier(AT_ONCE + 1), Event()

    def work() -> bool:
        all_run.wait(20)
        return may_end.wait(20)

    with ThreadPoolExecutor(AT_ONCE) as pool:
        running = [pool.submit(breaker.run, work) for _ in range(AT_ONCE)]
        all_run.wait(20)
        with pytest.raises(Transient, match=r"^too many requests wait for the server$"):
            breaker.run(lambda: 1)
        may_end.set()
        assert all(each.result(20) for each in running)
    assert breaker.run(lambda: 1) == 1


def test_calls_without_a_thread_leave_room_for_later_ones(breaker: CircuitBreaker) -> None:
    before = stack_size(1 << 50)  # more than any process can address
    try:
        for _ in range(5):
            with pytest.raises(Transient, match=r"^this machine has no thread for a call to the server$"):
                breaker.run(lambda: 1)
    finally:
        stack_size(before)
    assert breaker.run(lambda: 1) == 1


def test_a_machine_without_a_thread_does_not_end_the_silence(breaker: CircuitBreaker, clock: Clock) -> None:
    with pytest.raises(Transient):
        breaker.run(lambda: fail(Transient("down")))
    clock.now += SILENT_SECONDS
    before = stack_size(1 << 50)
    try:
        with pytest.raises(Transient, match="no thread"):
            breaker.run(lambda: 1)
    finally:
        stack_size(before)
    assert breaker.failure == "down"


def test_after_a_failure_no_call_is_made_for_a_while(breaker: CircuitBreaker, clock: Clock) -> None:
    made: list[int] = []
    with pytest.raises(Transient, match="connection refused") as failed:
        breaker.run(lambda: fail(Transient("connection refused")))
    assert failed.value.retry_after == SILENT_SECONDS
    clock.now += SILENT_SECONDS - 0.5
    with pytest.raises(Transient, match="connection refused") as refused:
        breaker.run(lambda: made.append(1))
    assert (made, refused.value.retry_after, breaker.failure) == ([], 0.5, "connection refused")
    clock.now += 0.5
    assert breaker.failure == "", "the next call shows"
    breaker.run(lambda: made.append(1))
    assert (made, breaker.failure) == ([1], "")


def test_a_call_that_misses_its_deadline_fails_and_still_counts(clock: Clock) -> None:
    breaker = CircuitBreaker("the server", Semaphore(0), 0.01, clock)
    may_end = Event()
    for _ in range(AT_ONCE):
        with pytest.raises(Transient, match=r"^the server did not answer within 0\.01 seconds$"):
            breaker.run(lambda: may_end.wait(60))
        clock.now += SILENT_SECONDS
    with pytest.raises(Transient, match=r"^too many requests wait for the server$"):
        breaker.run(lambda: None)
    may_end.set()


def test_a_late_answer_ends_the_silence(clock: Clock) -> None:
    breaker = CircuitBreaker("the server", Semaphore(0), 0.01, clock)
    may_end = Event()
    with pytest.raises(Transient):
        breaker.run(lambda: may_end.wait(60))
    assert breaker.failure == "the server did not answer within 0.01 seconds"
    may_end.set()
    assert eventually(lambda: breaker.failure == "", LONG)
    assert breaker.run(lambda: 1) == 1


def test_after_a_failure_one_call_alone_tries_again(breaker: CircuitBreaker, clock: Clock) -> None:
    begun, may_end = Event(), Event()

    def work() -> bool:
        begun.set()
        return may_end.wait(LONG)

    with pytest.raises(Transient):
        breaker.run(lambda: fail(Transient("down")))
    clock.now += SILENT_SECONDS
    with ThreadPoolExecutor(1) as pool:
        trial = pool.submit(breaker.run, work)
        assert begun.wait(LONG)
        with pytest.raises(Transient, match="down"):
            breaker.run(lambda: 1)
        may_end.set()
        assert trial.result(LONG)
    assert breaker.run(lambda: 1) == 1
