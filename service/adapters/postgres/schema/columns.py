"""The columns that many tables share."""

from __future__ import annotations

from typing import Final

from sqlalchemy import BigInteger, Column, Identity, MetaData, text
from sqlalchemy.dialects.postgresql import TIMESTAMP

from service.adapters.postgres.storable import CleanText

metadata: Final = MetaData()
MOMENT: Final = TIMESTAMP(timezone=True)
NOW: Final = text("now()")
EMPTY: Final = text("''::text")


def identity() -> Column[int]:
    """The number that the database gives to a row."""
    return Column("id", BigInteger, Identity(always=True), primary_key=True)


def text_column(name: str) -> Column[str]:
    """A text that is never null."""
    return Column(name, CleanText, nullable=False)


def created() -> Column[object]:
    """The moment when the transaction began that added the row."""
    return Column("created_at", MOMENT, nullable=False, server_default=NOW)
