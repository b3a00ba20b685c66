"""Tables of review comments, overrides and sync cursors."""

from __future__ import annotations

from typing import Final

from sqlalchemy import (
    BigInteger,
    Column,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    Table,
    UniqueConstraint,
    text,
)
from sqlalchemy.dialects.postgresql import ARRAY

from service.adapters.postgres.schema.columns import (
    EMPTY,
    MOMENT,
    NOW,
    created,
    identity,
    metadata,
    text_column,
)
from service.adapters.postgres.storable import CleanText

server: Final = Table(
    "server",
    metadata,
    Column("instance", CleanText, primary_key=True),
    Column("first_contact", MOMENT, nullable=False),
    Column("seen_until", MOMENT, nullable=False),
)

# Foreign keys by name: another module defines the tables they refer to.
heard: Final = Table(
    "heard",
    metadata,
    identity(),
    Column("change_id", ForeignKey("change.id"), nullable=False),
    Column("patch_set_id", ForeignKey("patch_set.id"), nullable=False),
    text_column("account"),
    text_column("person"),
    Column("written_at", MOMENT, nullable=False),
    Column("digest", LargeBinary, nullable=False),
    text_column("text"),
    Column("state", CleanText, nullable=False, server_default=text("'pending'::text")),
    Column("answer", CleanText, nullable=False, server_default=EMPTY),
    created(),
    UniqueConstraint("change_id", "account", "written_at", "digest"),
    Index("heard_pending", "created_at", postgresql_where=text("state = 'pending'")),
)

ruling: Final = Table(
    "ruling",
    metadata,
    identity(),
    Column("patch_set_id", ForeignKey("patch_set.id"), nullable=False),
    text_column("kind"),
    Column("builds", ARRAY(BigInteger), nullable=False, server_default=text("'{}'::bigint[]")),
    *(Column(name, CleanText, nullable=False, server_default=EMPTY) for name in ("pattern", "bug", "reason")),
    text_column("account"),
    text_column("person"),
    Column("heard_id", ForeignKey(heard.c.id)),
    Column("made_at", MOMENT, nullable=False, server_default=NOW),
    Index("ruling_of_patch_set", "patch_set_id", "id"),
)

replaced_build: Final = Table(
    "replaced_build",
    metadata,
    Column("run_id", ForeignKey("run.id"), primary_key=True),
    Column("build_id", ForeignKey("build.id"), primary_key=True),
    Column("position", Integer, nullable=False),
    Column("heard_id", ForeignKey(heard.c.id)),
    Column("replaced_at", MOMENT, nullable=False, server_default=NOW),
)
