"""Read-only snapshots of the database, and arguments that cannot be stored in it."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from service.adapters.postgres.faults import translated
from service.domain.errors import NotFound

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import Connection, Engine

LARGEST_INTEGER: Final = (1 << 31) - 1
LARGEST_BIGINT: Final = (1 << 63) - 1


class Snapshots:
    """Base of the readers; safe to use from several threads, as the engine's pool is."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)

    @contextmanager
    def _snapshot(self) -> Iterator[Connection]:
        with translated(), self._engine.connect() as connection:
            yield connection


def storable_number(number: int, largest: int = LARGEST_INTEGER) -> int:
    """Return a number that a column can hold; raise NotFound for any other."""
    if not 0 <= number <= largest:
        raise NotFound(f"there is no number {str(number)[:30]}")
    return number


def storable_text(text: str) -> str:
    """Return a text that PostgreSQL takes; raise NotFound for one with NUL or lone surrogates."""
    if "\0" in text or not text.isprintable():
        raise NotFound("there is nothing of that name")
    return text
