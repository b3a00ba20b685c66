"""Connect to PostgreSQL with every time limit set."""

from __future__ import annotations

import os
from typing import Final
from weakref import WeakSet

from sqlalchemy import Connection, Engine, create_engine
from sqlalchemy.engine import make_url

# A call without a time limit eventually stops everything that waits for it.
_SESSION: Final = {
    "timezone": "UTC",
    "statement_timeout": "120s",  # the largest build's results take a few seconds
    "lock_timeout": "20s",  # planning a run holds its locks for a second or two
    "idle_in_transaction_session_timeout": "300s",  # a step that hangs must not hold its locks for ever
}
_CONNECT: Final = {
    "connect_timeout": 10,
    "application_name": "benchgate",
    # A server that vanished without closing its connections is noticed within a minute.
    "keepalives_idle": 15,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
}
_engines: WeakSet[Engine] = WeakSet()


def make_engine(url: str, *, pool_size: int = 5, search_path: str = "public") -> Engine:
    """Return the connections for a database URL; each is opened when it is first needed.

    Args:
        url: ``postgresql://…``.
        pool_size: connections kept open; twice as many more may be open for a while.
        search_path: the schema of names without one, whatever the database's owner sets. Use ``pg_catalog``
            for a role with more rights than the owner: otherwise an operator that the owner makes in
            ``public`` may fit a query better than PostgreSQL's own, and runs with these rights.
    """
    session = {**_SESSION, "search_path": search_path}
    options = " ".join(f"-c {name}={value}" for name, value in session.items())
    engine = create_engine(
        make_url(url.replace("postgres://", "postgresql://", 1)).set(drivername="postgresql+psycopg"),
        isolation_level="READ COMMITTED",
        pool_pre_ping=True,
        pool_size=pool_size,
        max_overflow=2 * pool_size,
        hide_parameters=True,  # values come from patch sets; errors end in logs
        connect_args={**_CONNECT, "options": options},
    )
    _engines.add(engine)
    return engine


def connect_apart(engine: Engine) -> Connection:
    """Open a session outside the pool, without transactions; closing it releases all its locks."""
    connection = engine.connect().execution_options(isolation_level="AUTOCOMMIT")
    connection.detach()
    return connection


def _leave_connections_to_parent() -> None:
    # A connection that two processes write to is broken for both.
    for engine in _engines:
        engine.dispose(close=False)


os.register_at_fork(after_in_child=_leave_connections_to_parent)
