"""``python -m bench.logs``: time pages, ranges and searches of a log of 200 MB, and measure the memory."""

from __future__ import annotations

import shutil
import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Final

import click
import httpx
import psutil
from sqlalchemy import text

from bench.timing import CAVEAT, met, quantile, say, say_load
from bench.webhooks import serving
from service.adapters.building.artifacts import DirectoryArtifacts
from service.adapters.embedded.postgres import EmbeddedPostgres
from service.adapters.postgres.engine import make_engine
from service.adapters.postgres.machines.worklist import MachineIdentity, MachineWorklist
from service.adapters.postgres.migrate import migrate
from service.adapters.postgres.store import PostgresStore
from service.steps.building.build_log import BuildLog
from tests.support.store_samples import queue

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from sqlalchemy import Engine

BYTES: Final = 200_000_000
KEPT: Final = 512 << 20  # the limit is raised, so that nothing is left out
PAGE_GOAL: Final = 0.200  # seconds
MEMORY_GOAL: Final = 20 << 20  # bytes more after all requests
REQUESTS: Final = 100  # of each kind
WARM_UP: Final = 10
RANGE: Final = 256 << 10
SEARCH, WHOLE = "search of 16 MiB", "whole text"
LONG: Final = (SEARCH, WHOLE)  # many pages of a log at once
_SHOW: Final = (
    text("UPDATE change SET is_public = true"),
    text(
        "INSERT INTO public_branch (instance, project, branch)"
        " SELECT DISTINCT instance, project, branch FROM change"
    ),
)


@dataclass(frozen=True, slots=True)
class LogFigures:
    """The seconds of each request by its kind, and the resident bytes of the web part around them."""

    shipping: float
    seconds: dict[str, tuple[float, ...]]
    before: int
    after: int


@click.command()
def main() -> None:
    """Store a log of 200 MB, read it in every way from a web part of its own, and print the figures."""
    say(CAVEAT)
    say_load("before")
    home = Path(tempfile.mkdtemp(prefix="benchgate-bench-"))
    try:
        figures = measure_log(home)
    finally:
        shutil.rmtree(home, ignore_errors=True)
    say(f"log of {BYTES / 1e6:.0f} MB, stored in {figures.shipping:.1f} s")
    for name, seconds in figures.seconds.items():
        middle, most = quantile(seconds, 0.5), quantile(seconds, 0.95)
        say(f"{name}: median {middle * 1000:.0f} ms, 95 % of {len(seconds)} within {most * 1000:.0f} ms")
        if name not in LONG:
            say(f"  goal median < {PAGE_GOAL * 1000:.0f} ms: {met(middle < PAGE_GOAL)}")
    grown = figures.after - figures.before
    say(f"memory of the web part: {figures.before / 1e6:.0f} MB, then {grown / 1e6:+.1f} MB")
    say(f"  goal < {MEMORY_GOAL >> 20} MiB more: {met(grown < MEMORY_GOAL)}")
    say_load("after")


def measure_log(home: Path, requests: int = REQUESTS) -> LogFigures:
    """Store a long log below an empty directory, and read it from a web part of its own."""
    with database(home) as (url, engine):
        address, shipping = store_log(engine, home)
        with serving(home, url) as port:
            [web] = [each for each in psutil.Process().children() if str(port) in each.cmdline()]
            with httpx.Client(base_url=f"http://127.0.0.1:{port}{address}", timeout=60) as client:
                return _read(client, lambda: int(web.memory_info().rss), requests, shipping)


@contextmanager
def database(home: Path) -> Iterator[tuple[str, Engine]]:
    """Start a PostgreSQL with fsync and the service's schema; yield its owner's address and connections."""
    server = EmbeddedPostgres(home / "postgres")
    try:
        server.start(durable=True)
        migrate(server.owner_url, server.administrator_url)
        engine = make_engine(server.owner_url)
        yield server.owner_url, engine
        engine.dispose()
    finally:
        server.stop()


def store_log(engine: Engine, home: Path) -> tuple[str, float]:
    """Ship a log as a machine does; return the address of its build, and the seconds."""
    queue(PostgresStore(engine))
    with engine.begin() as connection:
        for statement in _SHOW:
            connection.execute(statement)
    identity = MachineIdentity("bench", "bench", "perf")
    worklist = MachineWorklist(engine, identity, DirectoryArtifacts(home / "artifacts"))
    worklist.register("fingerprint", {})
    build = worklist.claim()
    if build is None:
        raise SystemExit("no build is queued")
    begun = time.monotonic()
    with (home / "spool").open("w+b", buffering=0) as spool:
        log = BuildLog(spool, KEPT)
        with build.publish(log, build.watch):
            write_lines(log.write)
            build.complete({})
    build.close()
    return f"/job/{build.name}/", time.monotonic() - begun


def write_lines(write: Callable[[bytes], object]) -> None:
    """Write lines as a compiler does, some in colour, until the log is long enough."""
    numbers = Random("a long log")  # noqa: S311 - repeatable on purpose
    written = number = 0
    while written < BYTES:
        lines = b"".join(
            b"[%d/200000] \x1b[32mBuilding CXX object\x1b[0m engine/CMakeFiles/engine.dir/%s.cc.o\n"
            % (number + k, numbers.randbytes(12).hex().encode())
            for k in range(1000)
        )
        number += 1000
        write(lines)
        written += len(lines)


def _read(client: httpx.Client, memory: Callable[[], int], requests: int, shipping: float) -> LogFigures:
    places = Random("places")  # noqa: S311 - repeatable on purpose

    def anywhere() -> int:
        return places.randrange(BYTES - RANGE)

    def a_range() -> httpx.Response:
        start = anywhere()
        return client.get("log.txt", headers={"Range": f"bytes={start}-{start + RANGE - 1}"})

    ways: dict[str, Callable[[], httpx.Response]] = {
        "page of the log's end": lambda: client.get("log"),
        "page anywhere": lambda: client.get(f"log?start={anywhere()}"),
        "page of the build, with the log's last lines": lambda: client.get(""),
        "range of 256 KiB": a_range,
        SEARCH: lambda: client.get(f"log?q=no+such+text&start={anywhere()}"),
    }
    for _ in range(min(WARM_UP, requests)):
        for way in ways.values():
            _timed(way)
    before = memory()
    seconds = {name: tuple(_timed(way) for _ in range(requests)) for name, way in ways.items()}
    seconds[WHOLE] = (_timed(lambda: _whole(client)),)
    return LogFigures(shipping, seconds, before, memory())


def _timed(request: Callable[[], httpx.Response]) -> float:
    begun = time.monotonic()
    request().raise_for_status()
    return time.monotonic() - begun


def _whole(client: httpx.Client) -> httpx.Response:
    with client.stream("GET", "log.txt", headers={"Accept-Encoding": "identity"}) as answer:
        received = sum(len(chunk) for chunk in answer.iter_raw())
    if received < BYTES:
        raise SystemExit(f"the text has only {received} bytes")
    return answer


if __name__ == "__main__":
    main()
