"""The samples of one launch of a program: one process of one side."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from service.domain.measuring.clock import may_join, real_per_cpu
from service.domain.measuring.metric import RATES, metric_named

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from service.domain.measuring.formats.reader import GBenchRun, ResultRow
    from service.domain.project.benchmark import Suite
    from service.domain.values.identity import Side


SECOND: Final = 9  # the variant of its pairs in the record: no relink, the programs as built again


@dataclass(frozen=True, slots=True)
class Launch:
    """One process of one side: a robust value per benchmark and metric, and the errors it reported.

    ``pair`` is its number among the pairs of its variant. ``real_per_cpu``: by benchmark, see
    ``real_per_cpu``. ``varying``: the benchmarks and metrics of which
    the repetitions differ. ``lost``: by benchmark why a measurement of it cannot be used. ``timed``: by
    benchmark the seconds of all its repetitions.
    """

    pair: int
    side: Side
    suite: str
    values: Mapping[str, Mapping[str, float]]
    errors: Mapping[str, str]
    warnings: tuple[str, ...] = ()  # of the reader, each naming file and row
    is_disturbed: bool = False  # other work took much of its CPUs
    is_kept_in_place: bool = False  # its program was not copied anew for the pair
    real_per_cpu: Mapping[str, float] = field(default_factory=dict)
    varying: frozenset[tuple[str, str]] = frozenset()
    lost: Mapping[str, str] = field(default_factory=dict)
    seconds: float = 0.0  # that it took
    timed: Mapping[str, float] = field(default_factory=dict)
    variant: int = 0  # of its program: 0 as the project links it, else a relink

    def ran(self, benchmark: str) -> bool:
        """Return whether a benchmark ran in this launch and reported a result or an error."""
        return benchmark in self.values or benchmark in self.errors or benchmark in self.lost


_ALWAYS_READ: Final = ("cpu_time", "real_time", *RATES)


_WARNINGS: Final = 3  # of one launch that are kept; all are in the stored output


def read_launch(pair: int, side: Side, suite: Suite, run: GBenchRun, *, joins: bool = True) -> Launch:
    """Reduce the output of a launch to one robust value per benchmark and metric: the best repetition.

    Both times and the rates are read too, whatever is compared: they show time that a clock does not count,
    and whether an iteration does the same work. ``joins``: whether real time may join a benchmark whose clock
    is CPU time.
    """
    measured = [row for row in run.rows if row.is_measured]
    values: Mapping[str, Mapping[str, float]] = {row.name: row.values for row in measured}
    varying: frozenset[tuple[str, str]] = frozenset()
    if len(values) < len(measured):
        values, varying = _best_repetitions(measured, suite)
    timed: dict[str, float] = {}
    for row in measured:
        timed[row.name] = timed.get(row.name, 0.0) + row.values["real_time"] * row.iterations
    threads = {row.name: row.threads for row in measured if joins and may_join(row.name)}
    return Launch(
        pair=pair,
        side=side,
        suite=suite.name,
        values=values,
        errors={row.name: row.error for row in run.rows if row.error is not None},
        warnings=tuple(map(str, run.warnings[:_WARNINGS])),
        real_per_cpu={
            name: real_per_cpu(name, count, values[name]["real_time"], values[name]["cpu_time"], run.context)
            for name, count in threads.items()
        },
        varying=varying,
        lost=run.lost,
        timed=timed,
    )


def _best_repetitions(
    rows: Iterable[ResultRow], suite: Suite
) -> tuple[Mapping[str, Mapping[str, float]], frozenset[tuple[str, str]]]:
    """Map benchmark and metric to the best value, and list those whose repetitions differ."""
    repetitions: defaultdict[str, list[Mapping[str, float]]] = defaultdict(list)
    for row in rows:
        repetitions[row.name].append(row.values)
    metrics = [
        metric_named(name, suite.higher_is_better) for name in dict.fromkeys((*_ALWAYS_READ, *suite.metrics))
    ]
    best: dict[str, dict[str, float]] = {}
    varying: list[tuple[str, str]] = []
    for name, found in repetitions.items():
        best[name] = {}
        for metric in metrics:
            values = {each[metric.name] for each in found if metric.name in each}
            if values:
                best[name][metric.name] = metric.best(values)
            if len(values) > 1:
                varying.append((name, metric.name))
    return best, frozenset(varying)
