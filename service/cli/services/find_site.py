"""Find the addresses of the Benchgate that runs on this machine, for commands that connect to it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from service.adapters.embedded.postgres import EmbeddedPostgres
from service.adapters.embedded.valkey import EmbeddedValkey
from service.cli.services.home_instance import instance_of
from service.config import ControlSettings
from service.domain.values.errors import BadInput

home_option = click.option(
    "--home",
    default="var",
    show_default=True,
    envvar="BENCHGATE_HOME",
    type=click.Path(file_okay=False, path_type=Path),
    help="Data directory of `benchgate up`.",
)


def settings_of_running_site(home: Path) -> ControlSettings:
    """Read the settings from the environment, and missing addresses from the ``benchgate up`` of ``home``.

    Raises:
        BadInput: ``benchgate up`` was never started with this ``home``, or its instance is another one.
    """
    settings = ControlSettings()
    site: dict[str, Any] = {"home": home.absolute(), "instance": instance_of(home, settings)}
    if not settings.database_url:
        directory = _started(home, "postgres", "BENCHGATE_DATABASE_URL")
        site["database_url"] = EmbeddedPostgres(directory).owner_url
    if not settings.redis_url:
        directory = _started(home, "valkey", "BENCHGATE_REDIS_URL")
        site["redis_url"] = EmbeddedValkey(directory).broker_url
    return settings.model_copy(update=site)


def _started(home: Path, server: str, variable: str) -> Path:
    directory = home.absolute() / server
    if not directory.is_dir():
        raise BadInput(f"`benchgate up` was never started with --home {home}; start it, or set {variable}")
    return directory
