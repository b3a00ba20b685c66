"""``python -m bench.webhooks``: measure how many events a second the webhook takes in, and how quickly."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from bench.timing import CAVEAT, met, quantile, say, say_load
from service.adapters.embedded.postgres import EmbeddedPostgres
from service.adapters.postgres.migrate import migrate

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

SAMPLE: Final = Path(__file__).parents[1] / "tests" / "samples" / "gerrit" / "webhook-patchset-created.json"
SECRET: Final = "a-secret-of-the-benchmark"
RATE_GOAL: Final = 500  # events a second
WAIT_GOAL: Final = 0.050  # seconds, of 99 in 100
CONNECTIONS: Final = 16


@click.command()
@click.option("--seconds", default=10.0, show_default=True, help="Of each of the two loads.")
def main(*, seconds: float) -> None:
    """Send events as Gerrit's plug-in does to a web part with a PostgreSQL of its own, which uses fsync."""
    say(CAVEAT)
    say_load("before")
    with web_part() as port:
        load = _Load(port)
        asyncio.run(load.run(2.0, None))  # what is loaded lazily is loaded
        done, waits = asyncio.run(load.run(seconds, None))
        say(f"{CONNECTIONS} connections, one event after the other: {done / seconds:.0f}/s; {_in_ms(waits)}")
        say(f"  goal ≥ {RATE_GOAL}/s: {met(done / seconds >= RATE_GOAL)}")
        done, waits = asyncio.run(load.run(seconds, RATE_GOAL))
        say(f"{RATE_GOAL} events/s as they come ({done / seconds:.0f}/s answered): {_in_ms(waits)}")
        say(f"  goal p99 < {WAIT_GOAL * 1000:.0f} ms: {met(quantile(waits, 0.99) < WAIT_GOAL)}")
    say_load("after")


@contextmanager
def web_part() -> Iterator[int]:
    """The web part as ``benchgate serve`` starts it; its port."""
    home = Path(tempfile.mkdtemp(prefix="benchgate-bench-"))
    server = EmbeddedPostgres(home / "postgres")
    try:
        server.start(durable=True)
        migrate(server.owner_url, server.administrator_url)
        with serving(home, server.owner_url) as port:
            yield port
    finally:
        server.stop()
        shutil.rmtree(home, ignore_errors=True)


@contextmanager
def serving(home: Path, database_url: str) -> Iterator[int]:
    """Start the web part on a database; its port."""
    port = free_port()
    settings = {
        "BENCHGATE_HOME": str(home),
        "BENCHGATE_DATABASE_URL": database_url,
        "BENCHGATE_REDIS_URL": "redis://127.0.0.1:1/0",  # only what relays hints talks to it
        "BENCHGATE_WEBHOOK_SECRETS": json.dumps([SECRET]),
    }
    argv = [sys.executable, "-m", "service.cli", "serve", "--port", str(port)]
    with subprocess.Popen(argv, env={**os.environ, **settings}) as web:
        try:
            _wait_for(port)
            yield port
        finally:
            web.terminate()


def free_port() -> int:
    """Return a port that nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait_for(port: int) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise SystemExit("the web part did not start")


class _Load:
    """Sends events, each of a change of its own, and notes how long each answer took."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._document = json.loads(SAMPLE.read_text())
        self._number = 0

    async def run(self, seconds: float, rate: float | None) -> tuple[int, Sequence[float]]:
        """Answered events and the seconds of each, from when it should have been sent."""
        end = time.monotonic() + seconds
        waits: list[float] = []
        beginning = time.monotonic()
        senders = (self._send(end, beginning, rate, place, waits) for place in range(CONNECTIONS))
        await asyncio.gather(*senders)
        return len(waits), waits

    async def _send(
        self, end: float, beginning: float, rate: float | None, place: int, waits: list[float]
    ) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
        turn = 0
        while (now := time.monotonic()) < end:
            # At a rate an event that had to wait for its connection has waited too.
            due = now if rate is None else beginning + (place + CONNECTIONS * turn) / rate
            if due >= end:
                break
            await asyncio.sleep(max(0.0, due - now))
            writer.write(self._request())
            status = await reader.readuntil(b"\r\n\r\n")
            if b" 204 " not in status.split(b"\r\n")[0]:
                raise SystemExit(f"an event was not taken: {status.decode()}")
            waits.append(time.monotonic() - due)
            turn += 1
        writer.close()

    def _request(self) -> bytes:
        self._number += 1
        self._document["change"]["number"] = self._number
        body = json.dumps(self._document).encode()
        head = (
            f"POST /webhooks/gerrit/{SECRET} HTTP/1.1\r\nHost: localhost\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        return head.encode() + body


def _in_ms(waits: Sequence[float]) -> str:
    middle, most = quantile(waits, 0.5) * 1000, quantile(waits, 0.99) * 1000
    return f"median {middle:.1f} ms, p99 {most:.1f} ms, longest {max(waits) * 1000:.0f} ms"


if __name__ == "__main__":
    main()
