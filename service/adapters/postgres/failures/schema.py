"""Declare the tables of failures, in the same metadata as the others."""

from __future__ import annotations

from typing import Final

from sqlalchemy import BigInteger, Boolean, Column, ForeignKey, Identity, Integer, LargeBinary, Table, text
from sqlalchemy.dialects.postgresql import TIMESTAMP

from service.adapters.postgres import schema as t
from service.adapters.postgres.storable import CleanText

_MOMENT: Final = TIMESTAMP(timezone=True)
_NOW: Final = text("now()")
_EMPTY: Final = text("''::text")

signature: Final = Table(
    "signature",
    t.metadata,
    Column("id", BigInteger, Identity(always=True), primary_key=True),
    Column("digest", LargeBinary, nullable=False, unique=True),
    *(Column(name, CleanText, nullable=False) for name in ("kind", "subject", "text")),
    *(
        Column(name, _MOMENT, nullable=False, server_default=_NOW)
        for name in ("first_seen_at", "last_seen_at")
    ),
)

failure: Final = Table(
    "failure",
    t.metadata,
    Column("build_id", ForeignKey(t.build.c.id), primary_key=True),
    Column("position", Integer, primary_key=True, autoincrement=False),
    Column("signature_id", ForeignKey(signature.c.id), nullable=False),
    Column("headline", CleanText, nullable=False),
    *(Column(name, CleanText, nullable=False, server_default=_EMPTY) for name in ("line", "place")),
    Column("is_cleared", Boolean, nullable=False, server_default=text("false")),
)

known_failure: Final = Table(
    "known_failure",
    t.metadata,
    Column("id", BigInteger, Identity(always=True), primary_key=True),
    Column("signature_id", ForeignKey(signature.c.id)),
    Column("pattern", CleanText, nullable=False, server_default=_EMPTY),
    *(Column(name, CleanText, nullable=False) for name in ("instance", "project")),
    *(
        Column(name, CleanText, nullable=False, server_default=_EMPTY)
        for name in ("branch", "job", "host", "bug", "reason", "owner", "assignee")
    ),
    Column("state", CleanText, nullable=False),
    Column("created_at", _MOMENT, nullable=False, server_default=_NOW),
    Column("expires_at", _MOMENT, nullable=False),
)

known_match: Final = Table(
    "known_match",
    t.metadata,
    Column("run_id", ForeignKey(t.run.c.id), primary_key=True),
    Column("build_id", ForeignKey(t.build.c.id), primary_key=True),
    Column("position", Integer, primary_key=True, autoincrement=False),
    Column("known_id", ForeignKey(known_failure.c.id), nullable=False),
    Column("matched_at", _MOMENT, nullable=False, server_default=_NOW),
)
