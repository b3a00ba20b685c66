"""Close and reopen hosts in a unit of work."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Final

from sqlalchemy import insert, text
from typing_extensions import override

from service.adapters.postgres import schema as t
from service.adapters.postgres.connection import Connected
from service.adapters.postgres.storable import clean
from service.domain.values.errors import NotFound
from service.domain.values.text import plain
from service.ports.machines import Closures

if TYPE_CHECKING:
    from collections.abc import Sequence

    from service.domain.machines.closures import Closing

_IS_KNOWN: Final = text("SELECT FROM machine WHERE host = :host LIMIT 1")
# Claims of the host's machines hold it until they end.
_LOCK: Final = text("SELECT pg_advisory_xact_lock(hashtext('host ' || :host))")
_HOSTS: Final = text("SELECT DISTINCT host FROM machine WHERE pool = :pool ORDER BY host")
# An end that has passed keeps a closure from being current, also one that had yet to begin.
_REOPEN: Final = text("""
WITH unfinished AS (
    SELECT id, begins_at <= now() AS is_current, row_number() OVER (ORDER BY begins_at, id) AS place
    FROM closure
    WHERE host = :host AND (ends_at IS NULL OR ends_at > greatest(begins_at, now()))
)
UPDATE closure SET ends_at = now() WHERE id IN (SELECT id FROM unfinished WHERE is_current OR place = 1)
RETURNING id
""")


class PostgresClosures(Connected, Closures):
    """Rows of the table ``closure``."""

    @override
    def close(self, host: str, closing: Closing) -> None:
        host = self._known(host)
        self._execute(_LOCK, {"host": host})
        given = {name: value for name, value in asdict(closing).items() if value is not None}
        self._execute(insert(t.closure).values(host=host, **given))

    @override
    def reopen(self, host: str) -> bool:
        return bool(self._execute(_REOPEN, {"host": self._known(host)}).all())

    @override
    def hosts(self, pool: str) -> Sequence[str]:
        return self._execute(_HOSTS, {"pool": clean(pool)}).scalars().all()

    def _known(self, name: str) -> str:
        host = clean(name)
        if self._execute(_IS_KNOWN, {"host": host}).first() is None:
            raise NotFound(f"no machine of a host {plain(name, 100)} has ever registered")
        return host
