"""Reduce the output of a launch to one value for each benchmark and metric."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from service.domain.measuring.formats.reader import is_written_since
from service.domain.measuring.metric import RATES, is_process_clock, may_join, metric_named

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from service.domain.measuring.formats.reader import GBenchRun, ResultRow
    from service.domain.project.benchmark import Suite
    from service.domain.values.identity import Side


SECOND: Final = 9  # variant of the second opinion's pairs in the record: the programs as built, again
ITSELF: Final = 16  # variant of the control's pairs: the parent on both sides


class Preempted(NamedTuple):
    """A launch whose CPUs others used.

    ``waits``: how often its processes gave up their CPU to wait. ``others``: share of its CPUs' time that
    other programs and the host of a virtual machine used.
    """

    waits: int
    others: float


@dataclass(frozen=True, slots=True)
class Launch:
    """One process of one side: a robust value for each benchmark and metric, and the errors it reported.

    ``pair`` counts within the variant. By benchmark, ``real_per_cpu`` is what the function of that name
    computes, ``lost`` is why a measurement is unusable, and ``timed`` has the seconds of all repetitions.
    ``varying`` lists the benchmarks and metrics with repetitions that differ.
    """

    pair: int
    side: Side
    suite: str
    values: Mapping[str, Mapping[str, float]]
    errors: Mapping[str, str]
    warnings: tuple[str, ...] = ()  # of the reader, with file and row
    is_disturbed: bool = False  # other work used much of its CPUs
    is_kept_in_place: bool = False  # the program was not copied for the pair
    real_per_cpu: Mapping[str, float] = field(default_factory=dict)
    varying: frozenset[tuple[str, str]] = frozenset()
    lost: Mapping[str, str] = field(default_factory=dict)
    seconds: float = 0.0
    timed: Mapping[str, float] = field(default_factory=dict)
    variant: int = 0  # 0: the program as the project links it; SECOND, ITSELF, or else a relink
    is_built_again: bool = False  # the build commands made the relink, perhaps of other code
    machine: str = ""  # that measured it; empty if a previous version recorded it

    def renamed(self, new: Mapping[str, str]) -> Launch:
        """Rename benchmarks; ``new`` maps the old names."""
        by_benchmark: dict[str, Any] = {
            each: {new.get(name, name): value for name, value in getattr(self, each).items()}
            for each in _BY_BENCHMARK
        }
        varying = frozenset((new.get(name, name), metric) for name, metric in self.varying)
        return replace(self, varying=varying, **by_benchmark)

    def joined(self, other: Launch) -> Launch:
        """Join the launch of another group of the same suite, side and pair."""
        by_benchmark: dict[str, Any] = {
            each: {**getattr(self, each), **getattr(other, each)} for each in _BY_BENCHMARK
        }
        return replace(
            self,
            warnings=self.warnings + other.warnings,
            is_disturbed=self.is_disturbed or other.is_disturbed,
            seconds=self.seconds + other.seconds,
            varying=self.varying | other.varying,
            **by_benchmark,
        )

    def ran(self, benchmark: str) -> bool:
        """Return whether a benchmark ran in this launch and reported a result or an error."""
        return benchmark in self.values or benchmark in self.errors or benchmark in self.lost


_BY_BENCHMARK: Final = ("values", "errors", "real_per_cpu", "lost", "timed")
_ALWAYS_READ: Final = ("cpu_time", "real_time", *RATES)
_TIMES_UNDIVIDED_SINCE: Final = (1, 9, 0)
_WARNINGS: Final = 3  # kept of a launch; the stored output has all


def read_launch(
    pair: int,
    side: Side,
    suite: Suite,
    run: GBenchRun,
    *,
    joins: bool = True,
    preempted: Preempted | None = None,
) -> Launch:
    """Reduce the output of a launch to the best repetition of each benchmark and metric.

    Both times and the rates are always read: they show time that a clock does not count, and changes of the
    work per iteration. ``joins``: real time may join a benchmark that is judged by CPU time. With
    ``preempted``, real time without that of others counts for benchmarks that cannot have waited.
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
    repetitions = Counter(row.name for row in measured)
    return Launch(
        pair=pair,
        side=side,
        suite=suite.name,
        values=values,
        errors={row.name: row.error for row in run.rows if row.error is not None},
        warnings=tuple(map(str, run.warnings[:_WARNINGS])),
        real_per_cpu={
            name: _without_others(
                real_per_cpu(name, count, values[name]["real_time"], values[name]["cpu_time"], run.context),
                repetitions[name],
                preempted,
            )
            for name, count in threads.items()
        },
        varying=varying,
        lost=run.lost,
        timed=timed,
    )


def real_per_cpu(benchmark: str, threads: int, real: float, cpu: float, context: Mapping[str, str]) -> float:
    """Compute the real seconds of a benchmark's threads per second of CPU time that its clock counted.

    1.0 if each thread computes all the time. Google Benchmark sums both times over the threads and
    divides them by the iterations of all threads. Before version 1.9.0 it then divides real time by the
    number of threads, and with ``MeasureProcessCPUTime()`` CPU time too; since 1.9.0 neither, so that
    such a benchmark counts the CPU time of the whole process once for each thread.

    Args:
        benchmark: its name; with a part ``process_time``, CPU time is that of the whole process.
        threads: their number.
        real: seconds, as reported.
        cpu: seconds, as reported; above 0.
        context: of the file; it names the library's version from 1.8.4 on.
    """
    is_undivided = is_written_since(context, _TIMES_UNDIVIDED_SINCE)
    is_scaled = is_process_clock(benchmark) or not is_undivided
    return real / cpu * (threads if is_scaled else 1)


def _without_others(quotient: float, repetitions: int, preempted: Preempted | None) -> float:
    """Leave out the time of others, unless the benchmark may have waited meanwhile.

    With fewer waits than repetitions, one repetition waited for nothing, and the best one counts.
    """
    if preempted is None or preempted.waits >= repetitions:
        return quotient
    return min(quotient, max(1.0, quotient * (1.0 - preempted.others)))


def _best_repetitions(
    rows: Iterable[ResultRow], suite: Suite
) -> tuple[Mapping[str, Mapping[str, float]], frozenset[tuple[str, str]]]:
    """Find the best value of each benchmark and metric, and those that differ between repetitions."""
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
