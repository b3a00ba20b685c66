"""The policy of a job: sizes, error rates and budgets that verdicts and votes use."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class VoteWhen(StrEnum):
    """What an undecided benchmark means for the vote."""

    PASS = "pass"
    NONE = "none"


class Layout(StrEnum):
    """Whether a small slow-down is measured again on programs that are linked in another order."""

    CONFIRM = "confirm"
    OFF = "off"


@dataclass(frozen=True, slots=True)
class Policy:
    """The sizes and budgets a verdict is made with; fractions, not percent; seconds."""

    floor: float = 0.01  # smaller differences come and go with code layout
    vote_at: float = 0.02  # a −1 should be worth a person's time
    same_within: float = 0.03  # the largest change that "same" may hide
    false_alarms: float = 0.01  # of a hundred unchanged patch sets at most one alarms
    machine_time: float = 600.0  # of one build on one machine, all suites together
    max_pairs: int = 32  # beyond, the interval shrinks too slowly to pay for the machine
    probation: int = 40  # A/A pairs before a series may vote; 0: off
    on_undecided: VoteWhen = VoteWhen.PASS
    on_nothing_to_build: VoteWhen = VoteWhen.PASS
    layout: Layout = Layout.CONFIRM
