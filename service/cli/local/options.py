"""Options that the commands which build and measure on a developer's machine share."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import click

MOST_MINUTES: Final = 24 * 60  # a build of the service has as much


def _not_empty(_: click.Context, __: click.Parameter, value: str) -> str:
    if not value:
        raise click.BadParameter("it is empty, and names no benchmark")
    return value


REPO: Final = click.option(
    "--repo", default=".", show_default=True, type=click.Path(exists=True, file_okay=False, path_type=Path)
)
PROJECT_FILE: Final = click.option(
    "--project-file",
    type=click.Path(exists=True, dir_okay=False, allow_dash=True),
    help="Use this file instead of the base's benchgate.yaml; `-` reads stdin.",
)
BENCHMARK: Final = click.option(
    "--benchmark",
    required=True,
    callback=_not_empty,
    help="Its name, or a part of it that no other benchmark has.",
)
ONE_JOB: Final = click.option(
    "--job", "job_name", help="The job of benchgate.yaml; needed if several measure both sides."
)
MINUTES: Final = click.option(
    "--minutes",
    type=click.IntRange(1, MOST_MINUTES),
    help="Use this machine time for each comparison, instead of the policy's.",
)
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
        "waiting for another `benchgate gate`, `bisect` or `why` on this machine: side by side, they would "
        "disturb each other",
        err=True,
    )
