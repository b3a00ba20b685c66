"""``make gate-native``: run eight jobs of three pools on a change of ``native/`` on this machine."""

from __future__ import annotations

import os
import shutil
import time
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from service.cli import EXIT_CANNOT, EXIT_OK, run
from service.cli.operating.status_lines import StatusLines
from service.cli.services.preconditions import check_host
from service.cli.services.start_site import running_site
from service.cli.services.up import stop_on_signals
from service.domain.project.project_file import FILE_NAME
from service.domain.runs.states import BuildState
from service.domain.runs.vote import Result
from service.domain.values.errors import NotFound, Permanent
from service.domain.values.identity import ChangeAddress, ChangeKey
from tools.demo.console import ConsoleSite, console_settings
from tools.demo.place import empty, log_below, plane_of
from tools.demo.repository import DemoRepository
from tools.demo.scenario import SCENARIOS
from tools.gate_native.other_ci import JOB, OtherCi
from tools.gate_native.table import table

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from service.ports.runs.shown import BuildOfRun
    from service.wiring.control import Control
    from tools.demo.backend import Uploaded

POOLS: Final = ("perf", "linux", "lint")
JOBS: Final = Path(__file__).with_name(FILE_NAME)
_NATIVE: Final = Path(__file__).resolve().parents[2] / "native"
_PATIENCE: Final = 3 * 3600.0  # seconds; half an hour on two idle CPUs


@click.command()
@click.option(
    "--home", default="var/gate-native", show_default=True, type=click.Path(file_okay=False, path_type=Path)
)
@click.option("--port", default=0, show_default=True, type=click.IntRange(0, 65535), help="0: any free port.")
@click.pass_context
def command(ctx: click.Context, home: Path, port: int) -> None:
    """Gate a change of native/ by eight jobs on this machine, and print a table of them.

    The jobs test it as it is and under two sanitizers, check its format, run clang-tidy and the static
    analyzer on it, and measure a benchmark; another CI reports the eighth job by curl. The benchmark has the
    machine to itself. Deletes the content of --home first.
    """
    check_host(port, {})
    empty(home)
    native = home.absolute() / "native"
    shutil.copytree(_NATIVE, native, ignore=shutil.ignore_patterns("build", "__pycache__"))
    shutil.copy(JOBS, native / FILE_NAME)
    repository = DemoRepository(home.absolute() / "repository")
    repository.create(native)
    with (
        log_below(home),
        stop_on_signals() as stop,
        StatusLines() as lines,
        running_site(home, port, POOLS, lines, _settings(home)) as (site, supervisor),
        closing(plane_of(site)) as plane,
    ):
        lines.say(f"the dashboard is at {site.base_url}")
        review_site = ConsoleSite(repository, plane, site)
        begun = datetime.now(UTC)
        uploaded = review_site.upload(SCENARIOS["executor"][0])
        watch = _Watch(plane, uploaded, lines.say)
        other = OtherCi(site, plane, uploaded)

        def wait(is_there: Callable[[], bool]) -> None:
            deadline = time.monotonic() + _PATIENCE
            supervisor.run(lambda: stop.is_set() or is_there() or time.monotonic() > deadline)
            if time.monotonic() > deadline:
                raise Permanent(f"no vote within {_PATIENCE / 3600:.0f} hours; see the logs below {home}")

        wait(lambda: any(build.job == JOB for build in watch.builds()))
        if not stop.is_set():
            other.report("STARTED")
            other.report(Result.SUCCESS)
        wait(watch.has_ended)
        vote = watch.vote()
        for text in (*watch.messages(), *table(watch.builds(), begun), f"vote: {vote}"):
            click.echo(text)
    ctx.exit(EXIT_OK if vote == 1 else EXIT_CANNOT)


def _settings(home: Path) -> Mapping[str, str]:
    return {
        **console_settings(home.absolute() / "repository"),
        "BENCHGATE_INSTANCE": "gate-native",
        # It must also end on a busy machine, unless the user says otherwise.
        "BENCHGATE_WAITS_FOR_QUIET": os.environ.get("BENCHGATE_WAITS_FOR_QUIET", "false"),
    }


class _Watch:
    """The builds of an upload; each change of their state is shown as a line."""

    def __init__(self, plane: Control, uploaded: Uploaded, say: Callable[[str], None]) -> None:
        self._plane = plane
        self._uploaded = uploaded
        self._say = say
        self._shown: dict[str, str] = {}

    def builds(self) -> Sequence[BuildOfRun]:
        """Return the builds; none until the change is planned."""
        address = ChangeAddress(self._uploaded.change)
        try:
            found = self._plane.reading.patch_set(address, self._uploaded.patch_set).builds
        except NotFound:
            return ()
        for build in found:
            text = str(build.outcome or build.phase or build.state)
            if self._shown.get(build.job) != text:
                self._shown[build.job] = text
                self._say(f"{build.job}: {text}")
        return found

    def has_ended(self) -> bool:
        """Return whether every build is finished and the vote is posted."""
        found = self.builds()
        are_finished = bool(found) and all(build.state is BuildState.FINISHED for build in found)
        return are_finished and bool(self.messages())

    def messages(self) -> Sequence[str]:
        """Return the messages that Benchgate posted."""
        server = self._plane.server
        return [
            message.shown
            for message in server.messages(self._key)
            if message.author.account == server.account
        ]

    def vote(self) -> int | None:
        """Return Benchgate's vote."""
        server = self._plane.server
        votes = server.change(self._key).votes.values()
        return next((vote for by in votes if (vote := by.get(server.account)) is not None), None)

    @property
    def _key(self) -> ChangeKey:
        return ChangeKey(self._plane.server.instance, self._uploaded.change)


if __name__ == "__main__":
    run(command)
