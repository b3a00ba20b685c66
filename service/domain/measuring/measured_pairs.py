"""All pairs of a build: launches of the programs as built and of their relinks, and instruction counts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from service.domain.measuring.instruction_counts import counts_in
from service.domain.measuring.pair_record import decode, read_pair

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from service.domain.comparison.launch import Launch
    from service.domain.measuring.instruction_counts import Counts
    from service.domain.measuring.pair_record import PairRecord
    from service.domain.project.benchmark import Suite


@dataclass(frozen=True, slots=True)
class MeasuredPairs:
    """The launches of a build's pairs, and the counts that its first pair carries."""

    as_built: tuple[Launch, ...] = ()
    relinked: tuple[Launch, ...] = ()
    counts: Counts = field(default_factory=dict)


def read_pairs(records: Iterable[PairRecord], suites: Sequence[Suite]) -> MeasuredPairs:
    """Read every pair of a build, once.

    Raises:
        BadResults: a record cannot be read.
    """
    as_built: list[Launch] = []
    relinked: list[Launch] = []
    counts: Counts = {}
    for record in records:
        (relinked if record.variant else as_built).extend(read_pair(record, suites))
        if (record.variant, record.pair) == (0, 0):
            counts = counts_in(decode(record.raw))
    return MeasuredPairs(tuple(as_built), tuple(relinked), counts)
