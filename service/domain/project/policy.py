"""Configure a job's policy: thresholds, error rates and budgets of verdicts and votes."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Final

from service.domain.project.benchmark_names import BenchmarkName, entry_for
from service.domain.project.forms import OFF, Duration, Record, Share, about, after, before, whole

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable


BASE_PAIRS: Final = 32
"""The pairs after which only benchmarks that may still vote −1 continue."""
# Increased when the same pairs get another verdict, so that no sequence mixes two rules.
RULE: Final = 5


_LEAST_PAIRS: Final = 14  # fewer cannot prove a difference, even of a single benchmark
# A change that needs more pairs is smaller than effects of code layout.
MOST_PAIRS: Final = 1000
_MOST_FALSE_ALARMS: Final = 0.2  # beyond, a vote would mean nothing
ON_NOTHING: Final = "none: no vote if no voting job had to run"


class VoteWhen(StrEnum):
    """Effect on the vote of an undecided benchmark, or of jobs that had nothing to do."""

    PASS = "pass"
    NONE = "none"


class Layout(StrEnum):
    """Treatment of a small slow-down: measure it again on relinked programs, or let it vote."""

    CONFIRM = "confirm"
    OFF = "off"


def _false_alarms(share: float) -> float:
    if not 0 < share <= _MOST_FALSE_ALARMS:
        raise ValueError("allowed is more than 0 % and at most 20 %")
    return share


_PAIRS: Final = whole(_LEAST_PAIRS, MOST_PAIRS)
_PROBATION: Final = before(
    lambda value: 0 if value is False or value == "off" else value,
    type=["integer", "string"],
    pattern="^off$",
)


@dataclass(frozen=True, slots=True)
class Policy(Record):
    """Thresholds and budgets of verdicts; shares are fractions, and times are seconds."""

    # Smaller differences come and go with code layout.
    floor: Annotated[Share, about("slower and faster certainly exceed it; at most same_within")] = 0.01
    # A −1 must be worth a person's time.
    vote_at: Annotated[Share, about("slower votes -1 if the estimate reaches it")] = 0.02
    vote_at_of: Annotated[dict[BenchmarkName, Share], about("vote_at by name of benchmarks")] = field(
        default_factory=dict, hash=False
    )
    same_within: Annotated[Share, about("the largest change that same may hide")] = 0.03
    # At most one of a hundred patch sets without a slow-down gets a −1.
    false_alarms: Annotated[Share, after(_false_alarms), about("of a patch set; at most 20%")] = 0.01
    machine_time: Annotated[Duration, about("for measuring, all suites together")] = 600.0
    machine_time_of: Annotated[
        dict[BenchmarkName, Duration], about("the most of machine_time for a benchmark, by name")
    ] = field(default_factory=dict, hash=False)
    # By default machine_time ends measuring.
    max_pairs: Annotated[int, _PAIRS, about("the most pairs of launches")] = MOST_PAIRS
    # 0: off.
    probation: Annotated[int, whole(0, 10_000), _PROBATION, about("A/A pairs before a vote, or off")] = 40
    on_undecided: Annotated[VoteWhen, about("none: no +1 if a benchmark is undecided")] = VoteWhen.PASS
    on_nothing_to_build: Annotated[VoteWhen, about(ON_NOTHING)] = VoteWhen.PASS
    layout: Annotated[Layout, OFF, about("confirm: measure again on relinked programs")] = Layout.CONFIRM

    def votes_from(self, benchmark: str) -> float:
        """Return the least slow-down that votes, from the longest entry that covers the benchmark."""
        entry = entry_for(benchmark, self.vote_at_of)
        return self.vote_at if entry is None else self.vote_at_of[entry]

    def time_for(self, benchmark: str) -> float:
        """Return the machine-time limit, from the longest entry that covers the benchmark, or infinity."""
        entry = entry_for(benchmark, self.machine_time_of)
        return math.inf if entry is None else self.machine_time_of[entry]

    def renaming(self, renamed: Collection[tuple[str, str]], others: Iterable[str] = ()) -> Policy:
        """Apply to each renamed benchmark the entries of its former name, and keep those of all others.

        Otherwise a patch could choose an entry of the target branch by the new name, also for benchmarks
        whose names begin with it. Benchmarks of one name in different suites get the stricter values: the
        least threshold and the most machine time.

        Args:
            renamed: new and former names.
            others: the names of benchmarks that are not renamed.
        """
        if not (renamed and (self.vote_at_of or self.machine_time_of)):
            return self
        new_names = {new for new, _ in renamed}
        # The former names are included, so that a second application changes nothing.
        named = (*others, *(old for _, old in renamed))
        covered = [name for name in named if entry_for(name, new_names) is not None]
        sizes = {name: self.votes_from(name) for name in covered}
        times = {name: self.time_for(name) for name in covered}
        for new, old in renamed:
            sizes[new] = min(self.votes_from(old), sizes.get(new, math.inf))
            times[new] = max(self.time_for(old), times.get(new, 0.0))
        return replace(
            self,
            vote_at_of={**self.vote_at_of, **sizes} if self.vote_at_of else {},
            machine_time_of={**self.machine_time_of, **times} if self.machine_time_of else {},
        )

    @property
    def base_pairs(self) -> int:
        """The pairs that each undecided benchmark gets if the machine time suffices."""
        return min(self.max_pairs, BASE_PAIRS)
