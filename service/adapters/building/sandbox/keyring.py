"""The session keyring: a sandbox gets an empty one of its own, not that of the worker's login."""

from __future__ import annotations

import ctypes
import errno
import os
from typing import Final

from service.domain.values.errors import Transient

# The number of the call `keyctl`, for which the C library has no function.
KEYCTL: Final = {"x86_64": 250, "aarch64": 219, "riscv64": 219, "ppc64le": 271, "s390x": 280}
JOIN_SESSION_KEYRING: Final = 1
# The kernel has no keys, or a filter around this process refuses the call, to the sandbox too.
UNAVAILABLE: Final = frozenset({errno.ENOSYS, errno.EPERM, errno.EACCES})


def join_new_keyring() -> None:
    """Give the calling thread, and the processes that it starts, a new and empty session keyring.

    No namespace isolates the session keyring: a program could read the keys of the login that started the
    worker, and leave keys for the next program. The thread loses its former keyring for good.

    Raises:
        Transient: the kernel cannot create a keyring now.
    """
    number = KEYCTL.get(os.uname().machine)
    if number is None:
        return
    long, no_name = ctypes.c_long, ctypes.c_void_p(None)
    done = ctypes.CDLL(None, use_errno=True).syscall(long(number), long(JOIN_SESSION_KEYRING), no_name)
    if done < 0 and ctypes.get_errno() not in UNAVAILABLE:
        raise Transient(f"the sandbox cannot get a keyring: {os.strerror(ctypes.get_errno())}")
