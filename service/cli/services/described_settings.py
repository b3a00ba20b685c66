"""Settings as the audit log records them: without secrets."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final

from pydantic import SecretStr

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
        f"BENCHGATE_{name.upper()}": _is_set(value) if name in _SECRET_URLS else _text(value)
        for name, value in settings
    }


def _text(value: Any) -> str:  # noqa: ANN401 - whatever a setting is
    match value:
        case SecretStr():
            return _is_set(value.get_secret_value())
        case [SecretStr(), *_]:
            return f"{len(value)} set"
        case list() | dict():
            return _CREDENTIALS.sub("://…@", json.dumps(value, ensure_ascii=False, sort_keys=True))
        case None:
            return ""
        case _:
            return _CREDENTIALS.sub("://…@", str(value))


def _is_set(value: object) -> str:
    return "set" if value else "not set"
