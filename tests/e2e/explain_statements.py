"""Print which constant statements of the adapters in PYTHONPATH a database can plan."""

from __future__ import annotations

import pkgutil
import sys
from contextlib import suppress
from importlib import import_module

import psycopg
from sqlalchemy import ClauseElement, Executable
from sqlalchemy.dialects.postgresql.asyncpg import dialect  # names parameters by numbers
from sqlalchemy.exc import CompileError

from service.adapters import postgres


def main(url: str) -> None:
    """Explain each statement without values of its parameters."""
    with psycopg.connect(url, autocommit=True) as connection:
        for module in pkgutil.walk_packages(postgres.__path__, f"{postgres.__name__}."):
            for name, value in vars(import_module(module.name)).items():
                if isinstance(value, Executable) and isinstance(value, ClauseElement):
                    with suppress(CompileError, psycopg.Error):
                        statement = value.compile(dialect=dialect())  # type: ignore[no-untyped-call]
                        connection.execute(f"EXPLAIN (GENERIC_PLAN) {statement}".encode())
                        sys.stdout.write(f"{module.name} {name}\n")


main(sys.argv[1])
