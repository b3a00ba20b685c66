"""Calls without the rights of root, for tests of files that nobody may read."""

from __future__ import annotations

import ctypes
import os
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

R = TypeVar("R")

_VERSION: Final = 0x20080522  # of the structures of capset(2)


def without_capabilities(call: Callable[[], R]) -> R:
    """Return the result of a call by a user who may open only what file modes allow, even if it is root.

    The user stays the same, because another one could reach no temporary directory of this one. Linux counts
    capabilities by thread, so the call gets a thread of its own.
    """

    def call_without() -> R:
        header, none = (ctypes.c_uint32 * 2)(_VERSION, 0), (ctypes.c_uint32 * 6)()
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.capset(header, none):
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        return call()

    with ThreadPoolExecutor(1) as thread:
        return thread.submit(call_without).result()
