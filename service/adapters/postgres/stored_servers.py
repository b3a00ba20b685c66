"""Remember which review servers a database stores changes of, and their addresses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from sqlalchemy import text

from service.adapters.postgres.faults import translated

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Engine

_IS_MIGRATED: Final = text("SELECT to_regclass('server') IS NOT NULL")
# Before a process checked the name, the review server could be renamed: then each name has a row.
_ALL: Final = text("SELECT instance, url FROM server ORDER BY seen_until DESC, instance")
_RECORD: Final = text("""
UPDATE server SET url = :url
WHERE instance = :instance AND coalesce(url, '') = '' AND url IS DISTINCT FROM :url
""")
_MOVE: Final = text("UPDATE server SET url = :url WHERE instance = :instance")


@dataclass(frozen=True, slots=True)
class StoredServer:
    """A review server; ``url`` is empty for the console, and None until the first contact of this version."""

    instance: str
    url: str | None


def stored_servers(engine: Engine) -> Sequence[StoredServer]:
    """Return the review servers, by last contact, newest first.

    Raises:
        Transient: the database cannot be used now.
    """
    with translated(), engine.begin() as connection:
        if not connection.execute(_IS_MIGRATED).scalar_one():
            return ()
        return tuple(StoredServer(row.instance, row.url) for row in connection.execute(_ALL))


def record_url(engine: Engine, instance: str, url: str) -> None:
    """Store the address of a review server that answered, unless one is stored."""
    with translated(), engine.begin() as connection:
        connection.execute(_RECORD, {"instance": instance, "url": url})


def move_server(engine: Engine, instance: str, url: str) -> bool:
    """Store the new address of a review server; return False if no change of it is stored."""
    with translated(), engine.begin() as connection:
        return connection.execute(_MOVE, {"instance": instance, "url": url}).rowcount > 0
