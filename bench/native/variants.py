"""Variants of each workload: their names, the line that selects one, and the programs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tools.demo.repository import selecting

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Program:
    """A target of the build, under one of its presets."""

    preset: str
    target: str


@dataclass(frozen=True, slots=True)
class Workload:
    """A folder of ``native/`` with one line that selects what is measured.

    Args:
        name: the folder.
        selecting_file: the header with the line, below ``native/``.
        types: the type of each variant, the one of "before" first.
    """

    name: str
    selecting_file: str
    types: Mapping[str, str]

    def select(self, text: str, variant: str) -> str:
        """Return the selecting file's text with that variant selected.

        Raises:
            ValueError: the text does not have exactly one such line.
        """
        return selecting(text, self.types[variant], self.selecting_file)


EXECUTOR: Final = Workload(
    "executor",
    "executor/selected_taskable.h",
    {"mock_taskable": "MockTaskable", "null_taskable": "NullTaskable"},
)
FLUSH_VBUCKET: Final = Workload(
    "flush_vbucket",
    "flush_vbucket/selected_callback.h",
    {"per_item_callback": "PerItemCallback", "per_transaction_callback": "PerTransactionCallback"},
)
HASH_TABLE: Final = Workload(
    "hash_table",
    "hash_table/selected_statistics.h",
    {"single": "SingleStatistics", "per_llc": "PerLlcStatistics", "per_core": "PerCoreStatistics"},
)
SEND_BUFFER: Final = Workload(
    "send_buffer",
    "send_buffer/selected_sender.h",
    {"copy_and_send": "CopyAndSend", "send_per_chunk": "SendPerChunk", "sendmsg": "SendMessage"},
)
WORKLOADS: Final = (EXECUTOR, FLUSH_VBUCKET, HASH_TABLE, SEND_BUFFER)

EXECUTOR_SUITE: Final = Program("measure", "executor_benchmark")
FLUSH_VBUCKET_SUITE: Final = Program("measure", "flush_vbucket_benchmark")
HASH_TABLE_SUITE: Final = Program("measure", "hash_table_benchmark")
SEND_BUFFER_SUITE: Final = Program("measure", "send_buffer_benchmark")
# The recorded change concerns times of a sanitizer's build.
LARGE_SIZE_TEST: Final = Program("tsan", "send_buffer_large_size_test")
