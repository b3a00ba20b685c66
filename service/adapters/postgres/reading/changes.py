"""How changes and patch sets are read for people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import text

from service.adapters.postgres.reading.builds import builds_of_run, run_summary
from service.adapters.postgres.reading.decisions import decisions_of
from service.adapters.postgres.reading.overrides import overrides_on, ruling_views
from service.domain.errors import NotFound
from service.ports.views import ChangeDetail, ChangeSummary, Cursor, PatchSetDetail, PatchSetSummary

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection, RowMapping, TextClause

# Every lateral part is one look into an index for one of the few changes of the page.
_SUMMARY: Final = """
WITH chosen AS (SELECT * FROM change CHOSEN)
SELECT c.id, c.instance, c.number, c.project, c.branch, c.subject, c.owner, c.status, c.updated_at,
       p.number AS patch_set, p.revision, d.vote, coalesce(d.header, '') AS header,
       r.id AS run_id, r.state AS run_state,
       coalesce(b.builds, 0) AS builds, coalesce(b.finished, 0) AS finished_builds,
       coalesce(b.cause, '') AS cause
FROM chosen AS c
JOIN LATERAL (
    SELECT id, number, revision FROM patch_set
    WHERE change_id = c.id ORDER BY number DESC LIMIT 1
) AS p ON true
LEFT JOIN LATERAL (
    SELECT d.vote, d.header FROM decision AS d JOIN run ON run.id = d.run_id
    -- What is measured after the merge casts no vote, and takes none away.
    WHERE d.patch_set_id = p.id AND run.kind = 'check' ORDER BY d.number DESC LIMIT 1
) AS d ON true
LEFT JOIN LATERAL (
    SELECT id, state FROM run WHERE patch_set_id = p.id AND kind = 'check' ORDER BY id DESC LIMIT 1
) AS r ON true
LEFT JOIN LATERAL (
    SELECT count(*) AS builds, count(*) FILTER (WHERE build.state = 'finished') AS finished,
           (array_agg(build.causes ->> 0 ORDER BY
               array_position(ARRAY['FAILURE', 'ABORTED', 'UNSTABLE', 'SUCCESS'], build.result),
               run_build.position))[1] AS cause
    FROM run_build JOIN build ON build.id = run_build.build_id WHERE run_build.run_id = r.id
) AS b ON true
ORDER BY c.updated_at DESC, c.id DESC
"""


def _summaries(chosen: str) -> TextClause:
    return text(_SUMMARY.replace("CHOSEN", chosen))


_NEWEST: Final = _summaries("ORDER BY updated_at DESC, id DESC LIMIT :limit")
_OLDER: Final = _summaries(
    "WHERE (updated_at, id) < (:updated_at, :id) ORDER BY updated_at DESC, id DESC LIMIT :limit"
)
_ONE: Final = _summaries("WHERE number = :number ORDER BY updated_at DESC, id DESC LIMIT 1")
_PATCH_SETS: Final = text("""
SELECT p.id, p.number, p.revision, p.author, p.subject, p.kind, p.created_at, p.message,
       d.vote, coalesce(d.header, '') AS header
FROM patch_set AS p
LEFT JOIN LATERAL (
    SELECT d.vote, d.header FROM decision AS d JOIN run ON run.id = d.run_id
    -- What is measured after the merge casts no vote, and takes none away.
    WHERE d.patch_set_id = p.id AND run.kind = 'check' ORDER BY d.number DESC LIMIT 1
) AS d ON true
WHERE p.change_id = :change_id ORDER BY p.number
""")
_RUNS: Final = text("""
SELECT r.id, r.kind, r.state, r.project, r.branch, r.revision, r.parent, r.subject, r.author, r.reason,
       r.created_at, r.finished_at, r.label, :change AS change, :patch_set AS patch_set
FROM run AS r WHERE r.patch_set_id = :patch_set_id ORDER BY r.id DESC
""")


def change_list(connection: Connection, limit: int, after: Cursor | None) -> Sequence[ChangeSummary]:
    """A page of changes, the most recently updated first."""
    if after is None:
        rows = connection.execute(_NEWEST, {"limit": limit})
    else:
        rows = connection.execute(_OLDER, {"limit": limit, "updated_at": after.updated_at, "id": after.id})
    return [ChangeSummary(**row) for row in rows.mappings()]


def change_detail(connection: Connection, number: int) -> ChangeDetail:
    """A change with its patch sets."""
    change = _change(connection, number)
    return ChangeDetail(change, tuple(_patch_set(row) for row in _patch_sets(connection, change)))


def patch_set_detail(connection: Connection, change_number: int, number: int | None) -> PatchSetDetail:
    """A patch set with its decisions, rulings and runs, and the builds of the newest check run."""
    change = _change(connection, change_number)
    wanted = change.patch_set if number is None else number
    row = next((row for row in _patch_sets(connection, change) if row["number"] == wanted), None)
    if row is None:
        raise NotFound(f"change {change_number} has no patch set {wanted}")
    found = connection.execute(
        _RUNS, {"patch_set_id": row["id"], "change": change.number, "patch_set": wanted}
    )
    runs = tuple(run_summary(each) for each in found.mappings())
    newest = next((run for run in runs if run.kind == "check"), None)
    made = overrides_on(connection, row["id"])
    return PatchSetDetail(
        change=change,
        patch_set=_patch_set(row),
        message=row["message"],
        decisions=decisions_of(connection, patch_set_id=row["id"]),
        runs=runs,
        builds=() if newest is None else builds_of_run(connection, newest, made),
        overrides=ruling_views(connection, row["id"], row["revision"], made),
    )


def _change(connection: Connection, number: int) -> ChangeSummary:
    row = connection.execute(_ONE, {"number": number}).mappings().first()
    if row is None:
        raise NotFound(f"there is no change {number}")
    return ChangeSummary(**row)


def _patch_sets(connection: Connection, change: ChangeSummary) -> Sequence[RowMapping]:
    return connection.execute(_PATCH_SETS, {"change_id": change.id}).mappings().all()


def _patch_set(row: RowMapping) -> PatchSetSummary:
    fields: dict[str, Any] = {name: row[name] for name in PatchSetSummary.__dataclass_fields__}
    return PatchSetSummary(**fields)
