"""The read port on PostgreSQL: every method is one read-only snapshot."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from service.adapters.postgres.faults import translated
from service.adapters.postgres.reading import (
    builds,
    changes,
    condition,
    measured_patch_sets,
    trends,
    voting_status,
)
from service.domain.errors import NotFound
from service.ports.reading import Reading

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from sqlalchemy import Connection, Engine

    from service.domain.health import Condition
    from service.domain.search import Words
    from service.ports.views import (
        BuildDetail,
        ChangeDetail,
        ChangeSummary,
        ComparisonView,
        Cursor,
        MachineView,
        MeasuredPatchSets,
        PatchSetDetail,
        RunDetail,
        SamplesView,
        SeriesSummary,
        Trend,
        VotingStatusView,
    )

_LARGEST_INTEGER = (1 << 31) - 1
_LARGEST_BIGINT = (1 << 63) - 1


class PostgresReading(Reading):
    """All reading; safe to call from several threads, as the engine's pool is."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)

    def changes(self, limit: int, after: Cursor | None = None) -> Sequence[ChangeSummary]:
        """Changes, the most recently updated first."""
        with self._snapshot() as connection:
            return changes.change_list(connection, limit, after)

    def change(self, number: int) -> ChangeDetail:
        """A change; where several servers have that number, the one updated last."""
        with self._snapshot() as connection:
            return changes.change_detail(connection, _whole(number))

    def patch_set(self, change: int, number: int | None = None) -> PatchSetDetail:
        """A patch set of a change; None: its newest."""
        with self._snapshot() as connection:
            wanted = None if number is None else _whole(number)
            return changes.patch_set_detail(connection, _whole(change), wanted)

    def measured_patch_sets(self, change: int, limit: int, before: int | None = None) -> MeasuredPatchSets:
        """A change's newest patch sets that have comparisons; ``before`` is the last of the page before."""
        end = _LARGEST_INTEGER if before is None else min(before, _LARGEST_INTEGER)
        with self._snapshot() as connection:
            return measured_patch_sets.measured_patch_sets(connection, _whole(change), limit, end)

    def run(self, run_id: int) -> RunDetail:
        """A run with its builds."""
        with self._snapshot() as connection:
            return builds.run_detail(connection, _whole(run_id, _LARGEST_BIGINT))

    def build(self, job: str, number: int) -> BuildDetail:
        """A build with its environment."""
        with self._snapshot() as connection:
            return builds.build_detail(connection, _storable(job), _whole(number))

    def comparisons(self, build_id: int, measured_at: datetime) -> Sequence[ComparisonView]:
        """The comparisons of a build in their order; ``measured_at`` is the build's creation."""
        with self._snapshot() as connection:
            return builds.comparisons_of(connection, build_id, measured_at)

    def samples(self, build_id: int, measured_at: datetime, series_id: int) -> SamplesView:
        """Both sides' samples of one comparison."""
        with self._snapshot() as connection:
            wanted = _whole(series_id, _LARGEST_BIGINT)
            return builds.samples_of(connection, build_id, measured_at, wanted)

    def series(self, words: Words, limit: int, after: int = 0) -> Sequence[SeriesSummary]:
        """Series that match all words, by id; ``after`` is the last id of the page before."""
        with self._snapshot() as connection:
            return trends.series_list(connection, words, limit, min(after, _LARGEST_BIGINT))

    def trend(self, series_id: int, limit: int) -> Trend:
        """A series with at most ``limit`` newest points of merged commits, and of patch sets as many."""
        with self._snapshot() as connection:
            return trends.trend(connection, _whole(series_id, _LARGEST_BIGINT), limit)

    def machines(self) -> Sequence[MachineView]:
        """All machines by pool and name."""
        with self._snapshot() as connection:
            return condition.machine_list(connection)

    def voting_statuses(self, limit: int, after: int = 0) -> Sequence[VotingStatusView]:
        """What is known of series on machines, by machine and name; ``after`` leaves out so many."""
        with self._snapshot() as connection:
            return voting_status.standing_list(connection, limit, min(after, _LARGEST_BIGINT))

    def condition(self) -> Condition:
        """What tells whether the service is well."""
        with self._snapshot() as connection:
            return condition.condition(connection)

    @contextmanager
    def _snapshot(self) -> Iterator[Connection]:
        with translated(), self._engine.connect() as connection:
            yield connection


def _whole(number: int, largest: int = _LARGEST_INTEGER) -> int:
    if not 0 <= number <= largest:
        raise NotFound(f"there is no number {str(number)[:30]}")
    return number


def _storable(text: str) -> str:
    # PostgreSQL refuses NUL and lone surrogates, so nothing of that name can be stored.
    if "\0" in text or not text.isprintable():
        raise NotFound("there is nothing of that name")
    return text
