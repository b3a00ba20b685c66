"""``benchgate up``: everything on one machine."""

from __future__ import annotations

import signal
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from service.cli.operating.status import StatusLines
from service.cli.services.running import home_option
from service.cli.services.site import running_site
from service.config import ControlSettings

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@click.command()
@home_option
@click.option("--port", default=8080, show_default=True, type=click.IntRange(0, 65535), help="0: a free one.")
@click.option("--pool", default="perf", show_default=True, help="The pool that this machine serves.")
def command(home: Path, port: int, pool: str) -> None:
    """Start database, queue, web, workers and schedule here, and stop them all on Ctrl-C.

    Everything is kept below --home; nothing else of this machine is touched. With BENCHGATE_DATABASE_URL or
    BENCHGATE_REDIS_URL set, those servers are used instead. A part that dies is started again; after a
    crash, start it again: nothing is lost.
    """
    with (
        stop_on_signals() as stop,
        StatusLines() as lines,
        running_site(home, port, pool, lines) as (site, supervisor),
    ):
        lines.say(f"the dashboard is at {site.base_url} (Ctrl-C stops everything)")
        if not ControlSettings().git_url:
            lines.say(
                "BENCHGATE_GIT_URL is not set: until it is, no change can be fetched; docs/operations.md"
            )
        supervisor.run(stop.is_set)
        lines.say("stopping")


@contextmanager
def stop_on_signals() -> Iterator[threading.Event]:
    """An event that SIGINT and SIGTERM set; a second SIGINT interrupts."""
    stop = threading.Event()

    def on_signal(number: int, _: object) -> None:
        if stop.is_set() and number == signal.SIGINT:
            raise KeyboardInterrupt
        stop.set()

    before = {number: signal.signal(number, on_signal) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
