"""``python -m bench.prune``: measure how quickly samples are deleted, and what ingest notices of it."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

import click
from sqlalchemy import text

from bench.filling import BENCHMARKS, DAYS, SIDES, Filler
from bench.store import database
from bench.timing import CAVEAT, met, quantile, say, say_load
from service.adapters.postgres.engine import make_engine
from service.adapters.postgres.runs.retention import PostgresRetention
from service.adapters.postgres.store import PostgresStore
from service.domain.runs.retention import Kind
from service.steps.runs.prune import prune

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from sqlalchemy import Engine

    from bench.filling import Filled

RESULTS: Final = 1_000_000
ALONE: Final = 20  # changes with two builds each, before the deletion
KEPT_DAYS: Final = 2  # what is ingested beside the deletion is younger, all of the filling older
OF_BUILD: Final = BENCHMARKS * SIDES
SLOWER_GOAL: Final = 2.0  # times the median without a deletion
_FIXED: Final = text("UPDATE regression SET fixed_at = now() WHERE state <> 'untriaged'")
# An open regression holds the samples of its builds.
_HELD: Final = """
SELECT DISTINCT x.build_id FROM regressed_result AS x JOIN regression AS r ON r.id = x.regression_id
WHERE r.fixed_at IS NULL
"""
_HELD_BUILDS: Final = text(f"SELECT count(*) FROM ({_HELD}) AS held")  # noqa: S608 - a constant
_LEFT: Final = text(f"""
SELECT count(*) FILTER (WHERE of_build.results = :whole) AS whole,
       count(*) FILTER (WHERE of_build.results <> :whole) AS partly,
       count(*) FILTER (WHERE build_id IN ({_HELD})) AS held
FROM (SELECT build_id, count(*) AS results FROM result GROUP BY build_id) AS of_build
""")  # noqa: S608 - a constant
_TABLES: Final = text("""
SELECT relname FROM pg_class
WHERE relkind IN ('r', 'p') AND NOT relispartition AND relnamespace = 'public'::regnamespace
""")


@dataclass(frozen=True, slots=True)
class Deleted:
    """The builds whose samples were deleted, and the seconds of it."""

    builds: int
    seconds: float


@click.command()
@click.option(
    "--results", type=click.IntRange(min=20_000), default=RESULTS, help="Results to fill in before."
)
def main(results: int) -> None:
    """Fill a throw-away database, and delete its samples while builds are stored."""
    say(CAVEAT)
    say_load("before")
    with database() as engine:
        begin = datetime.now(UTC) - timedelta(days=DAYS + KEPT_DAYS + 1)
        filler = Filler(PostgresStore(engine), engine, begin)
        filler.prepare()
        filled = len(filler.fill_to(results))
        with engine.begin() as connection:
            connection.execute(_FIXED)
            held = connection.execute(_HELD_BUILDS).scalar_one()
        say(f"\n{filler.results:,} results of {filled:,} builds; open regressions hold {held:,} of them")
        alone = _ingest(filler, lambda done: len(done) >= 2 * ALONE)
        before = _counts(engine)
        with ThreadPoolExecutor(1) as pool:
            deleting = pool.submit(_delete, engine)
            beside = _ingest(filler, lambda _: deleting.done())
            deleted = deleting.result()
        _report(alone, beside, deleted)
        _check(engine, before, deleted, (filled - held, held + len(alone) + len(beside)))
    say_load("after")


def _ingest(filler: Filler, is_done: Callable[[list[Filled]], bool]) -> list[Filled]:
    """Store change after change, as if each had ended just now."""
    done: list[Filled] = []
    while not is_done(done):
        done += filler.add_change(datetime.now(UTC) - timedelta(hours=1))
    return done


def _delete(engine: Engine) -> Deleted:
    own = make_engine(engine.url.render_as_string(hide_password=False))
    begun = time.perf_counter()
    policy: dict[Kind, int | None] = {Kind.SAMPLES: KEPT_DAYS, Kind.MERGED_SAMPLES: KEPT_DAYS}
    try:
        builds = sum(prune(PostgresStore(own), PostgresRetention(own), policy).values())
    finally:
        own.dispose()
    return Deleted(builds, time.perf_counter() - begun)


def _report(alone: list[Filled], beside: list[Filled], deleted: Deleted) -> None:
    rows = deleted.builds * OF_BUILD
    say(
        f"  deleted: {rows:,} results in {deleted.seconds:.1f} s: {rows / deleted.seconds:,.0f} a second, "
        f"beside {sum(each.results for each in beside):,} new ones"
    )
    middles = []
    for name, builds in (("alone", alone), ("beside the deletion", beside)):
        seconds = [each.seconds for each in builds]
        middles.append(quantile(seconds, 0.5))
        say(
            f"  ingest {name:<20} p50 {middles[-1] * 1e3:6.1f} ms  p95 {quantile(seconds, 0.95) * 1e3:6.1f}  "
            f"max {max(seconds) * 1e3:6.1f}  of {len(seconds)} builds with {OF_BUILD:,} results"
        )
    ratio = middles[1] / middles[0]
    say(f"  {ratio:.2f} times as long; goal ≤ {SLOWER_GOAL}: {met(ratio <= SLOWER_GOAL)}")


def _check(engine: Engine, before: Mapping[str, int], deleted: Deleted, expected: tuple[int, int]) -> None:
    """Check that the samples of as many builds went and stayed as expected, and nothing of another table."""
    with engine.connect() as connection:
        left = connection.execute(_LEFT, {"whole": OF_BUILD}).one()
    fewer = [name for name, rows in _counts(engine).items() if rows < before[name] and name != "result"]
    if fewer or left.partly or (deleted.builds, left.whole) != expected:
        raise click.ClickException(
            f"deleted {deleted.builds}, left {left.whole} whole and {left.partly} partly; "
            f"expected {expected}; fewer rows in {fewer}"
        )
    say(
        f"  samples of {left.whole:,} builds stayed whole, among them {left.held:,} of open regressions; "
        f"no row went from {len(before) - 1} other tables"
    )


def _counts(engine: Engine) -> Mapping[str, int]:
    with engine.connect() as connection:
        names = connection.execute(_TABLES).scalars().all()
        counted = "SELECT count(*) FROM "
        return {name: connection.exec_driver_sql(f'{counted}"{name}"').scalar_one() for name in names}


if __name__ == "__main__":
    main()
