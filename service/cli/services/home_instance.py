"""Keep the instance of a home: its database stores the review server's changes under this name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from service.domain.values.errors import BadInput

if TYPE_CHECKING:
    from pathlib import Path

    from service.config import ControlSettings

_VARIABLE: Final = "BENCHGATE_INSTANCE"
_FILE: Final = "instance"


def instance_of(home: Path, settings: ControlSettings) -> str:
    """Return the instance of a home, or that of the settings for a home without one.

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
