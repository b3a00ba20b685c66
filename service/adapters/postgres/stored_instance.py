"""The instance under which a database stores the changes of its review server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sqlalchemy import text

from service.adapters.postgres.faults import translated

if TYPE_CHECKING:
    from sqlalchemy import Engine

_IS_MIGRATED: Final = text("SELECT to_regclass('server') IS NOT NULL")
_FIRST: Final = text("SELECT instance FROM server ORDER BY first_contact, instance LIMIT 1")


def stored_instance(engine: Engine) -> str:
    """Return the instance of the first contact with a review server; empty if there was none.

    Raises:
        Transient: the database cannot be used now.
    """
    with translated(), engine.begin() as connection:
        if not connection.execute(_IS_MIGRATED).scalar_one():
            return ""
        return str(connection.execute(_FIRST).scalar() or "")
