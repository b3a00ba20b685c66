"""The instance under which a database stores the changes of its review server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sqlalchemy import text

from service.adapters.postgres.faults import translated

if TYPE_CHECKING:
    from sqlalchemy import Engine

_IS_MIGRATED: Final = text("SELECT to_regclass('server') IS NOT NULL")
# Before a process checked the name, the review server could be renamed: then each name has a row.
_LAST: Final = text("SELECT instance FROM server ORDER BY seen_until DESC, instance LIMIT 1")


def stored_instance(engine: Engine) -> str:
    """Return the instance of the last contact with a review server; empty if there was none.

    Raises:
        Transient: the database cannot be used now.
    """
    with translated(), engine.begin() as connection:
        if not connection.execute(_IS_MIGRATED).scalar_one():
            return ""
        return str(connection.execute(_LAST).scalar() or "")
