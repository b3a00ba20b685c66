"""Import a result file of a commit that was measured before Benchgate came."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from service.domain.measuring.formats.reader import read_run
from service.domain.measuring.metric import metric_named
from service.domain.values.errors import BadInput, BadResults
from service.domain.values.text import plain
from service.domain.verdict.trend.imported import ImportedValue, values_of

if TYPE_CHECKING:
    from service.domain.measuring.formats.reader import GBenchRun
    from service.domain.values.identity import SeriesKey
    from service.ports.store import Store
    from service.steps.verdict.compare_files import ResultFile

_COMMIT: Final = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_EARLIEST: Final = datetime(1990, 1, 1, tzinfo=UTC)  # an earlier date is a mistake, such as 0 seconds
_AHEAD: Final = timedelta(days=1)  # a clock or a time zone may be wrong by this


@dataclass(frozen=True, slots=True)
class Imported:
    """Counts of an import, and the warnings of the reader.

    Args:
        values: in the file, each of one series.
        changes: values that are new, differ, or were imported of the commit and are not in the file.
        measured: series that Benchgate measures.
    """

    values: int
    changes: int
    measured: int
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class OldCommit:
    """A commit and when it came to the branch; ``position`` orders those of one moment."""

    id: str
    moment: datetime
    position: int = 0


def import_values(
    store: Store, of: SeriesKey, commit: OldCommit, file: ResultFile, *, is_new: bool = False
) -> Imported:
    """Store the values of a file instead of what was imported of its commit; all or nothing.

    Args:
        store: where to.
        of: the key of the series without benchmark and metric.
        commit: the file's.
        file: of Google Benchmark.
        is_new: the series need not be measured.

    Raises:
        BadInput: the commit is no hash, or none of the series is measured.
        BadResults: the file is unusable, incomplete, or has no measurement.
    """
    check_commit(commit.id, file.name)
    run = _read(file)
    values = {
        replace(of, benchmark=benchmark, metric=metric): ImportedValue(
            commit.id, commit.moment, value, commit.position
        )
        for benchmark, metric, value in values_of(run)
    }
    if not values:
        raise BadResults("it has no single measurement; statistics over repetitions are not read", file.name)
    metrics = {key: metric_named(key.metric) for key in values}
    series = {key: (metric.unit, metric.better.value) for key, metric in metrics.items()}
    with store.transaction() as tx:
        measured = tx.imported.count_measured(values)
        if not (measured or is_new):
            what = (
                f"Benchgate has measured none of its {len(values)} series: check project, branch, job, suite"
            )
            raise BadInput(f"{what} and machine class, or give --new", file.name)
        changes = tx.imported.replace_imported(of, commit.id, series, values)
    return Imported(len(values), changes, measured, tuple(map(str, run.warnings)))


def remove_values(store: Store, of: SeriesKey, commit: str = "") -> int:
    """Remove the imported values of one commit, or of all; return how many there were.

    Raises:
        BadInput: the commit is no hash.
    """
    if commit:
        check_commit(commit, "--commit")
    with store.transaction() as tx:
        return tx.imported.remove_imported(of, commit)


def check_commit(commit: str, place: str) -> None:
    """Raise BadInput for a commit that lacks digits: a short one might be imported twice."""
    if not _COMMIT.fullmatch(commit):
        raise BadInput("a commit has 40 or 64 hexadecimal digits", place)


def moment_of(text: str, place: str, now: datetime) -> datetime:
    """Read a date as a moment in UTC; without a time zone it is UTC already.

    Raises:
        BadInput: it is no date, before 1990, or later than tomorrow.
    """
    try:
        given = datetime.fromisoformat(text)
        moment = given.astimezone(UTC) if given.tzinfo else given.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        what = f"{plain(text, 40)!r} is no date such as 2026-01-31 or 2026-01-31T12:00Z"
        raise BadInput(what, place) from None
    if not _EARLIEST <= moment <= now + _AHEAD:
        raise BadInput(f"{plain(text, 40)!r} is before 1990 or later than tomorrow", place)
    return moment


def _read(file: ResultFile) -> GBenchRun:
    run = read_run(file.data, source=file.name)
    if run.damage:
        raise BadResults(run.damage, file.name)
    if run.is_cut:
        raise BadResults("it has more rows than are read", file.name)
    return run
