"""``benchgate mcp``: serve a Benchgate server's answers to a language model."""

from __future__ import annotations

import os
from contextlib import closing
from importlib.util import find_spec

import click

from service.cli.assistant.server_api import TOKEN, ServerApi
from service.domain.values.errors import Unfit

_MISSING = (
    "`benchgate mcp` needs the package mcp; in Benchgate's clone, run: .venv/bin/pip install -e '.[mcp]'"
)


@click.command()
@click.option("--server", required=True, help="The address of a Benchgate server.")
def command(server: str) -> None:
    """Serve the changes, regressions and trends of a Benchgate server to a language model, read-only.

    An assistant starts it and talks to it over stdin and stdout, by the Model Context Protocol (MCP). Without
    a token it shows what everybody may see; BENCHGATE_TOKEN is an API token with the scope `read`.
    """
    if find_spec("mcp") is None:
        raise Unfit(_MISSING)
    from service.cli.assistant.tools import create_server  # noqa: PLC0415 - its package may be missing

    with closing(ServerApi(server, os.environ.get(TOKEN, ""))) as api:
        create_server(api).run("stdio")
