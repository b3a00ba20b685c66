"""Fill a database through the store, as the steps do: plan, analyse, decide."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

import numpy as np
from sqlalchemy import text

from dashboards.verdict.trend_view import MOST_POINTS
from service.domain.building.spec import BuildSpec, Revision
from service.domain.project.project_file import parse_project_file
from service.domain.review.change import Change, ChangeStatus, PatchSet, Person
from service.domain.runs.states import RunState
from service.domain.runs.vote import Outcome
from service.domain.trunk.regression import GateSaid, RegressionState
from service.domain.values.identity import ChangeKey, RunKind, SeriesKey, Side, digest_of
from service.domain.verdict.inference.estimate import estimate
from service.domain.verdict.inference.reasons import Reason, ReasonKind
from service.domain.verdict.inference.verdict import Verdict
from service.ports.runs.builds import NewBuild
from service.ports.runs.decisions import NewDecision
from service.ports.runs.runs import NewRun
from service.ports.verdict import StoredComparison, StoredResult

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlalchemy import Engine

    from service.adapters.postgres.store import PostgresStore
    from service.domain.project.job import Job

BENCHMARKS: Final = 500
SAMPLES: Final = 16
SIDES: Final = 2
LONG_BUILDS: Final = MOST_POINTS
LONG_BENCHMARKS: Final = 5
DAYS: Final = 360
TAKEN: Final = timedelta(minutes=10)  # from a run's beginning to its end
CHANGES_IN_ALL: Final = 500  # at least, for the days between them
WIDE: Final = "engine-perf"  # a job of many benchmarks
LONG: Final = "nightly-perf"  # a job with a long history
_FILE: Final = f"""
version: 1
jobs:
  {WIDE}:
    kind: benchmark
    build: {{configure: cmake --preset measure, compile: cmake --build --preset measure}}
    suites: [{{name: executor, program: build/measure/executor_benchmark, metrics: [items_per_second]}}]
    policy: {{floor: 1%, vote_at: 2%, machine_time: 10m, probation: off}}
  {LONG}:
    kind: benchmark
    suites: [{{name: executor, program: build/measure/executor_benchmark}}]
"""
_JOBS: Final = parse_project_file(_FILE)
_LAUNCHES: Final = text("""
INSERT INTO launch (sequence_id, variant, pair, suite, side, build_id, artifact, facts)
SELECT sequence_id, 0, pair, 'executor', side, id, '', '{"seconds": 4.5, "exit_code": 0}'
FROM build CROSS JOIN generate_series(0, :pairs - 1) AS pair CROSS JOIN unnest(ARRAY['base', 'patch']) AS side
WHERE id = :build
ON CONFLICT DO NOTHING -- a merged commit goes on with the pairs of its check
""")
_FOUND: Final = text("UPDATE regression SET found_at = :moment WHERE run_id = :run")
_AUTHOR: Final = Person("Robin Hale", "robin@example.com", "robin")
_CAUSES: Final = tuple(
    f"{k} of {BENCHMARKS} results are slower; worst: ExecutorBench/Schedule/{k}/real_time/threads:4 "
    "items/s −12.3 % [−13.1, −11.4], 16 pairs on perf-01"
    for k in range(1, 6)
)


@dataclass(frozen=True, slots=True)
class Filled:
    """One stored build: the number of its results, and the seconds of all its transactions."""

    results: int
    seconds: float


@dataclass(slots=True)
class Filler:
    """Add changes and their builds, older ones first, and count what was stored."""

    store: PostgresStore
    engine: Engine
    begin: datetime = field(default_factory=lambda: datetime.now(UTC) - timedelta(days=DAYS))
    noise: np.random.Generator = field(default_factory=lambda: np.random.default_rng(20))
    results: int = 0
    changes: int = 0
    tips: dict[str, str] = field(default_factory=dict)  # the newest merged commit by job

    def prepare(self) -> None:
        """Create the partitions that a service of that age would have created over time."""
        with self.engine.begin() as connection:
            connection.execute(
                text("SELECT ensure_partitions(:day, :months)"),
                {"day": self.begin.date(), "months": DAYS // 30 + 1},
            )

    def add_long_history(self) -> list[Filled]:
        """Add nightly builds of a few benchmarks: the series that are read far back."""
        step = timedelta(days=DAYS) / LONG_BUILDS
        return [
            self._add_build(LONG, RunKind.POST_SUBMIT, f"9{k:039x}", None, self.begin + k * step)
            for k in range(LONG_BUILDS)
        ]

    def fill_to(self, results: int) -> list[Filled]:
        """Add changes, each checked and then measured again on its branch, until ``results`` are stored.

        They are spread over all days, so that the last month has its share of them.
        """
        done: list[Filled] = []
        in_all = max(CHANGES_IN_ALL, results // (2 * SIDES * BENCHMARKS))
        while self.results < results:
            done += self.add_change(self.begin + timedelta(days=DAYS) / in_all * (self.changes + 1))
        return done

    def add_change(self, moment: datetime) -> list[Filled]:
        """Add a change that was checked at that time, and measured again on its branch half an hour later."""
        self.changes += 1
        done = []
        for kind, status in ((RunKind.CHECK, "NEW"), (RunKind.POST_SUBMIT, "MERGED")):
            change = _change(self.changes, ChangeStatus(status), moment)
            done.append(self._add_build(WIDE, kind, change.current.revision, change, moment))
            moment += timedelta(minutes=30)
        return done

    def _add_build(
        self, job: str, kind: RunKind, revision: str, change: Change | None, moment: datetime
    ) -> Filled:
        count = BENCHMARKS if job == WIDE else LONG_BENCHMARKS
        samples = self._samples(count)
        begun = time.perf_counter()
        run_id, build_id = self._plan(_JOBS.job(job), kind, revision, change)
        seconds = time.perf_counter() - begun
        self._set_back("created_at", run_id, build_id, moment)  # it happens now, and is to look like a year
        self._add_launches(build_id)
        keys, results, comparisons = _rows(job, samples)
        begun = time.perf_counter()
        with self.store.transaction() as tx:
            build = tx.builds.lock(build_id)
            tx.measurements.store_results(build, kind, keys, results, comparisons)
            tx.builds.finish(build_id, Outcome.SLOWER, _CAUSES)
        self._decide(run_id)
        self.results += len(results)
        filled = Filled(len(results), seconds + time.perf_counter() - begun)
        self._set_back("finished_at", run_id, build_id, moment + TAKEN)
        if kind is RunKind.POST_SUBMIT:
            self.tips[job] = revision
            if change is not None:
                self._record_regression(run_id, moment + TAKEN)
        return filled

    def _record_regression(self, run_id: int, moment: datetime) -> None:
        """List the merged commit; nine of ten are closed."""
        state = RegressionState.ACCEPTED if self.changes % 10 else RegressionState.UNTRIAGED
        with self.store.transaction() as tx:
            found = tx.regressions.slower_results(run_id).results
            tx.regressions.record(run_id, state, [(each, GateSaid.UNDECIDED) for each in found])
        with self.engine.begin() as connection:
            connection.execute(_FOUND, {"moment": moment, "run": run_id})

    def _plan(self, job: Job, kind: RunKind, revision: str, change: Change | None) -> tuple[int, int]:
        patch = Revision(revision, "a" + revision[1:], "refs/heads/main", "unreviewed")
        parent = self.tips.get(job.name, "b" + revision[1:])
        base = Revision(parent, "c" + parent[1:], "refs/heads/main", "reviewed")
        spec = BuildSpec(kind, "review", "engine", "main", base, patch, job)
        with self.store.transaction() as tx:
            patch_set = None if change is None else tx.changes.upsert(change).patch_set_id
            run_id = tx.runs.add(
                NewRun(kind, patch_set, "review", "engine", "main", revision, "Batch", "Robin Hale")
            )
            if run_id is None:
                raise RuntimeError(f"there is a run of {revision} already")
            tx.runs.start(
                run_id, tree=patch.tree, parent=base.commit, parent_tree=base.tree, label=_JOBS.label
            )
            build = NewBuild(
                job.name, job.kind, job.pool, 0, job.voting, spec.to_mapping(), spec.sequence, 86_400.0
            )
            return run_id, tx.builds.add(run_id, 0, build)

    def _decide(self, run_id: int) -> None:
        with self.store.transaction() as tx:
            run = tx.runs.lock(run_id)
            message = "\n\n".join(("Build Failed", *_CAUSES, f"http://localhost/runs/{run_id}#v1"))
            tx.decisions.add(
                NewDecision(
                    run_id, run.patch_set_id, tx.decisions.next_number(run), -1, "Build Failed", message
                )
            )
            tx.runs.end(run_id, RunState.FINISHED)

    def _set_back(self, column: str, run_id: int, build_id: int, moment: datetime) -> None:
        with self.engine.begin() as connection:
            for table, number in (("run", run_id), ("build", build_id)):
                connection.execute(
                    text(f"UPDATE {table} SET {column} = :moment WHERE id = :id"),  # noqa: S608 - constants
                    {"moment": moment, "id": number},
                )

    def _add_launches(self, build_id: int) -> None:
        with self.engine.begin() as connection:
            connection.execute(_LAUNCHES, {"build": build_id, "pairs": SAMPLES})

    def _samples(self, count: int) -> Sequence[Sequence[Sequence[float]]]:
        found: list[list[list[float]]] = self.noise.normal(1.2e6, 1e4, (count, SIDES, SAMPLES)).tolist()
        return found


def _change(number: int, status: ChangeStatus, moment: datetime) -> Change:
    revision = digest_of({"change": number})[:40]
    return Change(
        key=ChangeKey("review", number),
        project="engine",
        branch="main",
        change_id="I" + revision,
        subject="Batch notifications of the executor",
        status=status,
        updated=moment,
        current=PatchSet(1, revision, f"refs/changes/{number % 100:02d}/{number}/1", author=_AUTHOR),
        message="Batch notifications of the executor\n\nOne wake-up serves many tasks.\n" * 5,
        owner=_AUTHOR,
    )


def _rows(
    job: str, samples: Sequence[Sequence[Sequence[float]]]
) -> tuple[Mapping[SeriesKey, tuple[str, str]], list[StoredResult], list[StoredComparison]]:
    names = [
        f"ExecutorBench/Schedule{k % 17}/{k}/real_time/threads:{1 << k % 4}" for k in range(len(samples))
    ]
    keys = [
        SeriesKey("review", "engine", "main", "perf", job, "executor", name, "items_per_second")
        for name in names
    ]
    results = [
        StoredResult(key, side, tuple(values))
        for key, both in zip(keys, samples, strict=True)
        for side, values in zip(Side, both, strict=True)
    ]
    comparisons = [
        _comparison(k, key, *both) for k, (key, both) in enumerate(zip(keys, samples, strict=True))
    ]
    return dict.fromkeys(keys, ("1/s", "higher")), results, comparisons


def _comparison(
    position: int, key: SeriesKey, base: Sequence[float], patch: Sequence[float]
) -> StoredComparison:
    """Make a row of a table; one in fifty stands out."""
    estimated = estimate(base, patch)
    wide = Reason(ReasonKind.WIDE_INTERVAL, (0.05, 1.039))
    more = Reason(ReasonKind.MORE_PAIRS, (31, 120.0))
    verdict = {0: Verdict.SLOWER, 1: Verdict.UNDECIDED}.get(position % 50, Verdict.SAME)
    reasons = (wide, more) if verdict is Verdict.UNDECIDED else ()
    old, new = sorted(base)[SAMPLES // 2], sorted(patch)[SAMPLES // 2]
    ratio = new / old
    return StoredComparison(
        series=key,
        position=position,
        pairs=SAMPLES,
        verdict=verdict,
        ratio=ratio,
        low=ratio - 0.011,
        high=ratio + 0.012,
        base=old,
        patch=new,
        error=estimated.error,
        reasons=reasons,
    )
