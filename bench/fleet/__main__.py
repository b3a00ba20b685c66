"""``python -m bench.fleet``: run simulated machines against the real control plane."""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
import time
import urllib.request
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from bench.fleet.counts import Records
from bench.fleet.machines import Machine, Pool, Seen
from bench.fleet.report import Fed, Finished, Period, report
from bench.fleet.site import INSTANCE, SECRET, control_plane
from bench.fleet.traffic import BUILDS_OF_CHANGE, PROJECTS, Repositories, projects
from bench.fleet.usage import usage_of
from bench.timing import CAVEAT, say, say_load
from service.adapters.postgres.engine import make_engine
from service.adapters.review.console.review import ConsoleReview
from service.domain.values.identity import ChangeKey

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from bench.fleet.site import Plane

STACK: Final = 30  # changes that one person pushes together
BESIDE_AFTER: Final = 5.0  # seconds until another person pushes one
ENGINEERS: Final = 200
DRAIN_SECONDS: Final = 600.0


class Feeder(threading.Thread):
    """Push changes at an even pace; after a third of the time, thirty of one person and then one of another.

    Args:
        plane: gets the events by its webhook.
        repositories: of the changes.
        changes: those to push, in this order.
        stack: the numbers of the thirty; the last number is that of the other person's.
        seconds: until all are pushed.
    """

    def __init__(
        self,
        plane: Plane,
        repositories: Repositories,
        changes: Sequence[int],
        stack: Sequence[int],
        seconds: float,
    ) -> None:
        super().__init__(name="feeder", daemon=True)
        self.fed = Fed(stack=tuple(stack[:-1]), beside=stack[-1])
        self._url = f"http://127.0.0.1:{plane.site.port}/webhooks/gerrit/{SECRET}"
        self._review = ConsoleReview(plane.settings.review_path, INSTANCE)
        self._repositories = repositories
        at = seconds / 3
        due = [
            (number * seconds / len(changes), number, f"engineer-{number % ENGINEERS}") for number in changes
        ]
        due += [(at, number, "of-the-stack") for number in self.fed.stack]
        due.append((at + BESIDE_AFTER, self.fed.beside, "of-one-change"))
        self._due = sorted(due)
        self.error: Exception | None = None

    def run(self) -> None:
        begun = time.monotonic()
        try:
            for at, number, owner in self._due:
                time.sleep(max(0.0, begun + at - time.monotonic()))
                event = self._repositories.event(number, owner)
                self.fed.moments[number] = datetime.now(UTC)
                self._review.apply_event(event)
                request = urllib.request.Request(self._url, data=event)
                urllib.request.urlopen(request, timeout=60).close()
        except Exception as error:  # noqa: BLE001 - of a thread: the report must not look whole
            self.error = error

    def messages(self) -> Mapping[int, int]:
        """Count the messages on each change."""
        return {n: len(self._review.messages(ChangeKey(INSTANCE, n))) for n in self.fed.moments}


@click.command()
@click.option("--machines", default=200, show_default=True, type=click.IntRange(min=PROJECTS * 2))
@click.option("--builds", default=5000, show_default=True, type=click.IntRange(min=60), help="In an hour.")
@click.option("--minutes", default=15.0, show_default=True, type=click.FloatRange(min=1.0))
@click.option("--load", default=0.6, show_default=True, help="Share of the time that machines work.")
@click.option("--workers", default=2, show_default=True, help="Processes of the control worker.")
def main(*, machines: int, builds: int, minutes: float, load: float, workers: int) -> None:
    """Push changes to a whole control plane with machines that only pretend to build, and report."""
    say(CAVEAT)
    say_load("before")
    for name in [name for name in os.environ if name.startswith("BENCHGATE_")]:
        del os.environ[name]
    count = max(1, round(builds / BUILDS_OF_CHANGE * minutes / 60))
    duration = load * machines * 3600 / builds
    say(
        f"{machines} machines in {2 * PROJECTS} pools, {builds} builds an hour for {minutes:g} minutes:\n"
        f"{count} changes, and {STACK} + 1 beside them; a build takes {duration:.0f} s on average"
    )
    first = (count // PROJECTS + 1) * PROJECTS  # all of one project, so that they share a pool
    stack = range(first, first + (STACK + 1) * PROJECTS, PROJECTS)
    with _directory() as directory:
        repositories = Repositories(directory / "git", stack[-1])
        with control_plane(directory, f"{directory}/git/{{project}}", machines, workers) as plane:
            feeder = Feeder(plane, repositories, range(1, count + 1), stack, minutes * 60)
            report(_run(plane, feeder, machines, duration), feeder.fed)
    say_load("after")


@contextmanager
def _directory() -> Iterator[Path]:
    directory = Path(tempfile.mkdtemp(prefix="benchgate-bench-"))
    try:
        yield directory
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def _run(plane: Plane, feeder: Feeder, machines: int, duration: float) -> Finished:
    site, seen = plane.site, Seen()
    engine = make_engine(site.database_url)
    # The administrator sees the sizes of all and the statements of everybody.
    administrator = make_engine(plane.administrator_url.replace("/postgres?", "/benchgate?"))
    try:
        records = Records(administrator)
        pools = [Pool(name, plane.broker_socket) for project in projects() for name in project.pools]
        fleet = [
            Machine(
                f"m-{k:03d}",
                pools[k % len(pools)],
                site.machine_database_url,
                site.home / "artifacts",
                duration,
                seen,
            )
            for k in range(machines)
        ]
        for machine in fleet:
            machine.start()
        say(f"{machines} machines registered")
        before, sizes, begun = usage_of(plane.pids()), records.sizes(), time.monotonic()
        own = time.process_time()
        feeder.start()
        plane.supervisor.run(lambda: not feeder.is_alive())
        if feeder.error is not None:
            raise click.ClickException(f"a change could not be pushed: {feeder.error!r}")
        middle, connections, pushed = usage_of(plane.pids()), records.connections(), time.monotonic()
        say(
            f"all changes pushed after {pushed - begun:.0f} s; "
            f"{records.open_work()} builds, votes and messages are open"
        )
        _drain(plane, records)
        drained = time.monotonic()
        period = Period(
            pushed - begun, drained - pushed, before, middle, time.process_time() - own, connections
        )
        for machine in fleet:
            machine.stop()
        for machine in fleet:
            machine.join()
        return Finished(
            period,
            records,
            sizes,
            records.sizes(),
            seen,
            feeder.messages(),
            _bytes_in(site.home / "artifacts"),
        )
    finally:
        engine.dispose()


def _drain(plane: Plane, records: Records) -> None:
    deadline = time.monotonic() + DRAIN_SECONDS
    while records.open_work() and time.monotonic() < deadline:
        plane.supervisor.run(partial(_is_past, time.monotonic() + 2.0))


def _is_past(moment: float) -> bool:
    return time.monotonic() > moment


def _bytes_in(directory: Path) -> int:
    return sum(path.stat().st_size for path in directory.rglob("*") if path.is_file())


if __name__ == "__main__":
    main()
