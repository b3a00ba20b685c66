"""Tell whether a machine holds a build."""

from __future__ import annotations

from typing import Final

from sqlalchemy import bindparam, text

from service.adapters.postgres.connection import ShortTransactions
from service.adapters.postgres.storable import CleanText

_HOLDS: Final = text("SELECT FROM lease WHERE machine = :machine AND expires_at > now() LIMIT 1").bindparams(
    bindparam("machine", type_=CleanText)
)


class HeldLeases(ShortTransactions):
    """The leases of all machines."""

    def is_held_by(self, machine: str) -> bool:
        """Return whether the machine holds a build whose lease lasts."""
        return bool(self._all(_HOLDS, machine=machine))
