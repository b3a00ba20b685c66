"""``benchgate serve``: run the web server."""

from __future__ import annotations

from contextlib import closing

import click
import uvicorn

from service.cli.services.described_settings import record_start
from service.cli.services.preconditions import check_port
from service.config.control import ControlSettings
from service.web.request_deadline import DeadlineProtocol
from service.wiring.control import build_control
from service.wiring.logs import log_as_json


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option("--port", default=8080, show_default=True, type=click.IntRange(0, 65535))
def command(host: str, port: int) -> None:
    """Serve webhooks, API and pages.

    Needs BENCHGATE_DATABASE_URL and BENCHGATE_REDIS_URL. To start everything at once, use `benchgate up`.
    """
    settings = ControlSettings()
    # Bad settings fail here, with one clear line.
    with closing(build_control(settings)) as plane:
        check_port(host, port)
        log_as_json()
        record_start(plane, settings, "benchgate serve")
    # No access log: the webhook's path holds its secret.
    uvicorn.run(
        "service.main:create_app",
        factory=True,
        host=host,
        port=port,
        http=DeadlineProtocol,
        access_log=False,
        server_header=False,
        log_level="warning",
    )
