"""Describe settings for the audit log, without secrets."""

from __future__ import annotations

import json
import re
import socket
from pathlib import Path
from typing import TYPE_CHECKING, Final

import structlog
from pydantic import BaseModel, SecretStr

from service.domain.values.errors import Permanent, Transient
from service.steps.access.record_settings import StartedProgram, record_settings

if TYPE_CHECKING:
    from collections.abc import Mapping

    from service.config.control import ControlSettings
    from service.wiring.control import Control

# Every part of these addresses may be secret: the password may also be in the query.
_SECRET_URLS: Final = frozenset({"database_url", "redis_url"})
_LOG = structlog.get_logger(__name__)


def record_start(plane: Control, settings: ControlSettings, command: str) -> None:
    """Record the settings of a starting command; log a warning if the database cannot be used."""
    program = StartedProgram(command, socket.gethostname())
    try:
        record_settings(plane.store, plane.audit_log, program, describe_settings(settings))
    except (Transient, Permanent) as error:
        # The pages and /readyz report what is wrong with the database.
        _LOG.warning("audit.settings_not_recorded", error=str(error))


def describe_settings(settings: ControlSettings) -> Mapping[str, str]:
    """Return each setting by the name of its variable; of a secret, only whether it is set."""
    return {
        f"BENCHGATE_{name.upper()}": _is_set(value) if name in _SECRET_URLS else _text(_shown(value))
        for name, value in settings
    }


def _text(value: object) -> str:
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value, ensure_ascii=False, sort_keys=True)


def _shown(value: object) -> object:
    """Return a value without the secrets in it."""
    match value:
        case SecretStr():
            return _is_set(value.get_secret_value())
        case BaseModel():
            return {name: _shown(item) for name, item in value}
        case dict():
            return {name: _shown(item) for name, item in value.items()}
        case list() | tuple():
            return [_shown(item) for item in value]
        case str() | Path():
            return _without_secrets(str(value))
        case _:
            return value


def _without_secrets(text: str) -> str:
    """Leave out the credentials and the query of an address, which may have a token."""
    scheme, separator, rest = text.partition("://")
    # Up to the last @: a password may have an @ or a slash that somebody forgot to quote.
    credentials, at, place = rest.rpartition("@")
    path, *query = re.split(r"[?#]", place, maxsplit=1)
    if not separator:
        return text
    if re.search(r"[?#]", credentials):  # an @ of a query, or a ? of a password
        return f"{scheme}://…"
    return f"{scheme}://{'…@' if at else ''}{path}{'?…' if query else ''}"


def _is_set(value: object) -> str:
    return "set" if value else "not set"
