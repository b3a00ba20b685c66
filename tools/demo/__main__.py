"""``make demo``: real changes that Benchgate builds, measures and votes on, on this machine."""

from __future__ import annotations

import shlex
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from service.cli import EXIT_CANNOT, EXIT_OK, run
from service.cli.operating.status_lines import StatusLines
from service.cli.services.preconditions import check_host
from service.cli.services.start_site import running_site
from service.cli.services.up import announced, stop_on_signals
from tools.demo.console import on_console
from tools.demo.gerrit import on_gerrit
from tools.demo.gerrit_server import fetch_gerrit
from tools.demo.history.commits import HISTORY
from tools.demo.history.load import MACHINE
from tools.demo.next_steps import closing_lines
from tools.demo.place import empty, log_below, plane_of
from tools.demo.runner import Runner
from tools.demo.scenario import SCENARIOS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from service.cli.services.child_processes import Site
    from tools.demo.backend import Backend, Uploaded
    from tools.demo.scenario import Upload

_NATIVE: Final = Path(__file__).resolve().parents[2] / "native"
_INSTANCE: Final = "demo"


@click.command()
@click.option(
    "--home", default="var/demo", show_default=True, type=click.Path(file_okay=False, path_type=Path)
)
@click.option(
    "--port", default=8080, show_default=True, type=click.IntRange(0, 65535), help="0: any free port."
)
@click.option("--once", is_flag=True, help="Exit after the votes.")
@click.option(
    "--only",
    "names",
    multiple=True,
    type=click.Choice(list(SCENARIOS)),
    help="Run only this scenario; repeatable.",
)
@click.option("--gerrit", "is_on_gerrit", is_flag=True, help="Use a real Gerrit, started below --home.")
@click.pass_context
def command(
    ctx: click.Context, home: Path, port: int, names: tuple[str, ...], *, once: bool, is_on_gerrit: bool
) -> None:
    """Show all of Benchgate on this machine.

    Creates a small repository with four real C++ systems and their benchmarks, and a history of sixty merged
    commits whose measurements were recorded earlier. For each system, uploads one change that speeds it up
    and one that reverts it; then a change in which a test fails, for you to make its failure known. Prints
    each message and vote as on Gerrit, on two idle CPUs all ten within ten minutes. The dashboard then stays
    up until Ctrl-C. Deletes the content of --home first.

    With --gerrit, the changes go to a real Gerrit without its web pages, and there is no history. It needs
    Maven and Java 17 or later, and is stopped at the end.
    """
    uploads = [
        upload for name, scenario in SCENARIOS.items() if name in (names or SCENARIOS) for upload in scenario
    ]
    check_host(port, {})  # before deleting an earlier demo
    if is_on_gerrit:
        click.echo("starting Gerrit; the first time, the download takes minutes", err=True)
        fetch_gerrit()
    empty(home)
    common = {
        "BENCHGATE_INSTANCE": _INSTANCE,
        # The demo must also end on a busy machine.
        "BENCHGATE_WAITS_FOR_QUIET": "false",
    }
    with (
        log_below(home),
        stop_on_signals() as stop,
        (on_gerrit if is_on_gerrit else on_console)(home, _NATIVE) as backend,
        StatusLines() as lines,
        running_site(
            home,
            port,
            ("perf",),
            lines,
            {**common, **backend.settings},
            lambda site: _load_history(site, backend, lines.say),
        ) as (site, supervisor),
        closing(plane_of(site)) as plane,
        announced(site, lines.say),
    ):
        review_site = backend.connect(plane, site)
        if url := backend.settings.get("BENCHGATE_GERRIT_URL"):
            lines.say(f"Gerrit is at {url} (REST, git and SSH, without its web pages)")
        runner = Runner(review_site, plane.server, plane.reading, supervisor.run, stop, lines.say)
        voted = runner.votes_on(uploads)
        lines.say(f"to see all of it again later: {reopening(home, backend.settings)}")
        if not once and not stop.is_set():
            failing, slower = refused(uploads, voted)
            measured = not all(upload.is_of_tests for upload in uploads)
            answer = review_site.how_to_answer(failing, slower)
            for line in closing_lines(
                site.base_url, answer, failing, slower, has_history=not is_on_gerrit, has_benchmarks=measured
            ):
                lines.say(line)
            runner.watch(failing)
    ctx.exit(EXIT_OK if [vote for _, vote in voted] == [upload.vote for upload in uploads] else EXIT_CANNOT)


def _load_history(site: Site, backend: Backend, report: Callable[[str], None]) -> None:
    if backend.load is None:
        return
    report(f"loading the recorded measurements of {len(HISTORY)} merged commits")
    with closing(plane_of(site)) as plane:
        recording = backend.load(plane, site)
    report(
        f"the machine {MACHINE!r} measured them on {recording.facts['recorded']}; the dates on the pages are "
        "made up"
    )


def refused(
    uploads: Sequence[Upload], voted: Sequence[tuple[Uploaded, int | None]]
) -> tuple[Uploaded | None, Uploaded | None]:
    """Return the last change with a −1 for a failing test, and the last with one for slower benchmarks."""
    votes = zip(uploads, voted, strict=True)
    minus = {upload.is_of_tests: uploaded for upload, (uploaded, vote) in votes if vote == -1}
    return minus.get(True), minus.get(False)


def reopening(home: Path, settings: Mapping[str, str]) -> str:
    """Make the command that starts Benchgate again with the demo's data."""
    start = f"benchgate up --home {shlex.quote(str(home))}"
    if settings["BENCHGATE_GERRIT_URL"]:  # it has ended by then
        return start
    return f"BENCHGATE_GIT_URL={shlex.quote(settings['BENCHGATE_GIT_URL'])} {start}"


if __name__ == "__main__":
    run(command)
