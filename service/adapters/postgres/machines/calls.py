"""Call the stored functions; a machine may use nothing else in the database."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import bindparam, text
from sqlalchemy.exc import DBAPIError

from service.adapters.postgres.faults import translated
from service.adapters.postgres.storable import CleanJson, CleanText
from service.domain.values.errors import LeaseLost

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlalchemy import Connection, Engine, Row, TextClause
    from sqlalchemy.types import TypeEngine

LEASE_LOST: Final = "BG001"  # SQLSTATE of a refused, stale token


def _function(function: str, /, **parameters: type[TypeEngine[Any]] | None) -> TextClause:
    listed = ", ".join(f":{parameter}" for parameter in parameters)
    statement = text(f"SELECT * FROM machine.{function}({listed})")  # noqa: S608 - names from below only
    typed = [bindparam(parameter, type_=kind) for parameter, kind in parameters.items() if kind is not None]
    return statement.bindparams(*typed)


_LEASE: Final[Mapping[str, None]] = {"build": None, "token": None}
_FUNCTIONS: Final = {
    "introduce": _function(
        "introduce",
        name=CleanText,
        machine_class=CleanText,
        pool=CleanText,
        host=CleanText,
        builds_beside=None,
        fingerprint=CleanText,
        facts=CleanJson,
        about=CleanJson,
    ),
    "seconds_silent": _function("seconds_silent", host=CleanText),
    "see": _function("see", name=CleanText, obstacle=CleanText),
    "peek": _function("peek", name=CleanText),
    "claim": _function("claim", name=CleanText, seconds=None, may_measure=None),
    "renew": _function("renew", **_LEASE, seconds=None, phase=CleanText),
    "asked_by": _function("asked_by", **_LEASE),
    "find_binary": _function("find_binary", **_LEASE, digest=CleanText),
    "keep_binary": _function(
        "keep_binary", **_LEASE, digest=CleanText, artifact=CleanText, manifest=CleanJson
    ),
    "fix_listing": _function("fix_listing", **_LEASE, listing=CleanJson),
    "read_pairs": _function("read_pairs", **_LEASE),
    "record_pair": _function(
        "record_pair", **_LEASE, variant=None, pair=None, artifact=CleanText, launches=CleanJson
    ),
    "add_log_chunk": _function(
        "add_log_chunk", **_LEASE, number=None, start=None, line=None, size=None, artifact=CleanText
    ),
    "show_log_end": _function("show_log_end", **_LEASE, start=None, line=None, data=None),
    "execute": _function("execute", **_LEASE, execution=CleanJson, log=CleanText),
    "report": _function("report", **_LEASE, execution=CleanJson, log=CleanText),
    "explain": _function("explain", **_LEASE, packed=None),
    "release": _function("release", **_LEASE, delay=None),
}


def call(engine: Engine, function: str, **values: object) -> Sequence[Row[Any]]:
    """Return the rows of one function, called in a transaction of its own.

    Raises:
        LeaseLost: the token is not the build's any more.
        Transient: the database cannot be used now; the call may have happened nevertheless.
    """
    with translated(), engine.begin() as connection:
        return call_on(connection, function, **values)


def call_on(connection: Connection, function: str, **values: object) -> Sequence[Row[Any]]:
    """Return the rows of one function on an open connection; raises as ``call`` does, except Transient."""
    try:
        return connection.execute(_FUNCTIONS[function], values).all()
    except DBAPIError as error:
        if getattr(error.orig, "sqlstate", None) == LEASE_LOST:
            raise LeaseLost("another worker holds the build, or the lease ran out") from error
        raise
