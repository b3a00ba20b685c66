"""``benchgate listen``: read Gerrit's event stream."""

from __future__ import annotations

from contextlib import closing

import click

from service.adapters.review.gerrit.events import parse_event
from service.cli.services.described_settings import record_start
from service.cli.services.up import stop_on_signals
from service.config.control import ControlSettings
from service.domain.runs.health import LISTEN
from service.domain.values.errors import BadInput
from service.ports.runs.queue import Task, reconciliation
from service.steps.review.listen import Actions, Timing, listen
from service.steps.review.receive_event import receive_event
from service.wiring.control import build_control, build_stream
from service.wiring.logs import log_as_json


@click.command()
@click.option("--instance", help="The Gerrit, if BENCHGATE_GERRITS has several with an event stream.")
def command(instance: str | None) -> None:
    """Store the events of Gerrit's event stream as they happen, until SIGTERM.

    After each lost connection, and every minute, Benchgate also asks Gerrit for recently updated changes, to
    find what the stream missed. Needs BENCHGATE_GERRIT_SSH_HOST, BENCHGATE_GERRIT_SSH_KEY,
    BENCHGATE_GERRIT_KNOWN_HOSTS and BENCHGATE_GERRIT_SSH_USER or BENCHGATE_GERRIT_USER. With several Gerrits,
    each stream needs a process of its own.
    """
    log_as_json()
    settings = ControlSettings()
    name = instance or _only(settings)
    stream = build_stream(settings, name)
    with closing(build_control(settings)) as plane, stop_on_signals() as stop:
        record_start(plane, settings, "benchgate listen")
        task = reconciliation(settings.instances.index(name), is_full=False)
        actions = Actions(
            parse=parse_event,
            receive=lambda body: receive_event(plane.store, parse_event, name, body),
            request_reconciliation=lambda: plane.queue.send(Task.RECONCILE, task, ""),
            beat=lambda note, trouble: plane.upkeep.beat(plane.part(LISTEN, name), note, trouble),
        )
        listen(stream, actions, stop, Timing(stop.wait))


def _only(settings: ControlSettings) -> str:
    streams = settings.event_streams
    if len(streams) > 1:
        raise BadInput(f"name one of {', '.join(streams)}, which have an event stream each", "--instance")
    return streams[0] if streams else settings.instances[0]
