"""Read from an address how trends are drawn: every control is a part of it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Final, Literal

from fastapi import Query
from pydantic import Field

if TYPE_CHECKING:
    from collections.abc import Mapping

RANGES: Final[Mapping[str, timedelta | None]] = MappingProxyType(
    {"30d": timedelta(30), "90d": timedelta(90), "1y": timedelta(365), "all": None}
)
# About as long as a release takes: what creeps by 1 % a week is seen, and a step of last week still is.
RANGE: Final = "90d"
MOST_SERIES: Final = 6  # each needs a colour, a shape and a dash of its own
MOST_POINTS: Final = 100_000  # of each kind, of all series of a figure together
_LARGEST: Final = (1 << 63) - 1
SeriesId = Annotated[int, Field(ge=1, le=_LARGEST)]
SeriesIds = Annotated[list[SeriesId], Query(max_length=MOST_SERIES)]
OtherIds = Annotated[list[SeriesId], Query(max_length=MOST_SERIES - 1)]  # beside the one of the path


@dataclass(frozen=True, slots=True)
class TrendView:
    """The controls of a figure of trends.

    Args:
        range: how far back from the newest point, as in ``RANGES``.
        by: whether the points are placed by the date of their measurement, or one after the other.
        axis: of the heights.
        shown: changes since a commit, or measured values.
        since: the revision that changes are relative to; empty or unknown: the oldest one.
        until: later points are left out.
    """

    range: str = RANGE
    by: str = "date"
    axis: str = "linear"
    shown: str = "change"
    since: str = ""
    until: datetime | None = None

    @property
    def within(self) -> timedelta | None:
        """The age of the oldest point, before the newest one; None: any."""
        return RANGES[self.range]

    @property
    def query(self) -> dict[str, str]:
        """The parts of the address that are not as they are without them."""
        given = {
            "range": self.range if self.range != RANGE else "",
            "by": self.by if self.by != "date" else "",
            "axis": self.axis if self.axis != "linear" else "",
            "shown": self.shown if self.shown != "change" else "",
            "since": self.since,
            "until": "" if self.until is None else self.until.strftime("%Y-%m-%dT%H:%M:%SZ"),
        }
        return {name: value for name, value in given.items() if value}


def view_of(
    range_: Annotated[Literal["30d", "90d", "1y", "all"], Query(alias="range")] = RANGE,
    by: Annotated[Literal["date", "commit"], Query()] = "date",
    axis: Annotated[Literal["linear", "log"], Query()] = "linear",
    shown: Annotated[Literal["change", "values"], Query()] = "change",
    since: Annotated[str, Query(pattern="^[0-9a-f]{0,64}$")] = "",
    until: Annotated[datetime | None, Query()] = None,
) -> TrendView:
    """Read the view from the address of a request."""
    end = until.replace(tzinfo=UTC) if until is not None and until.tzinfo is None else until
    return TrendView(range_, by, axis, shown, since, end)
