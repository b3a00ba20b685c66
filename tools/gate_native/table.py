"""Format a patch set's builds: when each ran, for how long, on which machine, and its result."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from service.domain.values.text import plain

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from service.ports.runs.shown import BuildOfRun

_TITLES: Final = ("job", "kind", "machine", "start", "time", "result", "first cause")
_LONGEST: Final = 100


def table(builds: Sequence[BuildOfRun], begun: datetime) -> list[str]:
    """Format the builds in the order in which they started; ``begun`` is the moment of the upload."""
    rows = [_TITLES, *(_row(build, begun) for build in sorted(builds, key=_start))]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]


def _row(build: BuildOfRun, begun: datetime) -> tuple[str, ...]:
    start, end = _start(build), build.finished_at
    return (
        build.job,
        build.kind,
        build.machine or "another CI",
        _minutes((start - begun).total_seconds()),
        _minutes((end - start).total_seconds()) if end else "",
        build.outcome or build.phase or build.state,
        plain(build.causes[0], _LONGEST) if build.causes else "",
    )


def _start(build: BuildOfRun) -> datetime:
    return build.started_at or build.created_at


def _minutes(seconds: float) -> str:
    minutes, rest = divmod(round(max(0.0, seconds)), 60)
    return f"{minutes}:{rest:02}"
