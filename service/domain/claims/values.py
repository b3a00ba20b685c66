"""Define tables, their rows and the claims of a commit message; and why a table is refused."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

# Rows of aggregates have these suffixes, as in BM_a_mean. Only levels are claims.
LEVELS: Final = ("mean", "median")
SCATTERS: Final = ("stddev", "cv")


class Role(StrEnum):
    """Side that a table shows."""

    BEFORE = "before"
    BASELINE = "baseline"  # before, with a name of its own
    AFTER = "after"
    VARIANT = "variant"  # one of several that are compared with the same table
    SINGLE = "single"  # compared with nothing

    @property
    def is_base(self) -> bool:
        """Return whether other tables are compared with this one."""
        return self in {Role.BEFORE, Role.BASELINE}


@dataclass(frozen=True, slots=True)
class Row:
    """A row as it is printed: times in ``time_unit``, which is ``%`` for a coefficient of variation.

    ``counters`` have no prefix; rates are those named ``items_per_second`` and ``bytes_per_second``.
    ``rounding`` has, for each time and counter, how far the logarithm of the true value may be from that of
    the printed one.
    """

    line: int
    name: str
    time_unit: str
    times: Mapping[str, float]
    iterations: int | None = None
    counters: Mapping[str, float] = field(default_factory=dict)
    label: str | None = None
    aggregate: str | None = None
    rounding: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Table:
    """Rows that belong together.

    Attributes:
        heading: line of text before them, if any.
        names_place: the text before names a machine, a compiler, a build or threads.
        names_cause: the text before says what the change does.
        cpus: of the machine, if the message has their number.
    """

    heading: str | None
    role: Role
    rows: tuple[Row, ...]
    names_place: bool = False
    names_cause: bool = False
    cpus: int | None = None


@dataclass(frozen=True, slots=True)
class Claim:
    """One metric of a benchmark on two sides, on the line of the new value.

    Attributes:
        ratio: new value by old value, as precise as it is printed; None if the old one is 0.
        unit: of times; empty for rates and counters, and for times that are printed without one; ``%`` if a
            sentence has only the change, so the old value is 100.
        table: index of the table of the new values, if each side has a table of its own.
        is_other_variant: that table shows another variant than the patch set.
        rounding: how far the logarithm of the true ratio may be from that of ``ratio``, because values are
            printed with few digits; infinite if a value is printed as 0.
    """

    line: int
    benchmark: str
    metric: str
    before: float
    after: float
    ratio: float | None
    unit: str = ""
    before_label: str = ""
    after_label: str = ""
    table: int | None = None
    is_other_variant: bool = False
    rounding: float = 0.0

    def contradicts(self, other: Claim) -> bool:
        """Return whether both ratios cannot be true, however they are rounded."""
        if not self.ratio or not other.ratio:
            return self.ratio != other.ratio
        return abs(math.log(self.ratio / other.ratio)) > self.rounding + other.rounding


@dataclass(frozen=True, slots=True)
class NearName:
    """A measured benchmark that a claim may mean; ``differs`` has words such as `fixture` and `threads`."""

    benchmark: str
    differs: tuple[str, ...]


class Fault(StrEnum):
    """Reason to refuse a table, or the comparison of two tables."""

    TOO_LONG = "too long to be read"
    HIDDEN_CHARACTERS = "the table has invisible characters, so it may not show what it says"
    REVERTED = "a message that reverts a change may show the table of that change"
    QUOTED = "the table is quoted in part, or quoted from a quote"
    NOT_A_NUMBER = "a finite number of at least 0 is expected here"
    TOO_LARGE = "the number is too large"
    TWO_UNITS = "the values have two units"
    NO_UNIT = "the unit is missing or unknown"
    PREFIX = "without the titles of the columns, a prefix may mean 1000 or 1024"
    NOT_ALIGNED = "the row does not have the columns of the table"
    BAD_NAME = "the row does not begin with the name of a benchmark"
    REPEATED = "this stands here twice, and may mean either"
    UNKNOWN_COLUMN = "the meaning of a column is unknown"
    CONTRADICTION = "the change contradicts the old and new values"
    FAILED_TEST = "the test did not pass, so its time says nothing"
    OTHER_MACHINE = "the two tables come from machines with different numbers of CPUs"
    OTHER_CONDITIONS = "more than the change may differ: the headings name a phase, place, build or number"
    TWO_BASES = "two tables may be the one to compare with"
    STEP = "the table may show one of several squashed commits"
    OTHER_BASE = "the text may not compare with the code before the change"


@dataclass(frozen=True, slots=True)
class Refusal:
    """A table or comparison that is not read; ``detail`` is untrusted text from ``line``."""

    line: int
    fault: Fault
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Found:
    """Tables and claims of a commit message, in its order, and what was refused."""

    tables: tuple[Table, ...] = ()
    claims: tuple[Claim, ...] = ()
    refused: tuple[Refusal, ...] = ()


class Unreadable(Exception):
    """A table cannot be read safely; never leaves this room."""

    def __init__(self, fault: Fault, detail: str = "") -> None:
        super().__init__(fault, detail)
        self.fault, self.detail = fault, detail
