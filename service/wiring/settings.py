"""Checks of settings without a default."""

from __future__ import annotations

from typing import Final

from service.domain.errors import BadInput

_EMBEDDED: Final = "`benchgate up` starts a server and sets it"


def require(value: str, name: str, otherwise: str = _EMBEDDED) -> None:
    """Raise BadInput if a setting has no value; ``otherwise`` is the advice in the message."""
    if not value:
        raise BadInput(f"{name} is not set; {otherwise}", "settings")
