"""``benchgate demo``: two changes are reviewed before your eyes."""

from __future__ import annotations

import shutil
import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from service.cli import EXIT_CANNOT, EXIT_OK
from service.cli.demo_story import (
    FASTER,
    KIM,
    ROBIN,
    SLOWER,
    DemoRepository,
    change_merged,
    patchset_created,
)
from service.cli.preconditions import check_host, make_home
from service.cli.replay import feed
from service.cli.site import running_site
from service.cli.status import StatusLines
from service.cli.up import stop_on_signals
from service.config import ControlSettings
from service.domain.errors import BadInput, Permanent
from service.domain.identity import ChangeKey
from service.wiring import Control, build_control

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable

    from service.adapters.embedded.children import Supervisor
    from service.cli.demo_story import DemoChange

_NATIVE: Final = Path(__file__).resolve().parents[2] / "native"
_MARKER: Final = ".benchgate-demo"
_PATIENCE: Final = 20 * 60.0  # seconds for one vote; two minutes on two idle cores


@click.command()
@click.option(
    "--home", default="var/demo", show_default=True, type=click.Path(file_okay=False, path_type=Path)
)
@click.option("--port", default=8080, show_default=True, type=click.IntRange(0, 65535), help="0: a free one.")
@click.option("--once", is_flag=True, help="End after the votes.")
@click.pass_context
def command(ctx: click.Context, home: Path, port: int, *, once: bool) -> None:
    """Show the whole of Benchgate on this machine in a few minutes.

    Makes a small repository with a real C++ benchmark suite, uploads a change that makes it faster, merges
    it, uploads another that takes it back, and prints each message and vote as Gerrit would show them. Then
    the dashboard stays up until Ctrl-C. --home is emptied first.
    """
    check_host(port, {})  # before an earlier demo is removed
    _empty(home)
    repository = DemoRepository(home / "repository")
    repository.create(_NATIVE)
    settings = {"BENCHGATE_GIT_URL": str((home / "repository").absolute()), "BENCHGATE_INSTANCE": "demo"}
    with (
        stop_on_signals() as stop,
        StatusLines() as lines,
        running_site(home, port, "perf", lines, settings) as (site, supervisor),
    ):
        plane = build_control(
            ControlSettings(
                home=site.home,
                database_url=site.database_url,
                redis_url=site.redis_url,
                base_url=site.base_url,
                instance="demo",
            )
        )
        lines.say(f"the dashboard is at {site.base_url}")
        with closing(plane):
            votes = _Review(plane, supervisor, stop, lines.say).play(repository)
        if not once and not stop.is_set():
            lines.say(f"done; the dashboard stays at {site.base_url} until Ctrl-C")
            supervisor.run(stop.is_set)
    ctx.exit(EXIT_OK if votes == [1, -1] else EXIT_CANNOT)


def _empty(home: Path) -> None:
    """Remove an earlier demo, and nothing that is not one."""
    marker = home / _MARKER
    if home.exists() and any(home.iterdir()) and not marker.exists():
        raise BadInput("is not empty and holds no earlier demo; name another directory", f"--home {home}")
    shutil.rmtree(home, ignore_errors=True)
    make_home(home)
    marker.touch()


class _Review:
    """Feeds the story's events and waits for what the service says to them."""

    def __init__(
        self, plane: Control, supervisor: Supervisor, stop: threading.Event, say: Callable[[str], None]
    ) -> None:
        self._plane = plane
        self._supervisor = supervisor
        self._stop = stop
        self._say = say
        self._shown = 0

    def play(self, repository: DemoRepository) -> list[int | None]:
        """The votes that were cast, in the order of the changes."""
        faster = repository.propose(1, FASTER, ROBIN, is_mocked=False)
        votes = [self._vote(faster)]
        if self._stop.is_set():
            return votes
        repository.merge(faster)
        self._say("change 1 is merged; its branch is measured, for the trend")
        feed(self._plane, "demo", change_merged(faster, int(time.time())))
        slower = repository.propose(2, SLOWER, KIM, is_mocked=True)
        votes.append(self._vote(slower))
        self._wait(self._is_branch_measured, "the branch's measurement")
        return votes

    def _vote(self, change: DemoChange) -> int | None:
        subject = change.message.splitlines()[0]
        self._say(f"change {change.number} is uploaded: {subject}")
        feed(self._plane, "demo", patchset_created(change, int(time.time())))
        self._wait(self._has_new_message, f"the vote on change {change.number}")
        votes = self._plane.server.votes(ChangeKey("demo", change.number))
        found = [value for by_user in votes.values() for value in by_user.values()]
        return found[0] if found else None

    def _has_new_message(self) -> bool:
        messages = self._plane.server.rendered(self._shown)
        for number, text in messages:
            click.echo(text)
            click.echo()
            self._shown = number
        return bool(messages)

    def _is_branch_measured(self) -> bool:
        runs = self._plane.reading.patch_set(1, 1).runs
        return any(run.kind == "post-submit" and run.finished_at is not None for run in runs)

    def _wait(self, is_there: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + _PATIENCE
        self._supervisor.run(lambda: self._stop.is_set() or is_there() or time.monotonic() > deadline)
        if time.monotonic() > deadline:
            raise Permanent(f"{what} did not come in {_PATIENCE / 60:.0f} minutes; see the logs below --home")
