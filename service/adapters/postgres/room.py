"""Find out whether a database can write: reading goes on when its disk is full."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from psycopg.errors import ConfigurationLimitExceeded
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from service.adapters.postgres.faults import translated
from service.domain.values.errors import Transient

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy import Engine

_AGAIN_SECONDS: Final = 30.0
_CANNOT: Final = "it cannot write, so nothing is stored and votes wait"
# Sorting more than it may hold in memory, the server writes 16 MiB to a file that it removes at once: as much
# as a segment of its log.
_TRY: Final = text("""
SELECT count(*) FROM (
    SELECT repeat('x', 1000) || number AS line FROM generate_series(1, 16000) AS number ORDER BY 1 OFFSET 0
) AS lines
""")


class DatabaseRoom:
    """Try to write a temporary file in a database, twice a minute at most.

    Args:
        engine: connects as the owner.
        clock: monotonic seconds.
    """

    def __init__(self, engine: Engine, clock: Callable[[], float] = time.monotonic) -> None:
        self._engine = engine
        self._clock = clock
        self._asked_at = -_AGAIN_SECONDS
        self._problem = ""

    def check(self) -> str:
        """Return why the database cannot write; empty if it can."""
        if self._clock() - self._asked_at >= _AGAIN_SECONDS:
            self._asked_at = self._clock()
            self._problem = self._try()
        return self._problem

    def _try(self) -> str:
        try:
            with translated(), self._engine.begin() as connection:
                connection.execute(text("SET LOCAL work_mem = '64kB'"))
                connection.execute(_TRY)
                if connection.execute(text("SHOW transaction_read_only")).scalar_one() == "on":
                    return f"{_CANNOT}: it is read-only"
        except Transient as error:
            cause = error.__cause__
            if isinstance(cause, DBAPIError) and isinstance(cause.orig, ConfigurationLimitExceeded):
                return ""  # the operator limits temporary files
            return f"{_CANNOT}: {error}"
        return ""
