"""``benchgate serve``: the web part alone."""

from __future__ import annotations

import click
import uvicorn

from service.cli.services.preconditions import check_port
from service.config import ControlSettings
from service.wiring.control import build_control


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="Where to listen.")
@click.option("--port", default=8080, show_default=True, type=click.IntRange(0, 65535))
def command(host: str, port: int) -> None:
    """Serve webhooks, API and pages.

    Needs BENCHGATE_DATABASE_URL and BENCHGATE_REDIS_URL; `benchgate up` starts everything at once.
    """
    # What cannot work is said here, by a clear line.
    build_control(ControlSettings()).close()
    check_port(host, port)
    # No access log: the webhook's path holds its secret.
    uvicorn.run(
        "service.main:create_app",
        factory=True,
        host=host,
        port=port,
        access_log=False,
        server_header=False,
        log_level="warning",
    )
