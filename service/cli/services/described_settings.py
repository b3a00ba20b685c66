"""Settings as the audit log records them: without secrets."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pydantic import BaseModel, SecretStr

if TYPE_CHECKING:
    from collections.abc import Mapping

    from service.config import ControlSettings

# Addresses whose every part may be secret: the password may also stand in the query.
_SECRET_URLS: Final = frozenset({"database_url", "redis_url"})
# Greedy: a password may have an @ or a slash that somebody forgot to quote.
_CREDENTIALS: Final = re.compile(r"://\S*@")


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
            return _CREDENTIALS.sub("://…@", str(value))
        case _:
            return value


def _is_set(value: object) -> str:
    return "set" if value else "not set"
