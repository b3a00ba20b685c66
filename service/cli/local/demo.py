"""``benchgate demo``: a hint, because the demo needs a checkout of Benchgate."""

from __future__ import annotations

import click

from service.domain.values.errors import BadInput


@click.command()
def command() -> None:
    """Explain how to start the demo."""
    raise BadInput("the demo needs the C++ sources of a Benchgate checkout; run `make demo` in a checkout")
