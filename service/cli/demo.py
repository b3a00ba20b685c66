"""``benchgate demo``: changes are reviewed before your eyes."""

from __future__ import annotations

import shutil
import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from service.cli import EXIT_CANNOT, EXIT_OK
from service.cli.demonstration.events import change_merged, patchset_created
from service.cli.demonstration.repository import DemoRepository
from service.cli.demonstration.story import STORIES
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
    from collections.abc import Callable, Iterable

    from service.adapters.embedded.children import Supervisor
    from service.cli.demonstration.repository import Commit
    from service.cli.demonstration.story import Upload

_NATIVE: Final = Path(__file__).resolve().parents[2] / "native"
_MARKER: Final = ".benchgate-demo"
_PATIENCE: Final = 20 * 60.0  # seconds for one vote; two minutes on two idle cores


@click.command()
@click.option(
    "--home", default="var/demo", show_default=True, type=click.Path(file_okay=False, path_type=Path)
)
@click.option("--port", default=8080, show_default=True, type=click.IntRange(0, 65535), help="0: a free one.")
@click.option("--once", is_flag=True, help="End after the votes.")
@click.option(
    "--only",
    "names",
    multiple=True,
    type=click.Choice(list(STORIES)),
    help="Play this story alone; may be given more than once.",
)
@click.pass_context
def command(ctx: click.Context, home: Path, port: int, names: tuple[str, ...], *, once: bool) -> None:
    """Show the whole of Benchgate on this machine.

    Makes a small repository with four real C++ systems and their benchmarks. For each, uploads a change
    that makes it better and another that takes it back, and prints each message and vote as Gerrit would
    show them: the first two after a few minutes, all nine after about ten. Then the dashboard stays up
    until Ctrl-C. --home is emptied first.
    """
    uploads = [upload for name, story in STORIES.items() if name in (names or STORIES) for upload in story]
    check_host(port, {})  # before an earlier demo is removed
    _empty(home)
    repository = DemoRepository(home / "repository")
    repository.create(_NATIVE)
    settings = {
        "BENCHGATE_GIT_URL": str((home / "repository").absolute()),
        "BENCHGATE_INSTANCE": "demo",
        # It is to end on a busy machine too.
        "BENCHGATE_WAITS_FOR_QUIET": "false",
    }
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
            votes = _Review(plane, supervisor, stop, lines.say).play(repository, uploads)
        if not once and not stop.is_set():
            lines.say(f"done; the dashboard stays at {site.base_url} until Ctrl-C")
            supervisor.run(stop.is_set)
    ctx.exit(EXIT_OK if votes == [upload.vote for upload in uploads] else EXIT_CANNOT)


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

    def play(self, repository: DemoRepository, uploads: Iterable[Upload]) -> list[int | None]:
        """The votes that were cast, in the order of the uploads."""
        votes: list[int | None] = []
        merged: Commit | None = None
        for upload in uploads:
            if self._stop.is_set():
                return votes
            commit = repository.propose(upload)
            votes.append(self._vote(commit))
            if upload.is_merged and not self._stop.is_set():
                repository.merge(commit)
                self._say(f"change {upload.change} is merged; its branch is measured, for the trend")
                feed(self._plane, "demo", change_merged(commit, int(time.time())))
                merged = commit
        if merged is not None:
            change = merged.upload.change
            self._wait(lambda: self._is_branch_measured(change), "the branch's measurement")
        return votes

    def _vote(self, commit: Commit) -> int | None:
        upload = commit.upload
        name = (
            f"change {upload.change}"
            if upload.patch_set == 1
            else f"patch set {upload.patch_set} of change {upload.change}"
        )
        self._say(f"{name} is uploaded: {upload.text.splitlines()[0]}")
        feed(self._plane, "demo", patchset_created(commit, int(time.time())))
        self._wait(lambda: self._has_new_message(upload.change), f"the vote on {name}")
        votes = self._plane.console.votes(ChangeKey("demo", upload.change))
        found = [value for by_user in votes.values() for value in by_user.values()]
        return found[0] if found else None

    def _has_new_message(self, change: int) -> bool:
        """Show what is new; whether something is on that change."""
        messages = self._plane.console.rendered(self._shown)
        for number, text in messages:
            click.echo(text)
            click.echo()
            self._shown = number
        return any(text.startswith(f"Change {change}:") for _, text in messages)

    def _is_branch_measured(self, change: int) -> bool:
        runs = self._plane.reading.patch_set(change, 1).runs
        return any(run.kind == "post-submit" and run.finished_at is not None for run in runs)

    def _wait(self, is_there: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + _PATIENCE
        self._supervisor.run(lambda: self._stop.is_set() or is_there() or time.monotonic() > deadline)
        if time.monotonic() > deadline:
            raise Permanent(f"{what} did not come in {_PATIENCE / 60:.0f} minutes; see the logs below --home")
