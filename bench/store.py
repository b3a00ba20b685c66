"""``python -m bench.store``: measure how quickly 10⁵ and 10⁶ results are stored and read."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click
import httpx
from sqlalchemy import text

from bench.filling import BENCHMARKS, LONG, SAMPLES, WIDE, Filler
from bench.peers import measure_peers
from bench.plans import indexes_under, scans_of
from bench.timing import CAVEAT, Probe, Timing, met, quantile, say, say_load, time_in_rounds
from dashboards.verdict.sparkline import COMMITS, ROWS
from dashboards.verdict.trend_view import MOST_POINTS
from service.adapters.access.recent_answers import RecentAnswers
from service.adapters.embedded.postgres import EmbeddedPostgres
from service.adapters.postgres.engine import make_engine
from service.adapters.postgres.migrate import migrate
from service.adapters.postgres.reading import PostgresReading
from service.adapters.postgres.store import PostgresStore
from service.adapters.postgres.trunk.shown_regressions import PostgresRegressionReading
from service.domain.review.change_search import parse_change_search
from service.domain.values.identity import ChangeAddress
from service.steps.access.override_rights import OverrideRights
from service.web.trunk.regressions import PageRegressions
from tests.support.memory.store import MemoryStore
from tests.support.web import build_app

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from sqlalchemy import Engine

    from bench.filling import Filled

SIZES: Final = (200_000, 1_000_000)
INGEST_GOAL: Final = 20_000  # results a second
PAGE_GOAL: Final = 0.050
BENCHMARKS_GOAL: Final = 0.200
SERIES_GOAL: Final = 0.010
POINTS: Final = 200
_TABLES: Final = text("""
SELECT oid::regclass::text FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace
""")
_SIZE: Final = text("""
SELECT sum(pg_total_relation_size(part.relid))
FROM (VALUES ('result'), ('comparison')) AS parent (name), pg_partition_tree(parent.name::regclass) AS part
""")


@click.command()
@click.option("--peers", is_flag=True, help="Measure LLVM's LNT beside it; installs it from PyPI.")
@click.option(
    "--size", "sizes", multiple=True, type=click.IntRange(min=200_000), default=SIZES, help="Rows of results."
)
def main(*, peers: bool, sizes: Sequence[int]) -> None:
    """Measure a throw-away database that is filled as the service fills it."""
    say(CAVEAT)
    say(
        f"One result is a row: one side of one metric with its {SAMPLES} samples. A build stores\n"
        f"{BENCHMARKS} benchmarks, both sides and the comparisons, with its change, run and decision.\n"
        "PostgreSQL runs with fsync."
    )
    say_load("before")
    with database() as engine:
        filler = Filler(PostgresStore(engine), engine)
        filler.prepare()
        history = filler.add_long_history()
        say(f"\n{len(history)} small builds of a long history: {_pace(history):.0f} builds/s")
        timings: dict[str, Timing] = {}
        rates: list[float] = []
        for size in sorted(sizes):
            rates.append(_fill(filler, size))
            timings = _measure(engine, filler)
            _check_trend_plan(engine)
            _check_patch_sets_plan(engine, filler)
        if peers:
            measure_peers(rates[-1], timings)
    say_load("after")


@contextmanager
def database() -> Iterator[Engine]:
    """Yield a migrated database that survives a power cut, in a directory that is removed afterwards."""
    directory = Path(tempfile.mkdtemp(prefix="benchgate-bench-"))
    server = EmbeddedPostgres(directory)
    try:
        server.start(durable=True)
        migrate(server.owner_url, server.administrator_url)
        engine = make_engine(server.owner_url)
        try:
            yield engine
        finally:
            engine.dispose()
    finally:
        server.stop()
        shutil.rmtree(directory, ignore_errors=True)


def _fill(filler: Filler, size: int) -> float:
    """Fill the store, print how quickly, and return results a second."""
    builds = filler.fill_to(size)
    rate = sum(each.results for each in builds) / sum(each.seconds for each in builds)
    each_rate = [each.results / each.seconds for each in builds]
    say(f"\n== {filler.results:,} results ({filler.results * SAMPLES:,} samples)")
    say(
        f"  ingest: {rate:,.0f} results/s = {rate * SAMPLES:,.0f} samples/s over {len(builds)} builds"
        f"  goal ≥ {INGEST_GOAL:,}: {met(rate >= INGEST_GOAL)}"
    )
    low, middle = quantile(each_rate, 0.05), quantile(each_rate, 0.5)
    say(f"    build by build: median {middle:,.0f}, p5 {low:,.0f}, best {max(each_rate):,.0f} results/s")
    _tidy(filler.engine)
    return rate


def _pace(builds: Sequence[Filled]) -> float:
    return len(builds) / sum(each.seconds for each in builds)


def _tidy(engine: Engine) -> None:
    """Vacuum as autovacuum does within minutes: tables one by one, a partitioned table itself never."""
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        for name in connection.execute(_TABLES).scalars().all():
            connection.exec_driver_sql(f"VACUUM (ANALYZE) {name}")
        size = connection.execute(_SIZE).scalar_one()
        say(f"    {size / (1 << 20):,.0f} MiB of results and comparisons with their indexes")


def _measure(engine: Engine, filler: Filler) -> dict[str, Timing]:
    """Time every query and every page; return the timings by name."""
    reading = PostgresReading(engine)
    regressions = PostgresRegressionReading(engine)
    pages = PageRegressions(MemoryStore(), OverrideRights(RecentAnswers({})), lambda _: regressions)
    transport = httpx.ASGITransport(app=build_app(reading, regressions=pages))
    client = httpx.AsyncClient(transport=transport, base_url="http://localhost")
    with asyncio.Runner() as runner:

        def get(path: str) -> None:
            runner.run(client.get(path)).raise_for_status()

        queries = _queries(reading, filler, _series(engine, LONG), _series(engine, WIDE))
        queries.append(Probe("last week", lambda _: regressions.week(datetime.now(UTC)), PAGE_GOAL))
        answers = _pages(get, filler, _series(engine, LONG)[0])
        timings = time_in_rounds([*queries, *answers])
        runner.run(client.aclose())
    say("  through the read port:")
    for each in timings[: len(queries)]:
        say(each.line())
    say("  whole HTTP answers, in memory:")
    for each in timings[len(queries) :]:
        say(each.line())
    return {each.name: each for each in timings}


def _queries(
    reading: PostgresReading, filler: Filler, long: Sequence[int], wide: Sequence[int]
) -> list[Probe]:
    def change_page(k: int) -> None:
        for build in reading.patch_set(ChangeAddress(_number(filler, k))).builds:
            reading.comparisons(build.id, build.created_at)

    def trend(series: Sequence[int], points: int) -> Callable[[int], object]:
        return lambda k: reading.trend(series[k * 7 % len(series)], points)

    build = reading.patch_set(ChangeAddress(filler.changes)).builds[0]
    return [
        Probe("change page: patch set and 500 comparisons", change_page, PAGE_GOAL),
        Probe(
            "500 comparisons of a change's patch sets",
            lambda k: reading.measured_patch_sets(ChangeAddress(_number(filler, k)), 6),
            PAGE_GOAL,
        ),
        Probe("500 comparisons", lambda _: reading.comparisons(build.id, build.created_at), PAGE_GOAL),
        Probe(
            f"last {COMMITS} commits of {ROWS} benchmarks",
            lambda k: reading.merged_steps(
                dict.fromkeys(wide[k % 10 :: 10][:ROWS], build.created_at), COMMITS
            ),
            SERIES_GOAL,
        ),
        Probe(f"series of {POINTS} points", trend(long, POINTS), SERIES_GOAL),
        # As many of merged commits and of patch sets.
        Probe(f"series of 2 × {POINTS // 2} points", trend(wide, POINTS // 2), SERIES_GOAL),
        Probe(f"series of {MOST_POINTS:,} points", trend(long, MOST_POINTS)),
        Probe("list of 50 changes", lambda _: reading.changes(51), PAGE_GOAL),
        *(
            Probe(f"list of changes: {search}", partial(_found, reading, search), PAGE_GOAL)
            for search in ("vote:+1", "is:waiting")
        ),
    ]


def _found(reading: PostgresReading, search: str, _: int) -> object:
    return reading.changes(51, None, parse_change_search(search))


def _pages(get: Callable[[str], None], filler: Filler, series: int) -> list[Probe]:
    def change(path: str) -> Callable[[int], None]:
        return lambda k: get(path.format(_number(filler, k)))

    def trend(path: str) -> Callable[[int], None]:
        return lambda _: get(path.format(series))

    figure = "/trends/{}/figure.json"
    return [
        Probe("/changes/n/1", change("/changes/{}/1"), PAGE_GOAL),
        Probe("/changes/n/1?show=all (500 rows)", change("/changes/{}/1?show=all"), PAGE_GOAL),
        Probe(
            "/api/v1/changes/n/patch-sets/1 (500 rows)", change("/api/v1/changes/{}/patch-sets/1"), PAGE_GOAL
        ),
        Probe("/", lambda _: get("/"), PAGE_GOAL),
        Probe("/?q=wake", lambda _: get("/?q=notifications+robin"), PAGE_GOAL),
        Probe("/regressions", lambda _: get("/regressions"), PAGE_GOAL),
        Probe("/regressions?list=closed", lambda _: get("/regressions?list=closed"), PAGE_GOAL),
        Probe("/regressions/n", lambda k: get(f"/regressions/{1 + k * 7919 % filler.changes}"), PAGE_GOAL),
        Probe("/trends", lambda _: get("/trends"), PAGE_GOAL),
        Probe("/benchmarks", lambda _: get("/benchmarks"), BENCHMARKS_GOAL),
        Probe("/machines", lambda _: get("/machines"), PAGE_GOAL),
        Probe("/trends?series=n", trend("/trends?series={}"), PAGE_GOAL),
        Probe("/trends/n/figure.json (90 days)", trend(figure), PAGE_GOAL),
        Probe(f"/api/v1/series/n ({POINTS} points)", trend("/api/v1/series/{}"), PAGE_GOAL),
        Probe(f"/trends/n/figure.json ({MOST_POINTS:,} points)", trend(f"{figure}?range=all")),
    ]


def _number(filler: Filler, k: int) -> int:
    """Return another change each time, from all over the table."""
    return 1 + k * 7919 % filler.changes


def _series(engine: Engine, job: str) -> Sequence[int]:
    with engine.connect() as connection:
        found = connection.execute(text("SELECT id FROM series WHERE job = :job ORDER BY id"), {"job": job})
        return found.scalars().all()


def _check_trend_plan(engine: Engine) -> None:
    """Check that a trend is read through one index, and no more of it than is shown."""
    series = _series(engine, LONG)[0]
    scans = scans_of(engine, lambda: PostgresReading(engine).trend(series, POINTS), "comparison")
    allowed = indexes_under(engine, "comparison_trend")
    # An empty partition is read as it is: nothing is quicker.
    strangers = {(scan.table, scan.index) for scan in scans if scan.rows and scan.index not in allowed}
    if strangers:
        raise click.ClickException(f"the trend is not read through comparison_trend alone: {strangers}")
    rows = sum(scan.rows for scan in scans)
    tables = len({scan.table for scan in scans})
    # Of each kind of run, one row of every partition is looked at before the newest ones are known.
    bound = 2 * (POINTS + tables)
    if rows > bound:
        raise click.ClickException(f"the trend reads {rows} rows of comparisons, not at most {bound}")
    say(
        f"  plan of a series of {POINTS} points: {rows} rows (at most {bound}) of {tables} partitions, "
        "each through comparison_trend: held"
    )


def _check_patch_sets_plan(engine: Engine, filler: Filler) -> None:
    """Check that patch sets side by side are read from their builds' partitions, through the key."""
    number = _number(filler, 1)
    scans = scans_of(
        engine, lambda: PostgresReading(engine).measured_patch_sets(ChangeAddress(number), 6), "comparison"
    )
    allowed = indexes_under(engine, "comparison_pkey")
    strangers = {(scan.table, scan.index) for scan in scans if scan.was_run and scan.index not in allowed}
    tables = {scan.table for scan in scans if scan.was_run}
    if strangers or len(tables) != 1:
        raise click.ClickException(f"patch sets are not read by build from one month: {strangers or tables}")
    rows = sum(scan.rows for scan in scans)
    bound = 1 + BENCHMARKS  # one tells that the build has comparisons
    if rows > bound:
        raise click.ClickException(f"the patch sets read {rows} rows of comparisons, not at most {bound}")
    say(f"  plan of a change's patch sets: {rows} rows (at most {bound}) of one partition, by its key: held")


if __name__ == "__main__":
    main()
