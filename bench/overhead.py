"""``python -m bench.overhead``: measure seconds from an event to its vote beside building and measuring."""

from __future__ import annotations

import os
import tempfile
import time
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Final

import click
from sqlalchemy import text

from bench.timing import CAVEAT, met, say, say_load
from service.adapters.postgres.engine import make_engine
from service.cli.operating.replay import feed
from service.cli.services.start_site import running_site
from service.config.control import ControlSettings
from service.domain.values.identity import ChangeKey
from service.wiring.control import build_control
from tests.support.project.tiny_project import TinyProject

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sqlalchemy import Engine

    from service.adapters.embedded.children import Supervisor
    from service.wiring.control import Control

GOAL: Final = 2.0  # seconds
EVENTS: Final = 7
WARM_UP: Final = 2  # every process loads its parts with the first work it gets
PATIENCE: Final = 120.0
INSTANCE: Final = "bench"
_STEPS: Final = (
    "fed",
    "received",
    "looked at",
    "planned",
    "claimed",
    "executed",
    "analysed",
    "decided",
    "posted",
)
# A step's time is that of its transaction's begin; `posted` is when the message was known to be there.
_MOMENTS: Final = text("""
SELECT e.received_at, r.created_at, b.created_at, b.started_at, b.executed_at, b.finished_at, d.created_at,
       o.sent_at, b.execution -> 'seconds' AS seconds, b.attempt
FROM change AS c
JOIN event AS e ON e.instance = c.instance AND e.change = c.number
JOIN patch_set AS p ON p.change_id = c.id
JOIN run AS r ON r.patch_set_id = p.id
JOIN run_build AS rb ON rb.run_id = r.id
JOIN build AS b ON b.id = rb.build_id
JOIN decision AS d ON d.run_id = r.id
JOIN outbox AS o ON o.kind = 'review' AND o.payload -> 'number' = to_jsonb(c.number)
WHERE c.number = :number AND o.state = 'sent'
""")


@dataclass(frozen=True, slots=True)
class Passage:
    """An event's way to its vote: the time of each step, and the seconds of the project's own work."""

    moments: tuple[datetime, ...]
    work: float

    @property
    def overhead(self) -> float:
        """Seconds that were neither building nor measuring."""
        return (self.moments[-1] - self.moments[0]).total_seconds() - self.work

    @property
    def phases(self) -> dict[str, float]:
        """Seconds from step to step; the machine's without the project's own work."""
        found = {
            f"{before} → {after}": (moments[1] - moments[0]).total_seconds()
            for (before, after), moments in zip(pairwise(_STEPS), pairwise(self.moments), strict=True)
        }
        found["claimed → executed"] -= self.work
        return found


@click.command()
@click.option("--events", default=EVENTS, show_default=True, type=click.IntRange(min=5))
def main(events: int) -> None:
    """Start a whole site in a temporary directory and feed it events, one after the other."""
    say(CAVEAT)
    say_load("before")
    # A site of the person who runs this must be neither measured nor filled.
    for name in [name for name in os.environ if name.startswith("BENCHGATE_")]:
        del os.environ[name]
    with tempfile.TemporaryDirectory(prefix="benchgate-bench-") as directory:
        passages = _run(Path(directory), events)
    _report(passages[:WARM_UP], passages[WARM_UP:])
    say_load("after")


def _run(directory: Path, events: int) -> Sequence[Passage]:
    project = TinyProject(directory / "tiny")
    settings = {"BENCHGATE_GIT_URL": str(project.path), "BENCHGATE_INSTANCE": INSTANCE}
    with running_site(directory / "var", 0, ("perf",), lambda _: None, settings) as (site, supervisor):
        control = ControlSettings(
            home=site.home,
            database_url=site.database_url,
            redis_url=site.redis_url,
            base_url=site.base_url,
            instance=INSTANCE,
        )
        engine = make_engine(site.database_url)
        with closing(build_control(control)) as plane:
            try:
                return [
                    _passage(project, plane, supervisor, engine, number)
                    for number in range(1, WARM_UP + events + 1)
                ]
            finally:
                engine.dispose()


def _passage(
    project: TinyProject, plane: Control, supervisor: Supervisor, engine: Engine, number: int
) -> Passage:
    """Feed an event of a new change and wait for the message on it."""
    proposal = project.propose(number, {"note.txt": f"change {number}\n"})
    fed = datetime.now(UTC)
    feed(plane, INSTANCE, proposal.event())
    key = ChangeKey(INSTANCE, number)
    _wait(supervisor, lambda: bool(plane.server.messages(key)), number)

    def moments() -> Passage | None:
        with engine.connect() as connection:
            row = connection.execute(_MOMENTS, {"number": number}).one_or_none()
        if row is None:
            return None
        return Passage((fed, *row[: len(_STEPS) - 1]), sum(row.seconds.values()))

    # The message is there a moment before the database knows it.
    _wait(supervisor, lambda: moments() is not None, number)
    found = moments()
    if found is None:
        raise click.ClickException(f"the records of change {number} are gone")
    return found


def _wait(supervisor: Supervisor, is_there: Callable[[], bool], number: int) -> None:
    deadline = time.monotonic() + PATIENCE
    supervisor.run(lambda: is_there() or time.monotonic() > deadline)
    if not is_there():
        raise click.ClickException(f"no message on change {number} within {PATIENCE:.0f} s")


def _report(cold: Sequence[Passage], warm: Sequence[Passage]) -> None:
    say("\nSeconds from the event to the message, building and measuring taken off:")
    say("  warming up, not counted: " + ", ".join(f"{each.overhead:.2f}" for each in cold))
    say("  " + ", ".join(f"{each.overhead:.2f}" for each in warm))
    middle = median(each.overhead for each in warm)
    spread = f"{min(each.overhead for each in warm):.2f} to {max(each.overhead for each in warm):.2f}"
    say(f"  median {middle:.2f} s ({spread}, n {len(warm)})  goal < {GOAL:.0f} s: {met(middle < GOAL)}")
    work = median(each.work for each in warm)
    say(f"  building and measuring themselves: median {work:.2f} s; small here, the project's own elsewhere")
    say("\nWhere it goes (medians; they need not add up):")
    for name in warm[0].phases:
        found = [each.phases[name] for each in warm]
        note = " without building and measuring" if name == "claimed → executed" else ""
        say(f"  {name + note:<50} {median(found):6.3f} s  {min(found):6.3f} to {max(found):6.3f}")


if __name__ == "__main__":
    main()
