"""Tables of the flow: the outbox, failures of steps, signs of life."""

from __future__ import annotations

from typing import Final

from sqlalchemy import BigInteger, Boolean, Column, Index, Integer, Table, text

from service.adapters.postgres.schema.columns import (
    EMPTY,
    MOMENT,
    NOW,
    created,
    identity,
    metadata,
    text_column,
)
from service.adapters.postgres.storable import CleanJson, CleanText

outbox: Final = Table(
    "outbox",
    metadata,
    identity(),
    text_column("kind"),
    Column("dedup_key", CleanText, unique=True),
    Column("payload", CleanJson, nullable=False),
    Column("state", CleanText, nullable=False, server_default=text("'pending'::text")),
    Column("attempts", Integer, nullable=False, server_default=text("0")),
    Column("next_at", MOMENT, nullable=False, server_default=NOW),
    created(),
    Column("sent_at", MOMENT),
    Column("last_error", CleanText),
    Column("missing_since", MOMENT),
    Index("outbox_pending", "next_at", postgresql_where=text("state = 'pending'")),
    Index(
        "outbox_with_comments", text("(payload -> 'number')"), postgresql_where=text("payload ? 'comments'")
    ),
)

setback: Final = Table(
    "setback",
    metadata,
    Column("task", CleanText, primary_key=True),
    Column("entity", BigInteger, primary_key=True, autoincrement=False),
    Column("attempts", Integer, nullable=False),
    Column("next_at", MOMENT, nullable=False),
    Column("is_dead", Boolean, nullable=False, server_default=text("false")),
    text_column("last_error"),
)

pulse: Final = Table(
    "pulse",
    metadata,
    Column("part", CleanText, primary_key=True),
    Column("beat_at", MOMENT, nullable=False),
    Column("note", CleanText, nullable=False, server_default=EMPTY),
    Column("trouble", CleanText, nullable=False, server_default=EMPTY),
)
