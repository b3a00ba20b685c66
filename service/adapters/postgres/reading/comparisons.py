"""Comparisons and their samples."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import text

from service.adapters.postgres.rows import from_row
from service.domain.errors import NotFound
from service.domain.inference.reasons import Reason
from service.domain.wording.reasons import text_of
from service.ports.views import Comparison, Samples

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from sqlalchemy import Connection, RowMapping

# The columns of a comparison k of the series s, wherever one is read.
COMPARED: Final = "k.verdict, k.pairs, k.ratio, k.low, k.high, k.base, k.patch"
COMPARISON: Final = (
    f"{COMPARED}, k.reason, k.reasons, k.series_id, s.suite, s.benchmark, s.metric, s.unit, s.better"
)
# measured_at is given as a value in both queries: with it the planner opens one partition only.
_COMPARISONS: Final = text(f"""
SELECT {COMPARISON}
FROM comparison AS k JOIN series AS s ON s.id = k.series_id
WHERE k.build_id = :build_id AND k.measured_at = :measured_at
ORDER BY k.position, k.series_id
""")  # noqa: S608 - put together from constants
_SAMPLES: Final = text("""
SELECT r.side, r.samples, r.series_id, s.suite, s.benchmark, s.metric, s.unit, s.better
FROM result AS r JOIN series AS s ON s.id = r.series_id
WHERE r.build_id = :build_id AND r.measured_at = :measured_at AND r.series_id = :series_id
""")


def comparison_of(row: RowMapping) -> Comparison:
    """Build a comparison from a row of the columns :data:`COMPARISON`."""
    return from_row(Comparison, row, reason=_reason(row["reasons"], row["reason"]))


def _reason(stored: Sequence[Mapping[str, Any]] | None, text: str) -> str:
    """Word typed reasons; the text is of a version that stored no others."""
    try:
        return text_of(map(Reason.from_mapping, stored)) if stored else text
    except ValueError:  # a kind of a later version, which also stored its sentence
        return text


def comparisons_of(connection: Connection, build_id: int, measured_at: datetime) -> Sequence[Comparison]:
    """Return the comparisons of a build in their order."""
    rows = connection.execute(_COMPARISONS, {"build_id": build_id, "measured_at": measured_at}).mappings()
    return [comparison_of(row) for row in rows]


def samples_of(connection: Connection, build_id: int, measured_at: datetime, series_id: int) -> Samples:
    """Return both sides' samples; a side that measured nothing is empty."""
    keys = {"build_id": build_id, "measured_at": measured_at, "series_id": series_id}
    rows = connection.execute(_SAMPLES, keys).mappings().all()
    if not rows:
        raise NotFound(f"the build holds no samples of series {series_id}")
    sides: dict[int, tuple[float | None, ...]] = {row["side"]: tuple(row["samples"]) for row in rows}
    return from_row(Samples, rows[0], base=sides.get(0, ()), patch=sides.get(1, ()))
