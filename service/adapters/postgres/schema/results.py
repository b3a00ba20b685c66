"""Tables of measurements: series, samples of each build, comparisons and evidence."""

from __future__ import annotations

from typing import Final

from sqlalchemy import (
    REAL,
    BigInteger,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    PrimaryKeyConstraint,
    SmallInteger,
    Table,
    text,
)
from sqlalchemy.dialects.postgresql import ARRAY

from service.adapters.postgres.schema.columns import EMPTY, MOMENT, created, identity, metadata, text_column
from service.adapters.postgres.storable import CleanJson, CleanText

series: Final = Table(
    "series",
    metadata,
    identity(),
    Column("digest", LargeBinary, nullable=False, unique=True),
    text_column("instance"),
    text_column("project"),
    text_column("branch"),
    text_column("machine_class"),
    text_column("job"),
    text_column("suite"),
    text_column("benchmark"),
    text_column("metric"),
    text_column("unit"),
    text_column("better"),
    Index("series_of_job", "job", "suite", "id"),
)

# Foreign keys by name: another module defines the tables they refer to.
evidence: Final = Table(
    "evidence",
    metadata,
    Column("series_id", ForeignKey(series.c.id), primary_key=True),
    Column("sequence_id", ForeignKey("sequence.id"), primary_key=True),
    text_column("machine"),
    Column("build_id", ForeignKey("build.id"), nullable=False),
    Column("logs", ARRAY(REAL), nullable=False),
    text_column("verdict"),
    created(),
    Index("evidence_of_machine", "machine", "series_id", "sequence_id"),
    Index("evidence_of_build", "build_id"),
)

result: Final = Table(
    "result",
    metadata,
    Column("measured_at", MOMENT, nullable=False),
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
    Column("measured_at", MOMENT, nullable=False),
    Column("series_id", BigInteger, nullable=False),
    Column("build_id", BigInteger, nullable=False),
    Column("kind", SmallInteger, nullable=False),
    Column("position", Integer, nullable=False),
    Column("pairs", Integer, nullable=False),
    text_column("verdict"),
    *(Column(name, Float(53)) for name in ("ratio", "low", "high", "base", "patch")),
    Column("reason", CleanText, nullable=False, server_default=EMPTY),
    Column("reasons", CleanJson),  # null: none, or of a version that wrote only the text
    PrimaryKeyConstraint("build_id", "series_id", "measured_at"),
    Index("comparison_trend", "series_id", "kind", text("measured_at DESC")),
    postgresql_partition_by="RANGE (measured_at)",
)
