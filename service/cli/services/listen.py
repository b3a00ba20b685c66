"""``benchgate listen``: Gerrit's event stream alone."""

from __future__ import annotations

from contextlib import closing

import click

from service.cli.services.up import stop_on_signals
from service.config import ControlSettings
from service.domain.health import LISTEN
from service.logs import log_as_json
from service.ports.queue import Task
from service.steps.intake.listen import listen
from service.steps.intake.receive_event import receive_event
from service.wiring.control import build_control, build_stream


@click.command()
def command() -> None:
    """Store what Gerrit's stream of events says as it happens, until SIGTERM.

    What the stream cannot tell, a look at what moved finds: after each connection that was lost, and every
    minute. Needs BENCHGATE_GERRIT_SSH_HOST, _USER, _KEY and BENCHGATE_GERRIT_KNOWN_HOSTS.
    """
    log_as_json()
    settings = ControlSettings()
    stream = build_stream(settings)
    with closing(build_control(settings)) as plane, stop_on_signals() as stop:
        listen(
            stream,
            receive=lambda body: receive_event(plane.store, settings.instance, body),
            ask_to_reconcile=lambda: plane.queue.send(Task.RECONCILE, 0, ""),
            stop=stop,
            beat=lambda note: plane.upkeep.beat(LISTEN, note),
            sleep=stop.wait,
        )
