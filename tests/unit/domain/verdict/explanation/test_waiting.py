"""Waiting as a cause of a slow-down."""

from __future__ import annotations

import random
from statistics import fmean

import pytest

from service.domain.measuring.sampled_stacks import Function, Sampled
from service.domain.verdict.explanation.causes import Cause, Kind
from service.domain.verdict.explanation.explanation import Explanation
from service.domain.verdict.explanation.waiting import waiting, waits_for_others
from service.domain.wording.explanations import explanation

LOOP, POP, PUSH = Function("BM"), Function("Queue::pop"), Function("Queue::push")
LOCK = (Function("pthread_mutex_lock", is_library=True), Function("libc.so.6", is_library=True))


JOIN = (Function("pthread_cond_wait", is_library=True), Function("libc.so.6", is_library=True))


def launches(
    pop: float, push: float, work: float, seed: int = 1, wait: tuple[Function, ...] = LOCK
) -> list[Sampled]:
    """Six launches with these microseconds; each scatters by two percent."""
    draw, found = random.Random(seed), []  # noqa: S311 - repeatable on purpose
    for _ in range(6):
        parts = [each * draw.gauss(1, 0.02) for each in (pop, push, work)]
        stacks = dict(zip([(LOOP, POP, *wait), (LOOP, PUSH, *wait), (LOOP, POP)], parts, strict=True))
        counts = {stack: round(500 * part / sum(parts)) for stack, part in stacks.items()}
        share = (counts[LOOP, POP, *wait] + counts[LOOP, PUSH, *wait]) / sum(counts.values())
        found.append(Sampled(counts, sum(parts) * 1e-6, sum(parts) * 1e-6, share))
    return found


def test_waiting_is_named_by_the_function_of_the_program_that_waits_longer() -> None:
    found = waiting(launches(0.2, 1.0, 3.0), launches(3.8, 1.0, 3.0, 2))
    assert found
    assert (found.kind, found.function) == (Kind.WAITING, "Queue::pop")
    assert [found.base, found.patch] == pytest.approx([1.2e-6, 4.8e-6], rel=0.05)


@pytest.mark.parametrize("patch", [(1.3, 1.0, 5.0), (0.5, 1.5, 3.0)], ids=["more work", "moved"])
def test_waiting_that_grew_little_or_moved_is_no_cause(patch: tuple[float, float, float]) -> None:
    assert waiting(launches(1.0, 1.0, 3.0), launches(*patch, 2)) is None


@pytest.mark.parametrize(
    ("patch", "is_longer"),
    [((3.8, 1.0, 3.0), True), ((1.0, 1.0, 6.0), False), ((1.1, 1.0, 5.0), False), ((2.0, 1.0, 4.6), False)],
    ids=["waits", "works", "works, waits hardly", "works more than it waits"],
)
def test_the_work_of_others_that_a_thread_waits_longer_for_is_not_seen(
    patch: tuple[float, float, float], *, is_longer: bool
) -> None:
    assert waits_for_others(launches(1.0, 1.0, 3.0, wait=JOIN), launches(*patch, 2, JOIN)) == is_longer


@pytest.mark.parametrize(
    ("libraries", "is_by_others"),
    [
        ("clock_nanosleep", False),
        ("syscall", False),
        ("pthread_mutex_lock libc.so.6", False),
        ("pthread_cond_timedwait libc.so.6", False),
        ("pthread_cond_clockwait libc.so.6", False),
        ("sem_timedwait libc.so.6", False),
        ("sem_wait libc.so.6", True),
        ("pthread_barrier_wait libc.so.6", True),
        ("std::thread::join libc.so.6 libc.so.6", True),
        ("std::__atomic_futex_unsigned_base::_M_futex_wait_until syscall", True),
    ],
)
def test_only_what_ends_when_another_thread_is_done_waits_for_it(
    libraries: str, *, is_by_others: bool
) -> None:
    called = (Function(each, is_library=True) for each in libraries.split())
    stacks = {(LOOP, *called): 9, (LOOP,): 1}
    base, patch = ([Sampled(stacks, time, time)] * 6 for time in (1e-6, 2e-6))
    assert waits_for_others(base, patch) == is_by_others


FLUSH, WAIT, TAKE = Function("Disk::flush"), Function("Queue::wait_for_item"), Function("Queue::take")
POP_INT, POP_LONG = Function("Queue<int>::pop"), Function("Queue<long>::pop")


@pytest.mark.parametrize(
    ("old", "new"),
    [((POP,), (POP, WAIT)), ((POP, WAIT), (POP,)), ((POP,), (TAKE,)), ((POP_INT,), (POP_LONG,))],
    ids=["moved", "moved back", "renamed", "another instance"],
)
def test_a_wait_that_moved_or_has_a_new_name_did_not_grow(
    old: tuple[Function, ...], new: tuple[Function, ...]
) -> None:
    base, patch = (
        [
            Sampled(
                {(LOOP, *way, *LOCK): 800 + k, (LOOP, FLUSH, *LOCK): flush, (LOOP,): 100}, time, time, share
            )
            for k in range(6)
        ]
        for way, flush, time, share in ((old, 100, 1e-6, 0.9), (new, 400, 1.3e-6, 1200 / 1300))
    )
    found = waiting(base, patch)
    assert found
    assert found.function == "Disk::flush"


def test_programs_that_are_alike_rarely_wait_longer() -> None:
    pairs = [(launches(1, 1, 3, k), launches(1, 1, 3, 999 + k)) for k in range(200)]
    assert fmean(waiting(*each) is not None for each in pairs) < 0.05


def test_the_sentence_has_seconds_and_the_function() -> None:
    cause = Cause(Kind.WAITING, "Queue::pop", 1.2e-6, 4.8e-6)
    told = "BM: waiting: 1.20 → 4.80 µs per iteration, in Queue::pop"
    assert explanation(Explanation("s", "BM", causes=(cause,))) == told
    threads = Explanation("s", "BM", causes=(cause,), obstacle="several threads")
    assert explanation(threads) == f"{told}; not complete: several threads"
