"""``benchgate up``: run everything on one machine."""

from __future__ import annotations

import signal
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from service.adapters.access.sign_in_secret import remove_secret, renew_secret
from service.cli.operating.status_lines import StatusLines
from service.cli.services.find_site import home_option
from service.cli.services.start_site import running_site
from service.config.control import ControlSettings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from service.cli.services.child_processes import Site


@contextmanager
def announced(site: Site, say: Callable[[str], None]) -> Iterator[None]:
    """Say where the pages are and how the user of this machine signs in, if that is how people sign in.

    The link for signing in works until the end of the block.
    """
    say(f"the dashboard is at {site.base_url} (Ctrl-C stops everything)")
    if not ControlSettings(base_url=site.base_url).has_local_identity:
        yield
        return
    say(f"to act on its pages, open {site.base_url}/sign-in?secret={renew_secret(site.home)}")
    try:
        yield
    finally:
        remove_secret(site.home)


@click.command()
@home_option
@click.option(
    "--port", default=8080, show_default=True, type=click.IntRange(0, 65535), help="0: any free port."
)
@click.option(
    "--pool",
    "pools",
    multiple=True,
    default=("perf",),
    show_default=True,
    help="A pool of this host; repeatable. The pool with the benchmarks comes first.",
)
def command(home: Path, port: int, pools: tuple[str, ...]) -> None:
    """Start database, queue, web, workers and schedule on this machine, and stop all of them on Ctrl-C.

    Benchgate writes only below --home. If BENCHGATE_DATABASE_URL or BENCHGATE_REDIS_URL is set, it uses that
    server instead of starting one. It restarts a part that dies. After a crash, run the command again: no
    data is lost.
    """
    with (
        stop_on_signals() as stop,
        StatusLines() as lines,
        running_site(home, port, pools, lines) as (site, supervisor),
        announced(site, lines.say),
    ):
        if not (ControlSettings().git_url or ControlSettings().git_urls):
            lines.say(
                "BENCHGATE_GIT_URL is not set, so no change can be fetched: see docs/operator/operations.md"
            )
        supervisor.run(stop.is_set)
        lines.say("stopping")


@contextmanager
def stop_on_signals() -> Iterator[threading.Event]:
    """Yield an event that SIGINT and SIGTERM set; a second SIGINT raises KeyboardInterrupt."""
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
