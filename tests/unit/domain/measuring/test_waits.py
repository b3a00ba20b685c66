"""Stacks that end in a wait, with the names that Debian's stripped C library leaves."""

from __future__ import annotations

import pytest

from service.domain.measuring.sampled_stacks import Function, Sampled
from service.domain.measuring.waits import is_wait, waited
from service.domain.values.errors import BadResults

SAVE = Function("save")


def stack(libraries: str = "") -> tuple[Function, ...]:
    return (SAVE, *(Function(each, is_library=True) for each in libraries.split()))


def shares(of: Sampled) -> list[float]:
    return [each / sum(of.stacks.values()) for each in of.stacks.values()]


@pytest.mark.parametrize(
    "libraries",
    [
        "pthread_mutex_lock libc.so.6",
        "pthread_cond_wait@@GLIBC_2.3.2 libc.so.6",
        "std::thread::join libc.so.6 libc.so.6",
        "usleep nanosleep",
        "__poll",
    ],
)
def test_locks_and_calls_of_the_kernel_are_waits(libraries: str) -> None:
    assert is_wait(stack(libraries))
    assert not is_wait((*stack(libraries), SAVE)), "a callback computes"


@pytest.mark.parametrize("libraries", ["pthread_mutex_lock", "memcpy", "libc.so.6 libc.so.6"])
def test_a_free_lock_and_other_functions_are_no_waits(libraries: str) -> None:
    assert not is_wait(stack(libraries))
    assert not is_wait((Function("read"),)), "a function of the program"


@pytest.mark.parametrize(
    ("waits", "expected", "idle", "share"),
    [
        (600, 1000, 0.7, 0.6),  # the rest was preempted
        (600, 1000, 0.5, 0.5),  # it computes in the kernel, too
        (100, 1000, 0.6, 0.6),  # the kernel did not wake up for half of the samples
        (100, 0, 0.6, 0.2),  # of several threads, others can have been in the way
        (0, 1000, 0.6, 0.0),  # preempted, without a wait
    ],
)
def test_waiting_is_what_samples_and_clocks_say(waits: int, expected: int, idle: float, share: float) -> None:
    assert waited({stack("fsync"): waits, stack(): 400}, expected, idle) == pytest.approx(share)


def test_elapsed_time_has_missing_samples_of_waits_and_the_computing_of_the_kernel() -> None:
    missing, kernel = (
        Sampled({stack("fsync"): waits, stack(): 100}, 1.0, 2.0, waited=0.6).by_real_time()
        for waits in (25, 900)
    )
    assert [missing.time, *shares(missing)] == pytest.approx([2.0, 0.6, 0.4])
    assert shares(kernel) == pytest.approx([0.9, 0.1])


def test_cpu_time_has_the_computing_of_the_kernel_only() -> None:
    """Of ten seconds, the program waits six, the kernel computes three, and the program one."""
    found = Sampled({stack("fsync"): 900, stack(): 100}, 4.0, 10.0, waited=0.6).by_cpu_time()
    assert [found.time, *shares(found)] == pytest.approx([4.0, 0.75, 0.25])
    with pytest.raises(BadResults):
        Sampled({stack("fsync"): 900}, 1e-6, 1.0, waited=1.0).by_cpu_time()
