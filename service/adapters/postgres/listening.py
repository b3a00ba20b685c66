"""Wait for notifications of new rows in the outbox, instead of polling it."""

from __future__ import annotations

import psycopg
from sqlalchemy.engine import make_url

from service.domain.values.errors import Transient


class OutboxListener:
    """Listen to ``NOTIFY outbox`` on a connection of its own; reconnect after a loss.

    Args:
        url: the database, as for the engine.
    """

    def __init__(self, url: str) -> None:
        plain = make_url(url.replace("postgres://", "postgresql://", 1)).set(drivername="postgresql")
        self._dsn = plain.render_as_string(hide_password=False)
        self._connection: psycopg.Connection | None = None

    def wait(self, seconds: float) -> None:
        """Return at the first notification, at the latest after ``seconds``.

        Raises:
            Transient: the database cannot be reached; the next call tries again.
        """
        try:
            if self._connection is None:
                self._connection = psycopg.connect(self._dsn, autocommit=True, connect_timeout=10)
                self._connection.execute("LISTEN outbox")
            for _ in self._connection.notifies(timeout=seconds, stop_after=1):
                break
        except psycopg.Error as error:
            self.close()
            raise Transient(f"the database cannot be listened to: {error}") from error

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None
