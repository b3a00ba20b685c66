"""Open files of untrusted programs without following a link or blocking."""

from __future__ import annotations

import errno
import os
import stat
from typing import TYPE_CHECKING

from service.domain.values.errors import BadResults, Transient

if TYPE_CHECKING:
    from io import BufferedReader
    from pathlib import Path


def open_output(path: Path) -> BufferedReader:
    """Open a regular file for reading, in a directory that the program could not replace.

    Raises:
        BadResults: there is no such file, or it is a symbolic link, a FIFO, a directory, ….
        Transient: the host cannot open a file now.
    """
    try:
        # A link could lead to a file of the host, and opening a FIFO could block forever.
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    except FileNotFoundError:
        raise BadResults("was not written", path.name) from None
    except OSError as error:
        if error.errno in {errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EIO}:
            raise Transient(f"{path.name} cannot be opened: {error.strerror}") from error
        raise BadResults("is not a regular file that can be read", path.name) from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise BadResults("is not a regular file", path.name)
    return os.fdopen(descriptor, "rb")


def read_output(path: Path, at_most: int) -> bytes:
    """Read a file that a program wrote.

    Raises:
        BadResults: it is not a regular file, or larger than ``at_most`` bytes.
        Transient: the host cannot read a file now.
    """
    with open_output(path) as file:
        data = file.read(at_most + 1)
    if len(data) > at_most:
        raise BadResults(f"is larger than {at_most} bytes", path.name)
    return data
