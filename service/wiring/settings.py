"""Checks of settings that have no default."""

from __future__ import annotations

from typing import Final

from service.domain.errors import BadInput

_EMBEDDED: Final = "`benchgate up` starts a server of its own and sets it"


def require(value: str, name: str, otherwise: str = _EMBEDDED) -> None:
    """Raise BadInput unless a setting has a value; ``otherwise`` says how people get one."""
    if not value:
        raise BadInput(f"{name} is not set; {otherwise}", "settings")
