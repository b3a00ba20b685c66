"""``benchgate listen``: the reader of Gerrit's event stream."""

from __future__ import annotations

from contextlib import closing

import click

from service.cli.services.up import stop_on_signals
from service.config import ControlSettings
from service.domain.health import LISTEN
from service.logs import log_as_json
from service.ports.queue import Task
from service.steps.intake.listen import Actions, Timing, listen
from service.steps.intake.receive_event import receive_event
from service.wiring.control import build_control, build_stream


@click.command()
def command() -> None:
    """Store the events of Gerrit's event stream as they happen, until SIGTERM.

    After each lost connection, and every minute, Benchgate also asks Gerrit for recently updated changes, to
    find what the stream missed. Needs BENCHGATE_GERRIT_SSH_HOST, BENCHGATE_GERRIT_SSH_KEY,
    BENCHGATE_GERRIT_KNOWN_HOSTS and BENCHGATE_GERRIT_SSH_USER or BENCHGATE_GERRIT_USER.
    """
    log_as_json()
    settings = ControlSettings()
    stream = build_stream(settings)
    with closing(build_control(settings)) as plane, stop_on_signals() as stop:
        actions = Actions(
            receive=lambda body: receive_event(plane.store, settings.instance, body),
            request_reconciliation=lambda: plane.queue.send(Task.RECONCILE, 0, ""),
            beat=lambda note, trouble: plane.upkeep.beat(LISTEN, note, trouble),
        )
        listen(stream, actions, stop, Timing(stop.wait))
