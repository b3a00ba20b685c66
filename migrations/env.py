"""Alembic's environment: one process migrates at a time, and never waits long for a table in use."""

from __future__ import annotations

from typing import Final

from alembic import context
from sqlalchemy import text

from service.adapters.postgres.engine import make_engine

_LOCK: Final = 0x62656E636867  # "benchg"; any number that no other program uses


def _url() -> str:
    """Get the database URL from the caller, or from ``alembic -x url=postgresql://… upgrade head``."""
    url = context.config.attributes.get("url") or context.get_x_argument(as_dictionary=True).get("url")
    if not url:
        raise SystemExit("name the database: alembic -x url=postgresql://… …")
    return str(url)


def _run() -> None:
    engine = make_engine(_url(), pool_size=1)
    try:
        with engine.connect() as connection:
            context.configure(connection=connection, transaction_per_migration=False)
            with context.begin_transaction():
                # Wait for another migration without a limit.
                connection.execute(text("SET LOCAL lock_timeout = 0"))
                connection.execute(text("SET LOCAL statement_timeout = '15min'"))
                connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK})
                # Wait for a table only for a short time, because all other sessions queue behind this one.
                connection.execute(text("SET LOCAL lock_timeout = '5s'"))
                context.run_migrations()
    finally:
        engine.dispose()


if context.is_offline_mode():
    raise SystemExit("migrations read the database, so --sql is not supported")
_run()
