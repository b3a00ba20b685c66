"""An attempt to escape: a program for the sandbox, and what must refuse it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from textwrap import indent
from typing import TYPE_CHECKING

from service.domain.building.sandbox_command import Limits

if TYPE_CHECKING:
    from service.domain.building.sandbox_command import Completed

PRELUDE = (Path(__file__).parent / "inside.py").read_text()
LIMITS = Limits(wall_seconds=60.0, memory_bytes=1 << 30, processes=200, file_bytes=32 << 20)
HELD, ESCAPED = "held", "escaped"
PROPERTY = "escape attempt"  # the name of a row in a test's report


class By(StrEnum):
    """The part of the sandbox that refuses."""

    FILTER = "filter of system calls"
    KEYRING = "empty session keyring"
    PROCESSES = "process namespace"
    USERS = "user namespace"
    MOUNTS = "mount namespace"
    READ_ONLY = "read-only mount"
    HIDDEN = "covered by a mount"
    NETWORK = "network namespace"
    IPC = "IPC namespace"
    PRIVILEGES = "no capability"
    LIMIT = "limit"


@dataclass(frozen=True)
class Attempt:
    """A row of the table.

    ``refused`` are the accepted answers, separated by blanks: names of errors, ``held`` for an attempt that
    is refused without one, or the limit that ended it. ``only`` is the processor on which it makes sense.
    """

    family: str
    attempted: str
    by: By
    refused: str
    body: str
    limits: Limits = LIMITS
    only: str = ""


@dataclass(frozen=True)
class Control:
    """Work of the same kind that must succeed inside, or the tests would prove nothing."""

    family: str
    works: str
    body: str


def program(body: str) -> str:
    """Make the program of an attempt; its last line is the answer."""
    return (
        f"{PRELUDE}\ntry:\n{indent(body.strip(), '    ')}\n    answer('{ESCAPED}')\n"
        "except OSError as error:\n    answer(errno.errorcode.get(error.errno, str(error)))\n"
        f"except Held:\n    answer('{HELD}')\n"
    )


def answer_of(ended: Completed, output: str) -> str:
    """Read the answer of a program: its last line, or the limit that ended it."""
    if ended.stopped_by is not None:
        return f"limit:{ended.stopped_by.name}"
    lines = [line for line in output.splitlines() if line.startswith("answer: ")]
    return lines[-1].removeprefix("answer: ") if lines else f"{ended.end}: {output[-1000:]}"
