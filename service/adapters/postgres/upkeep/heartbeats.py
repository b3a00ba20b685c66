"""Signs of life of machines and parts of the service."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sqlalchemy import bindparam, text
from typing_extensions import override

from service.adapters.postgres.short_transactions import Session
from service.adapters.postgres.storable import CleanText
from service.ports.upkeep import Heartbeats

if TYPE_CHECKING:
    from collections.abc import Sequence

SEEN_WITHIN_SECONDS: Final = 60  # every machine is asked for a sign of life twice in that time

_POOLS = text(
    "SELECT DISTINCT pool FROM machine WHERE last_seen_at > now() - interval '10 minutes' ORDER BY pool"
)
_BEAT = text("""
INSERT INTO pulse (part, beat_at, note, trouble) VALUES (:part, now(), :note, :trouble)
ON CONFLICT (part) DO UPDATE
SET beat_at = excluded.beat_at, note = excluded.note, trouble = excluded.trouble
""").bindparams(bindparam("note", type_=CleanText), bindparam("trouble", type_=CleanText))


class PostgresHeartbeats(Session, Heartbeats):
    """Machines in the table ``machine``, parts of the service in ``pulse``."""

    @override
    def pools(self) -> Sequence[str]:
        with self._begin() as connection:
            return connection.execute(_POOLS).scalars().all()

    @override
    def beat(self, part: str, note: str = "", trouble: str = "") -> None:
        with self._begin() as connection:
            connection.execute(_BEAT, {"part": part, "note": note, "trouble": trouble})
