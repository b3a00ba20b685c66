"""Options that the commands which build and measure on a developer's machine share."""

from __future__ import annotations

from typing import Final

import click

MOST_MINUTES: Final = 24 * 60  # a build of the service has as much

SEED: Final = click.option(
    "--seed", help="Repeat the random choices of an earlier call, which printed this seed."
)
NO_SANDBOX: Final = click.option(
    "--no-sandbox",
    is_flag=True,
    help="Run the programs with your own permissions; use it only for code that you trust.",
)
AS_JSON: Final = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


def say_wait() -> None:
    """Say that another call measures on this machine."""
    click.echo(
        "waiting for another `benchgate gate` or `bisect` on this machine: side by side, they would disturb "
        "each other",
        err=True,
    )
