"""The schema for SQLAlchemy; migrations create it, and a test compares the two."""

from __future__ import annotations

from typing import Final

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    Sequence,
    SmallInteger,
    Table,
    UniqueConstraint,
    text,
)

from service.adapters.postgres.schema.columns import (
    EMPTY,
    MOMENT,
    NOW,
    created,
    identity,
    metadata,
    text_column,
)
from service.adapters.postgres.schema.outbox import outbox, pulse, setback
from service.adapters.postgres.schema.results import comparison, evidence, result, series
from service.adapters.postgres.schema.reviews import heard, replaced_build, ruling, server
from service.adapters.postgres.storable import CleanJson, CleanText
from service.domain.decision.states import UNFINISHED

__all__ = [
    "UNFINISHED_RUN",
    "build",
    "change",
    "comparison",
    "decision",
    "environment",
    "event",
    "evidence",
    "heard",
    "job_number",
    "kept_binary",
    "launch",
    "lease",
    "lease_token",
    "machine",
    "metadata",
    "outbox",
    "patch_set",
    "pulse",
    "replaced_build",
    "result",
    "ruling",
    "run",
    "run_build",
    "sequence",
    "series",
    "server",
    "setback",
]

UNFINISHED_RUN: Final = f"state IN {tuple(str(state) for state in UNFINISHED)}"

event: Final = Table(
    "event",
    metadata,
    identity(),
    text_column("instance"),
    Column("digest", LargeBinary, nullable=False),
    text_column("type"),
    Column("change", Integer),
    Column("body", LargeBinary, nullable=False),
    Column("deliveries", Integer, nullable=False, server_default=text("1")),
    Column("received_at", MOMENT, nullable=False, server_default=NOW),
    Column("handled_at", MOMENT),
    UniqueConstraint("instance", "digest"),
    Index("event_unhandled", "received_at", postgresql_where=text("handled_at IS NULL")),
)

change: Final = Table(
    "change",
    metadata,
    identity(),
    text_column("instance"),
    Column("number", Integer, nullable=False),
    text_column("project"),
    text_column("branch"),
    text_column("change_id"),
    text_column("subject"),
    text_column("owner"),
    text_column("status"),
    Column("is_wip", Boolean, nullable=False),
    Column("is_private", Boolean, nullable=False),
    Column("updated_at", MOMENT, nullable=False),
    UniqueConstraint("instance", "number"),
    Index("change_recent", text("updated_at DESC"), text("id DESC")),
    Index("change_number", "number"),
)

patch_set: Final = Table(
    "patch_set",
    metadata,
    identity(),
    Column("change_id", ForeignKey(change.c.id), nullable=False),
    Column("number", Integer, nullable=False),
    text_column("revision"),
    text_column("ref"),
    text_column("kind"),
    text_column("author"),
    text_column("subject"),
    text_column("message"),
    created(),
    UniqueConstraint("change_id", "number"),
)

run: Final = Table(
    "run",
    metadata,
    identity(),
    text_column("kind"),
    text_column("state"),
    Column("patch_set_id", ForeignKey(patch_set.c.id)),
    text_column("instance"),
    text_column("project"),
    text_column("branch"),
    text_column("revision"),
    Column("parent", CleanText),
    Column("tree", CleanText),
    Column("parent_tree", CleanText),
    Column("subject", CleanText, nullable=False, server_default=EMPTY),
    Column("author", CleanText, nullable=False, server_default=EMPTY),
    Column("label", CleanText, nullable=False, server_default=text("'Verified'::text")),
    Column("reason", CleanText, nullable=False, server_default=EMPTY),
    created(),
    Column("finished_at", MOMENT),
    Column("pool", CleanText, nullable=False, server_default=EMPTY),
    Column("previous_id", ForeignKey("run.id")),
    Column("asked_by", ForeignKey(heard.c.id)),
    Column("ended_by", CleanText, nullable=False, server_default=EMPTY),
    Index(
        "run_one_calibration",
        "pool",
        unique=True,
        postgresql_where=text(f"kind = 'calibration' AND {UNFINISHED_RUN}"),
    ),
    Index(
        "run_of_calibration",
        "pool",
        "instance",
        "project",
        "branch",
        "created_at",
        postgresql_where=text("kind = 'calibration'"),
    ),
    Index(
        "run_one_unfinished",
        "patch_set_id",
        unique=True,
        postgresql_where=text(f"kind = 'check' AND {UNFINISHED_RUN}"),
    ),
    Index(
        "run_one_post_submit",
        "instance",
        "project",
        "branch",
        "revision",
        unique=True,
        postgresql_where=text("kind = 'post-submit'"),
    ),
    Index("run_of_patch_set", "patch_set_id", "id"),
    Index("run_of_revision", "revision", postgresql_where=text("kind = 'check'")),
    Index("run_unfinished", "id", postgresql_where=text(UNFINISHED_RUN)),
)

sequence: Final = Table(
    "sequence",
    metadata,
    identity(),
    Column("digest", CleanText, nullable=False, unique=True),
    text_column("seed"),
    Column("listing", CleanJson),
    created(),
)

environment: Final = Table(
    "environment",
    metadata,
    identity(),
    Column("fingerprint", CleanText, nullable=False, unique=True),
    Column("facts", CleanJson, nullable=False),
    created(),
)

machine: Final = Table(
    "machine",
    metadata,
    identity(),
    Column("name", CleanText, nullable=False, unique=True),
    text_column("class"),
    text_column("pool"),
    Column("environment_id", ForeignKey(environment.c.id)),
    Column("first_seen_at", MOMENT, nullable=False, server_default=NOW),
    Column("last_seen_at", MOMENT, nullable=False, server_default=NOW),
    Column("obstacle", CleanText, nullable=False, server_default=EMPTY),
)

job_number: Final = Table(
    "job_number",
    metadata,
    Column("job", CleanText, primary_key=True),
    Column("number", Integer, nullable=False),
)

build: Final = Table(
    "build",
    metadata,
    identity(),
    text_column("job"),
    Column("number", Integer, nullable=False),
    text_column("kind"),
    text_column("pool"),
    Column("priority", SmallInteger, nullable=False),
    text_column("state"),
    Column("phase", CleanText, nullable=False, server_default=EMPTY),
    Column("attempt", Integer, nullable=False, server_default=text("0")),
    Column("cancel_requested", Boolean, nullable=False, server_default=text("false")),
    Column("is_voting", Boolean, nullable=False),
    Column("spec", CleanJson, nullable=False),
    Column("execution", CleanJson),
    Column("outcome", CleanText),
    Column("result", CleanText),
    Column("causes", CleanJson, nullable=False, server_default=text("'[]'::jsonb")),
    Column("sequence_id", ForeignKey(sequence.c.id)),
    Column("machine", CleanText),
    Column("environment_id", ForeignKey(environment.c.id)),
    Column("log", CleanText),
    created(),
    Column("not_before", MOMENT, nullable=False, server_default=NOW),
    Column("deadline_at", MOMENT, nullable=False),
    Column("started_at", MOMENT),
    Column("executed_at", MOMENT),
    Column("finished_at", MOMENT),
    Column("url", CleanText, nullable=False, server_default=EMPTY),
    Column("external_number", Integer),
    Column("blamed", CleanJson, nullable=False, server_default=text("'[]'::jsonb")),
    Column("findings", CleanJson, nullable=False, server_default=text("'[]'::jsonb")),
    UniqueConstraint("job", "number"),
    Index("build_of_sequence", "sequence_id", "id"),
    Index("build_queue", "pool", "priority", "id", postgresql_where=text("state = 'queued'")),
    Index("build_unfinished", "id", postgresql_where=text("state <> 'finished'")),
)

run_build: Final = Table(
    "run_build",
    metadata,
    Column("run_id", ForeignKey(run.c.id), primary_key=True),
    Column("job", CleanText, primary_key=True),
    Column("build_id", ForeignKey(build.c.id), nullable=False),
    Column("position", Integer, nullable=False),
    Column("is_reused", Boolean, nullable=False, server_default=text("false")),
    Index("run_build_of_build", "build_id"),
)

lease_token: Final = Sequence("lease_token", metadata=metadata)
lease: Final = Table(
    "lease",
    metadata,
    Column("build_id", ForeignKey(build.c.id), primary_key=True),
    text_column("machine"),
    Column("token", BigInteger, nullable=False),
    Column("renewed_at", MOMENT, nullable=False),
    Column("expires_at", MOMENT, nullable=False),
    Index("lease_of_machine", "machine"),
)

launch: Final = Table(
    "launch",
    metadata,
    Column("sequence_id", ForeignKey(sequence.c.id), primary_key=True),
    Column("variant", Integer, primary_key=True, autoincrement=False),
    Column("pair", Integer, primary_key=True, autoincrement=False),
    Column("suite", CleanText, primary_key=True),
    Column("side", CleanText, primary_key=True),
    Column("build_id", ForeignKey(build.c.id), nullable=False),
    text_column("artifact"),
    Column("facts", CleanJson, nullable=False),
    created(),
)

kept_binary: Final = Table(
    "kept_binary",
    metadata,
    Column("digest", CleanText, primary_key=True),
    text_column("artifact"),
    Column("manifest", CleanJson, nullable=False),
    Column("build_id", ForeignKey(build.c.id), nullable=False),
    created(),
    Column("last_used_at", MOMENT, nullable=False, server_default=NOW),
)

decision: Final = Table(
    "decision",
    metadata,
    identity(),
    Column("run_id", ForeignKey(run.c.id), nullable=False),
    Column("patch_set_id", ForeignKey(patch_set.c.id)),
    Column("number", Integer, nullable=False),
    Column("vote", SmallInteger),
    text_column("header"),
    text_column("message"),
    created(),
    UniqueConstraint("run_id", "number"),
    Index(
        "decision_of_patch_set",
        "patch_set_id",
        "number",
        unique=True,
        postgresql_where=text("patch_set_id IS NOT NULL"),
    ),
)
