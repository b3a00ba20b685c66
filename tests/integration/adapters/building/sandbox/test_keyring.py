"""Keep the worker's session keyring to the worker."""

from __future__ import annotations

import ctypes
import errno
import os
from concurrent.futures import ThreadPoolExecutor

import pytest

from service.adapters.building.sandbox.bubblewrap import (
    KEYCTL,
    UNAVAILABLE,
    BubblewrapSandbox,
    join_new_keyring,
)
from tests.integration.adapters.building.sandbox.sandboxed import run

pytestmark = pytest.mark.integration

SESSION, SEARCH = -3, 10  # KEY_SPEC_SESSION_KEYRING, KEYCTL_SEARCH
ADD_KEY = {"x86_64": 248, "aarch64": 217}


def call(number: int, *arguments: int | bytes) -> int:
    """Make a system call; return its result, or the negative error."""
    done = ctypes.CDLL(None, use_errno=True).syscall(
        ctypes.c_long(number), *(ctypes.c_long(it) if isinstance(it, int) else it for it in arguments)
    )
    return int(done) if done >= 0 else -ctypes.get_errno()


def add_key() -> int:
    return call(ADD_KEY[os.uname().machine], b"user", b"benchgate-test", b"secret", 6, SESSION)


def find_key() -> int:
    return call(KEYCTL[os.uname().machine], SEARCH, SESSION, b"user", b"benchgate-test", 0)


def require_keys() -> None:
    """Give this thread a keyring of its own with a key, or skip the test."""
    if os.uname().machine not in ADD_KEY:
        pytest.skip("the number of add_key on this processor is not known here")
    join_new_keyring()
    if -add_key() in UNAVAILABLE:
        pytest.skip("this kernel has no keys, or a container refuses them")


def test_a_thread_that_joins_a_new_keyring_loses_the_keys_of_the_old_one() -> None:
    def act() -> tuple[int, int]:
        require_keys()
        before = find_key()
        join_new_keyring()
        return before, find_key()

    with ThreadPoolExecutor(1) as other:
        before, after = other.submit(act).result()

    assert before > 0
    assert after == -errno.ENOKEY


def test_a_run_leaves_the_workers_keyring_as_it_is() -> None:
    def act() -> int:
        require_keys()
        assert run(BubblewrapSandbox(), "true")[0].is_success
        return find_key()

    with ThreadPoolExecutor(1) as other:
        assert other.submit(act).result() > 0


def test_a_sandbox_without_a_filter_of_system_calls_gets_an_empty_keyring(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As on a processor for which there is no filter."""
    monkeypatch.setattr("service.adapters.building.sandbox.bubblewrap.SYSTEM_CALLS", None)
    look = f"""
import ctypes
library = ctypes.CDLL(None, use_errno=True)
found = library.syscall({KEYCTL.get(os.uname().machine)}, {SEARCH}, {SESSION}, b"user", b"benchgate-test", 0)
print(found, ctypes.get_errno())
"""

    def act() -> str:
        require_keys()
        return run(BubblewrapSandbox(), "/usr/bin/python3", "-c", look)[1]

    with ThreadPoolExecutor(1) as other:
        assert other.submit(act).result() == f"-1 {errno.ENOKEY}\n"
