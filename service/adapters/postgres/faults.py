"""Translate PostgreSQL's passing faults."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import psycopg
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from service.domain.values.errors import Transient

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def translated() -> Iterator[None]:
    """Raise Transient for a fault that may pass; raise any other error as it is.

    Lost connections, shutdowns, deadlocks, serialization failures, exhausted resources and time limits may
    pass: psycopg calls all of them operational.
    """
    try:
        yield
    except DBAPIError as error:
        if isinstance(error.orig, psycopg.OperationalError) or error.connection_invalidated:
            raise Transient(_first_line(error.orig)) from error
        raise
    except (psycopg.OperationalError, PoolTimeout) as error:
        raise Transient(_first_line(error)) from error


def _first_line(error: BaseException | None) -> str:
    # Later lines repeat the statement and its values, which have no place in a log.
    return f"database: {(str(error).splitlines() or ['no answer'])[0]}"
