"""Declare the tables for queries; migrations create them, and a test compares the two.

Indexes, and tables that only SQL texts name, are in the migrations alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Computed,
    Float,
    ForeignKey,
    Identity,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    SmallInteger,
    Table,
    UniqueConstraint,
    text,
)
from sqlalchemy.dialects.postgresql import ARRAY, TIMESTAMP

from service.adapters.postgres.storable import CleanJson, CleanText
from service.domain.runs.states import UNFINISHED
from service.domain.values.identity import RunKind

if TYPE_CHECKING:
    from collections.abc import Iterator

metadata: Final = MetaData()
UNFINISHED_RUN: Final = f"state IN {tuple(str(state) for state in UNFINISHED)}"
TURN_ORDER: Final = "{0}.priority, {0}.turn, {0}.id"  # of queued builds; machine.claim has it too
IDLE_KINDS: Final = str(tuple(str(kind) for kind in RunKind if kind.is_for_idle_pools))
_MOMENT: Final = TIMESTAMP(timezone=True)
_NOW: Final = text("now()")
_NO_ITEMS: Final = text("'[]'::jsonb")


def _identity() -> Column[int]:
    """Declare a row's number, which the database assigns."""
    return Column("id", BigInteger, Identity(always=True), primary_key=True)


def _texts(*names: str) -> Iterator[Column[str]]:
    """Declare texts that are never null."""
    return (Column(name, CleanText, nullable=False) for name in names)


def _optional_texts(*names: str) -> Iterator[Column[str]]:
    """Declare texts that are empty by default."""
    return (Column(name, CleanText, nullable=False, server_default=text("''::text")) for name in names)


def _moment(name: str) -> Column[object]:
    """Declare a time; by default, when the transaction began that added the row."""
    return Column(name, _MOMENT, nullable=False, server_default=_NOW)


server: Final = Table(
    "server",
    metadata,
    Column("instance", CleanText, primary_key=True),
    Column("first_contact", _MOMENT, nullable=False),
    Column("seen_until", _MOMENT, nullable=False),
    Column("url", CleanText),
    Column("inline_after", _MOMENT),
)

event: Final = Table(
    "event",
    metadata,
    _identity(),
    *_texts("instance", "type"),
    Column("digest", LargeBinary, nullable=False),
    Column("change", Integer),
    Column("body", LargeBinary, nullable=False),
    Column("deliveries", Integer, nullable=False, server_default=text("1")),
    _moment("received_at"),
    Column("handled_at", _MOMENT),
    *_optional_texts("project"),
    UniqueConstraint("instance", "digest"),
)

change: Final = Table(
    "change",
    metadata,
    _identity(),
    *_texts("instance", "project", "branch", "change_id", "subject", "owner", "status"),
    Column("number", Integer, nullable=False),
    *_optional_texts("owner_account"),
    Column("is_wip", Boolean, nullable=False),
    Column("is_private", Boolean, nullable=False),
    Column("is_public", Boolean, nullable=False, server_default=text("false")),
    Column("updated_at", _MOMENT, nullable=False),
    UniqueConstraint("instance", "number"),
)

public_branch: Final = Table(
    "public_branch",
    metadata,
    *(Column(name, CleanText, primary_key=True) for name in ("instance", "project", "branch")),
)

patch_set: Final = Table(
    "patch_set",
    metadata,
    _identity(),
    Column("change_id", ForeignKey(change.c.id), nullable=False),
    Column("number", Integer, nullable=False),
    *_texts("revision", "ref", "kind", "author", "subject", "message"),
    _moment("created_at"),
    UniqueConstraint("change_id", "number"),
)

heard: Final = Table(
    "heard",
    metadata,
    _identity(),
    Column("change_id", ForeignKey(change.c.id), nullable=False),
    Column("patch_set_id", ForeignKey(patch_set.c.id), nullable=False),
    *_texts("account", "person", "text"),
    Column("written_at", _MOMENT, nullable=False),
    Column("digest", LargeBinary, nullable=False),
    Column("state", CleanText, nullable=False, server_default=text("'pending'::text")),
    *_optional_texts("answer"),
    Column("source", CleanText, nullable=False, server_default=text("'comment'::text")),
    *_optional_texts("signed_in_as"),
    Column("ticket", LargeBinary, unique=True),
    _moment("created_at"),
    UniqueConstraint("change_id", "account", "written_at", "digest"),
)

ruling: Final = Table(
    "ruling",
    metadata,
    _identity(),
    Column("patch_set_id", ForeignKey(patch_set.c.id), nullable=False),
    *_texts("kind", "account", "person"),
    Column("builds", ARRAY(BigInteger), nullable=False, server_default=text("'{}'::bigint[]")),
    *_optional_texts("pattern", "bug", "reason"),
    Column("heard_id", ForeignKey(heard.c.id)),
    Column("carried_from", Integer, nullable=False, server_default=text("0")),
    Column("levels", CleanJson),  # null: of a version that limited no accept
    _moment("made_at"),
)

run: Final = Table(
    "run",
    metadata,
    _identity(),
    Column("patch_set_id", ForeignKey(patch_set.c.id)),
    *_texts("kind", "state", "instance", "project", "branch", "revision"),
    *(Column(name, CleanText) for name in ("parent", "tree", "parent_tree")),
    *_optional_texts(
        "subject", "author", "reason", "pool", "machine", "ended_by", "merged_as", "requested_by"
    ),
    Column("label", CleanText, nullable=False, server_default=text("'Verified'::text")),
    _moment("created_at"),
    Column("finished_at", _MOMENT),
    Column("previous_id", ForeignKey("run.id")),
    Column("asked_by", ForeignKey(heard.c.id)),
    Column("committed_at", _MOMENT),
)

backfill: Final = Table(
    "backfill",
    metadata,
    _identity(),
    *_texts("instance", "project", "branch", "requested_by"),
    Column("commits", Integer, nullable=False),
    *(Column(name, Integer) for name in ("links", "remaining")),
    Column("failed", Integer, nullable=False, server_default=text("0")),
    _moment("created_at"),
    Column("ended_at", _MOMENT),
)

RETIRED: Final = "retired "  # begins the digest of a sequence without its pairs: no build may continue it
sequence: Final = Table(
    "sequence",
    metadata,
    _identity(),
    Column("digest", CleanText, nullable=False, unique=True),
    *_texts("seed"),
    Column("listing", CleanJson),
    _moment("created_at"),
)

environment: Final = Table(
    "environment",
    metadata,
    _identity(),
    Column("fingerprint", CleanText, nullable=False, unique=True),
    Column("facts", CleanJson, nullable=False),
    _moment("created_at"),
)

closure: Final = Table(
    "closure",
    metadata,
    _identity(),
    *_texts("host", "reason", "closed_by"),
    _moment("begins_at"),
    Column("ends_at", _MOMENT),
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
    _identity(),
    *_texts("job", "kind", "pool", "state"),
    Column("number", Integer, nullable=False),
    Column("priority", SmallInteger, nullable=False),
    *_optional_texts("phase", "url", "log_url", "reported", "queued_for", "for_machine"),
    Column("usual", Float),  # seconds that the job takes; null: not known
    _moment("turn"),
    Column("attempt", Integer, nullable=False, server_default=text("0")),
    Column("cancel_requested", Boolean, nullable=False, server_default=text("false")),
    Column("is_voting", Boolean, nullable=False),
    Column("is_exclusive", Boolean, nullable=False, server_default=text("true")),
    Column("failures_cut", Boolean, nullable=False, server_default=text("false")),
    Column("spec", CleanJson, nullable=False),
    Column("execution", CleanJson),
    *(Column(name, CleanText) for name in ("outcome", "result", "machine", "log")),
    *(
        Column(name, CleanJson, nullable=False, server_default=_NO_ITEMS)
        for name in ("causes", "notes", "blamed", "findings")
    ),
    Column("slowdowns", CleanJson),  # null: of a version that stored none
    Column("sequence_id", ForeignKey(sequence.c.id)),
    Column("environment_id", ForeignKey(environment.c.id)),
    Column("external_number", Integer),
    _moment("created_at"),
    _moment("not_before"),
    Column("deadline_at", _MOMENT, nullable=False),
    *(Column(name, _MOMENT) for name in ("started_at", "executed_at", "finished_at")),
    UniqueConstraint("job", "number"),
)

run_build: Final = Table(
    "run_build",
    metadata,
    Column("run_id", ForeignKey(run.c.id), primary_key=True),
    Column("job", CleanText, primary_key=True),
    Column("build_id", ForeignKey(build.c.id), nullable=False),
    Column("position", Integer, nullable=False),
    Column("is_reused", Boolean, nullable=False, server_default=text("false")),
)

replaced_build: Final = Table(
    "replaced_build",
    metadata,
    Column("run_id", ForeignKey(run.c.id), primary_key=True),
    Column("build_id", ForeignKey(build.c.id), primary_key=True),
    Column("position", Integer, nullable=False),
    Column("heard_id", ForeignKey(heard.c.id)),
    _moment("replaced_at"),
)

lease: Final = Table(
    "lease",
    metadata,
    Column("build_id", ForeignKey(build.c.id), primary_key=True),
    *_texts("machine"),
    Column("token", BigInteger, nullable=False),
    Column("renewed_at", _MOMENT, nullable=False),
    Column("expires_at", _MOMENT, nullable=False),
)

explanation: Final = Table(
    "explanation",
    metadata,
    Column("build_id", ForeignKey(build.c.id, ondelete="CASCADE"), primary_key=True),
    Column("packed", LargeBinary, nullable=False),
    _moment("created_at"),
)

revision_claims: Final = Table(
    "revision_claims",
    metadata,
    *(Column(name, CleanText, primary_key=True) for name in ("instance", "project", "revision")),
    Column("claims", CleanJson, nullable=False),
    _moment("created_at"),
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
    *_texts("artifact"),
    Column("facts", CleanJson, nullable=False),
    _moment("created_at"),
)

_KIN: Final = "kin_of(VARIADIC ARRAY[instance, project, machine_class, job, suite, benchmark, metric])"
series: Final = Table(
    "series",
    metadata,
    _identity(),
    Column("digest", LargeBinary, nullable=False, unique=True),
    *_texts("instance", "project", "branch", "machine_class", "job"),
    *_texts("suite", "benchmark", "metric", "unit", "better"),
    Column("continues", ForeignKey("series.id"), unique=True),  # the series of the benchmark's former name
    # Equal in series that differ by branch only: these share their A/A sessions.
    Column("kin", LargeBinary, Computed(_KIN, persisted=True), nullable=False),
)

imported_value: Final = Table(
    "imported_value",
    metadata,
    Column("series_id", ForeignKey(series.c.id), primary_key=True),
    Column("commit", CleanText, primary_key=True),
    Column("moment", _MOMENT, nullable=False),
    Column("position", Integer, nullable=False),
    Column("value", Float(53), nullable=False),
)

result: Final = Table(
    "result",
    metadata,
    Column("measured_at", _MOMENT, nullable=False),
    Column("build_id", BigInteger, nullable=False),
    Column("series_id", BigInteger, nullable=False),
    Column("side", SmallInteger, nullable=False),
    Column("samples", ARRAY(Float(53)), nullable=False),
    PrimaryKeyConstraint("build_id", "series_id", "side", "measured_at"),
    postgresql_partition_by="RANGE (measured_at)",
)

comparison: Final = Table(
    "comparison",
    metadata,
    Column("measured_at", _MOMENT, nullable=False),
    Column("series_id", BigInteger, nullable=False),
    Column("build_id", BigInteger, nullable=False),
    Column("kind", SmallInteger, nullable=False),
    Column("position", Integer, nullable=False),
    Column("pairs", Integer, nullable=False),
    *_texts("verdict"),
    *(Column(name, Float(53)) for name in ("ratio", "low", "high", "base", "patch")),
    *_optional_texts("reason"),
    Column("reasons", CleanJson),  # null: none, or of a version that wrote only the text
    Column("error", Float(53)),  # null: not by pairs, or of a version that did not store it
    PrimaryKeyConstraint("build_id", "series_id", "measured_at"),
    postgresql_partition_by="RANGE (measured_at)",
)

decision: Final = Table(
    "decision",
    metadata,
    _identity(),
    Column("run_id", ForeignKey(run.c.id), nullable=False),
    Column("patch_set_id", ForeignKey(patch_set.c.id)),
    Column("number", Integer, nullable=False),
    Column("vote", SmallInteger),
    *_texts("header", "message"),
    _moment("created_at"),
    UniqueConstraint("run_id", "number"),
)

outbox: Final = Table(
    "outbox",
    metadata,
    _identity(),
    *_texts("kind"),
    Column("dedup_key", CleanText, unique=True),
    Column("payload", CleanJson, nullable=False),
    Column("state", CleanText, nullable=False, server_default=text("'pending'::text")),
    Column("attempts", Integer, nullable=False, server_default=text("0")),
    _moment("next_at"),
    _moment("created_at"),
    Column("sent_at", _MOMENT),
    Column("last_error", CleanText),
    Column("missing_since", _MOMENT),
)

token: Final = Table(
    "token",
    metadata,
    _identity(),
    Column("digest", LargeBinary, nullable=False, unique=True),
    *_texts("name"),
    Column("scopes", ARRAY(CleanText), nullable=False),
    *_texts("created_by"),
    *_optional_texts("subject", "email"),
    Column("ticket", LargeBinary, unique=True),
    _moment("created_at"),
    Column("expires_at", _MOMENT, nullable=False),
    *(Column(name, _MOMENT) for name in ("used_at", "revoked_at")),
)

report: Final = Table(
    "report",
    metadata,
    Column("token_id", ForeignKey(token.c.id), primary_key=True),
    Column("key", CleanText, primary_key=True),
    Column("digest", LargeBinary, nullable=False),
    Column("is_news", Boolean, nullable=False, server_default=text("false")),
    _moment("received_at"),
)
