"""Runs migrations, one process at a time, without ever waiting long for a table in use."""

from __future__ import annotations

from typing import Final

from alembic import context
from sqlalchemy import text

from service.adapters.postgres.engine import make_engine
from service.adapters.postgres.schema.tables import metadata

_LOCK: Final = 0x62656E636867  # "benchg"; any number will do that nothing else uses


def _url() -> str:
    """The database: from the caller, or ``alembic -x url=postgresql://… upgrade head``."""
    url = context.config.attributes.get("url") or context.get_x_argument(as_dictionary=True).get("url")
    if not url:
        raise SystemExit("name the database: alembic -x url=postgresql://… …")
    return str(url)


def _run() -> None:
    engine = make_engine(_url(), pool_size=1)
    with engine.connect() as connection:
        context.configure(connection=connection, target_metadata=metadata, transaction_per_migration=False)
        with context.begin_transaction():
            # Waiting for another migration may take as long as that takes …
            connection.execute(text("SET LOCAL lock_timeout = 0"))
            connection.execute(text("SET LOCAL statement_timeout = '15min'"))
            connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK})
            # … but whoever waits for a table makes all others wait behind it.
            connection.execute(text("SET LOCAL lock_timeout = '5s'"))
            context.run_migrations()
    engine.dispose()


if context.is_offline_mode():
    raise SystemExit("migrations look at the database; --sql is not supported")
_run()
