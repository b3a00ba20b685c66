"""Untrusted keys of look-ups: a key that no row can have is not found."""

from __future__ import annotations

from service.adapters.postgres.storable import LARGEST_INTEGER
from service.domain.errors import NotFound


def number_key(number: int, largest: int = LARGEST_INTEGER) -> int:
    """Return a number that a column can hold; raise NotFound for any other."""
    if not 0 <= number <= largest:
        raise NotFound(f"there is no number {str(number)[:30]}")
    return number


def text_key(text: str) -> str:
    """Return a printable text; raise NotFound for any other, because all names are printable."""
    if not text.isprintable():
        raise NotFound("there is nothing of that name")
    return text
