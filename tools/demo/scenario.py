"""The demo's scenarios: changes that speed up a workload of ``native/``, their reverts, a failing test."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final, Protocol

_MESSAGES: Final = Path(__file__).with_name("messages")


@dataclass(frozen=True, slots=True)
class Author:
    """The author of a change."""

    name: str
    email: str


ROBIN: Final = Author("Robin Hale", "robin@example.com")
KIM: Final = Author("Kim Aoki", "kim@example.com")


class Proposed(Protocol):
    """A patch set for review."""

    @property
    def change(self) -> int:
        """The number of the change."""

    @property
    def patch_set(self) -> int:
        """The number of the patch set."""

    @property
    def author(self) -> Author:
        """The author of the commit."""

    @property
    def text(self) -> str:
        """The commit message."""


@dataclass(frozen=True, slots=True)
class Upload:
    """A patch set to upload.

    ``file`` is the file of ``native/`` with the line that selects a variant, ``variant`` is what
    it selects, and ``message`` names the file with the commit message. ``on`` is the parent change, None the
    branch. ``vote`` is the expected vote; ``is_merged``: the patch set is submitted after it.
    """

    change: int
    file: str
    variant: str
    message: str
    author: Author
    vote: int
    patch_set: int = 1
    on: int | None = None
    is_merged: bool = False

    @property
    def is_of_tests(self) -> bool:
        """Its vote is about tests, and not about benchmarks."""
        return self.file == _REPLICA

    @property
    def text(self) -> str:
        """The commit message, with the Change-Id that all patch sets of the change share."""
        return f"{_read(self.message)}\nChange-Id: {change_id(self.change)}\n"


def change_id(change: int) -> str:
    """Make a Change-Id in the form of Gerrit's commit hook."""
    return f"I{change:040x}"


_TASKABLE: Final = "executor/selected_taskable.h"
_CALLBACK: Final = "flush_vbucket/selected_callback.h"
_SENDER: Final = "send_buffer/selected_sender.h"
_STATISTICS: Final = "hash_table/selected_statistics.h"
_REPLICA: Final = "replica/replica_test.sh"
TESTS: Final = "replica-tests"
"""The job with the tests; all others have benchmarks."""

SCENARIOS: Final = {
    "executor": (
        Upload(61, _TASKABLE, "NullTaskable", "executor", ROBIN, +1),
        Upload(62, _TASKABLE, "MockTaskable", "executor_back", KIM, -1, on=61),
    ),
    # Of the claimed bytes of 10,000 replaced items, 144 instead of 48 are saved: three times the truth.
    "flush_vbucket": (
        Upload(63, _CALLBACK, "PerTransactionCallback", "flush_vbucket", KIM, +1, is_merged=True),
        Upload(64, _CALLBACK, "PerItemCallback", "flush_vbucket_back", ROBIN, -1, on=63),
    ),
    "send_buffer": (
        Upload(65, _SENDER, "SendMessage", "send_buffer", ROBIN, +1),
        Upload(66, _SENDER, "CopyAndSend", "send_buffer_back", KIM, -1, on=65),
    ),
    # Variants: the original, a stripe per core (rejected in review), a stripe per last-level cache (final).
    "hash_table": (
        Upload(67, _STATISTICS, "PerCoreStatistics", "hash_table_per_core", KIM, +1),
        Upload(67, _STATISTICS, "PerLlcStatistics", "hash_table_per_llc", KIM, +1, patch_set=2),
        Upload(68, _STATISTICS, "SingleStatistics", "hash_table_back", ROBIN, -1, on=67),
    ),
    "replica": (Upload(69, _REPLICA, "late", "replica_late", ROBIN, -1),),
}
"""The scenarios by the folder that they change, in the order of the demo; the history has lower numbers."""
AGAIN: Final = Upload(70, _REPLICA, "stalled", "replica_stalled", KIM, +1)
"""The same test fails again, after somebody made its failure known."""


@cache
def _read(name: str) -> str:
    return (_MESSAGES / f"{name}.txt").read_text(encoding="utf-8")
