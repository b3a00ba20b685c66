"""Read from an address how trends are drawn: every control is a part of it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, Final, NamedTuple

from fastapi import Query
from pydantic import Field

if TYPE_CHECKING:
    from collections.abc import Mapping


class Control(NamedTuple):
    """A choice of one of ``values``, which have the texts of their links."""

    label: str
    values: Mapping[str, str]
    default: str


_RANGES: Final[Mapping[str, timedelta | None]] = MappingProxyType(
    {"30d": timedelta(30), "90d": timedelta(90), "1y": timedelta(365), "all": None}
)
# By their names in an address. 90 days are about as long as a release takes: what creeps by 1 % a week is
# seen, and a step of last week still is.
CONTROLS: Final[Mapping[str, Control]] = MappingProxyType(
    {
        "range": Control("How far back", {"30d": "30 d", "90d": "90 d", "1y": "1 y", "all": "All"}, "90d"),
        "shown": Control(
            "What is drawn", {"change": "Change since a commit", "values": "Measured values"}, "change"
        ),
        "by": Control("Order", {"date": "By date", "commit": "By commit"}, "date"),
        "axis": Control("Axis", {"linear": "Linear", "log": "Logarithmic"}, "linear"),
    }
)
MOST_SERIES: Final = 6  # each needs a colour, a shape and a dash of its own
MOST_POINTS: Final = 10_000  # of merged commits, and as many of patch sets, in all series of a figure
_LARGEST: Final = (1 << 63) - 1
SeriesId = Annotated[int, Field(ge=1, le=_LARGEST)]
SeriesIds = Annotated[list[SeriesId], Query(max_length=MOST_SERIES)]
OtherIds = Annotated[list[SeriesId], Query(max_length=MOST_SERIES - 1)]  # beside the one of the path


@dataclass(frozen=True, slots=True)
class TrendView:
    """The controls of a figure of trends.

    Args:
        range: how far back from the newest point.
        shown: changes since a commit, or measured values.
        by: whether the points are placed by the date of their measurement, or one after the other.
        axis: of the heights.
        since: the revision that changes are relative to; empty or unknown: the oldest one.
        until: later points are left out.
    """

    range: str = CONTROLS["range"].default
    shown: str = CONTROLS["shown"].default
    by: str = CONTROLS["by"].default
    axis: str = CONTROLS["axis"].default
    since: str = ""
    until: datetime | None = None

    @property
    def within(self) -> timedelta | None:
        """The age of the oldest point, before the newest one; None: any."""
        return _RANGES[self.range]

    @property
    def query(self) -> dict[str, str]:
        """The parts of the address that are not as they are without them."""
        given = {name: getattr(self, name) for name in CONTROLS}
        until = self.until and self.until.astimezone(UTC).isoformat(timespec="microseconds")
        return {
            **{name: value for name, value in given.items() if value != CONTROLS[name].default},
            **({"since": self.since} if self.since else {}),
            **({"until": until.replace("+00:00", "Z")} if until else {}),
        }


def _one_of(name: str) -> Any:  # noqa: ANN401 - what FastAPI returns
    return Query(alias=name, pattern=f"^({'|'.join(CONTROLS[name].values)})$")


def view_of(
    range_: Annotated[str, _one_of("range")] = CONTROLS["range"].default,
    shown: Annotated[str, _one_of("shown")] = CONTROLS["shown"].default,
    by: Annotated[str, _one_of("by")] = CONTROLS["by"].default,
    axis: Annotated[str, _one_of("axis")] = CONTROLS["axis"].default,
    since: Annotated[str, Query(pattern="^[0-9a-f]{0,64}$")] = "",
    until: Annotated[datetime | None, Query()] = None,
) -> TrendView:
    """Read the view from the address of a request."""
    end = until.replace(tzinfo=UTC) if until is not None and until.tzinfo is None else until
    return TrendView(range_, shown, by, axis, since, end)
