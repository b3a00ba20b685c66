"""``benchgate replay``: feed recorded Gerrit events to the service."""

from __future__ import annotations

from contextlib import closing
from itertools import chain
from typing import TYPE_CHECKING, BinaryIO

import click

from service.adapters.review.gerrit.events import parse_event
from service.cli.services.find_site import home_option, settings_of_running_site
from service.domain.values.errors import BadEvent
from service.steps.review.receive_event import receive_event
from service.wiring.control import Control, build_control

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


@click.command()
@home_option
@click.argument("files", nargs=-1, required=True, type=click.File("rb"))
@click.pass_context
def command(ctx: click.Context, home: Path, files: tuple[BinaryIO, ...]) -> None:
    """Feed Gerrit events from files (`-`: stdin), one JSON object per line as `stream-events` prints them.

    The console review server applies each event, and the service checks each change that an event names. A
    line that is not an event is reported and skipped; the exit code is then 2.
    """
    settings = settings_of_running_site(home)
    fed, bad = 0, 0
    with closing(build_control(settings)) as plane:
        for place, line in chain.from_iterable(map(_lines, files)):
            try:
                feed(plane, settings.instance, line)
                fed += 1
            except BadEvent as error:
                bad += 1
                click.echo(f"{place}: {error}", err=True)
    click.echo(f"fed {fed} events, skipped {bad}", err=True)
    ctx.exit(2 if bad else 0)


def feed(plane: Control, instance: str, body: bytes) -> None:
    """Apply one event to the console review server, then store it for the service.

    Raises:
        BadEvent: the line is not a Gerrit event.
    """
    plane.console.apply_event(body)
    receive_event(plane.store, parse_event, instance, body)


def _lines(file: BinaryIO) -> Iterable[tuple[str, bytes]]:
    data = file.read()
    # A file with a single event may be indented over many lines.
    if data.lstrip().partition(b"\n")[0].strip() == b"{":
        return [(file.name, data)]
    return [(f"{file.name}:{n}", line) for n, line in enumerate(data.splitlines(), 1) if line.strip()]
