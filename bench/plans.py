"""Read the query plans of the read port: the indexes that PostgreSQL uses, and the rows that it touches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import event, text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from sqlalchemy import Engine


@dataclass(frozen=True, slots=True)
class Scan:
    """One look into a table. ``index`` is None where the table is read as a whole; ``rows`` were touched.

    ``was_run`` is false where the plan holds the look and its values made it needless.
    """

    table: str
    index: str | None
    rows: int
    was_run: bool


def scans_of(engine: Engine, read: Callable[[], object], table: str) -> list[Scan]:
    """The looks into ``table`` (and its partitions) that happen when ``read`` is called.

    The very statements that ``read`` sends are explained, with their values.
    """
    sent: list[tuple[str, Any]] = []

    def note(_connection: object, _cursor: object, statement: str, values: Any, *_: object) -> None:  # noqa: ANN401
        sent.append((statement, values))

    event.listen(engine, "before_cursor_execute", note)
    try:
        read()
    finally:
        event.remove(engine, "before_cursor_execute", note)
    with engine.connect() as connection:
        plans = [
            connection.exec_driver_sql(f"EXPLAIN (ANALYZE, FORMAT JSON) {statement}", values).scalar_one()
            for statement, values in sent
            if statement.lstrip().upper().startswith(("SELECT", "WITH"))
        ]
    nodes = (node for plan in plans for node in _nodes(plan[0]["Plan"]))
    return [_scan(node) for node in nodes if node.get("Relation Name", "").startswith(table)]


def indexes_under(engine: Engine, index: str) -> set[str]:
    """The indexes of the partitions that make up the index of a partitioned table."""
    query = text("SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = cast(:name AS regclass)")
    with engine.connect() as connection:
        return set(connection.execute(query, {"name": index}).scalars())


def _nodes(plan: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield plan
    for below in plan.get("Plans", ()):
        yield from _nodes(below)


def _scan(node: Mapping[str, Any]) -> Scan:
    # A bitmap is made of the index by a node of its own.
    indexes = (below.get("Index Name") for below in _nodes(node))
    rows = node["Actual Rows"] + node.get("Rows Removed by Filter", 0)
    return Scan(
        node["Relation Name"],
        next((name for name in indexes if name), None),
        round(rows * node["Actual Loops"]),
        node["Actual Loops"] > 0,
    )
