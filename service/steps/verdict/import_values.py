"""Import a result file of a commit that was measured before Benchgate came."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from service.domain.measuring.formats.reader import read_run
from service.domain.measuring.metric import metric_named
from service.domain.values.errors import BadInput, BadResults
from service.domain.verdict.trend.imported import ImportedValue, values_of

if TYPE_CHECKING:
    from datetime import datetime

    from service.domain.values.identity import SeriesKey
    from service.ports.store import Store
    from service.steps.verdict.compare_files import ResultFile

_COMMIT: Final = re.compile(r"[0-9a-f]{7,64}")


@dataclass(frozen=True, slots=True)
class Imported:
    """Counts of a file's values and of those that are new or differ, and the reader's warnings."""

    values: int
    news: int
    warnings: tuple[str, ...]


def import_values(store: Store, of: SeriesKey, commit: str, moment: datetime, file: ResultFile) -> Imported:
    """Store the values of a file, all or none; a file that is imported again changes nothing.

    ``of`` is the key of the series without benchmark and metric.

    Raises:
        BadInput: the commit is no hash.
        BadResults: the file is unusable, or has no measurement.
    """
    if not _COMMIT.fullmatch(commit):
        raise BadInput("a commit has 7 to 64 hexadecimal digits", file.name)
    run = read_run(file.data, source=file.name)
    values = {
        replace(of, benchmark=benchmark, metric=metric): ImportedValue(commit, moment, value)
        for benchmark, metric, value in values_of(run)
    }
    if not values:
        raise BadResults("it has no single measurement; statistics over repetitions are not read", file.name)
    metrics = {key: metric_named(key.metric) for key in values}
    series = {key: (metric.unit, metric.better.value) for key, metric in metrics.items()}
    with store.transaction() as tx:
        news = tx.imported.store_imported(series, values)
    return Imported(len(values), news, tuple(map(str, run.warnings)))
