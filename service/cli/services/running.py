"""Finds the Benchgate that runs on this machine, for commands that talk to it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from service.adapters.embedded.postgres import EmbeddedPostgres
from service.adapters.embedded.valkey import EmbeddedValkey
from service.config import ControlSettings
from service.domain.errors import BadInput

home_option = click.option(
    "--home",
    default="var",
    show_default=True,
    envvar="BENCHGATE_HOME",
    type=click.Path(file_okay=False, path_type=Path),
    help="Where `benchgate up` keeps its data.",
)


def settings_of_running_site(home: Path) -> ControlSettings:
    """The environment's settings; others are those of the ``benchgate up`` of ``home``.

    Raises:
        BadInput: nothing was ever started there.
    """
    settings = ControlSettings()
    found: dict[str, Any] = {"home": home.absolute()}
    if not settings.database_url:
        found["database_url"] = EmbeddedPostgres(
            _started(home, "postgres", "BENCHGATE_DATABASE_URL")
        ).address.owner_url
    if not settings.redis_url:
        found["redis_url"] = EmbeddedValkey(
            _started(home, "valkey", "BENCHGATE_REDIS_URL")
        ).address.broker_url
    return settings.model_copy(update=found)


def _started(home: Path, server: str, variable: str) -> Path:
    directory = home.absolute() / server
    if not directory.is_dir():
        raise BadInput(f"no `benchgate up` was started with --home {home}, and {variable} names no server")
    return directory
