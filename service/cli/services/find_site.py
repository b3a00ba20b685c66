"""Find the site that runs from a home: its addresses, and the name of its review server."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import click

from service.adapters.embedded.postgres import EmbeddedPostgres
from service.adapters.embedded.valkey import EmbeddedValkey
from service.config.control import ControlSettings
from service.domain.values.errors import BadInput

_VARIABLE: Final = "BENCHGATE_INSTANCE"
_FILE: Final = "instance"
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


def instance_of(home: Path, settings: ControlSettings) -> str:
    """Return the name under which a home stores the review server's changes, or that of the settings.

    Raises:
        BadInput: the settings name another instance; all open changes would be stored again under it.
    """
    given = settings.instance if "instance" in settings.model_fields_set else ""
    path = home / _FILE
    own = path.read_text(encoding="utf-8").strip() if path.exists() else ""
    if own and given and own != given:
        raise BadInput(
            f"is {given}, but {home} stores the changes of {own}; unset the variable, or choose another "
            "--home",
            _VARIABLE,
        )
    return own or given or settings.instance


def keep_instance(home: Path, instance: str) -> None:
    """Record the instance of a home at its first start."""
    path = home / _FILE
    if not path.exists():
        path.write_text(f"{instance}\n", encoding="utf-8")
