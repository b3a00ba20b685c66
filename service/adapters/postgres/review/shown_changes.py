"""Read changes and patch sets."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import text
from typing_extensions import override

from service.adapters.postgres.access.lookup_keys import ADDRESS, ID_AT_ADDRESS, address_keys, without_change
from service.adapters.postgres.access.sight import OF_CHANGE, Sighted, visible_change
from service.adapters.postgres.review.page_commands import line_in
from service.adapters.postgres.rows import from_row
from service.adapters.postgres.runs.decisions import overrides_of
from service.adapters.postgres.runs.failing_steps import failing_steps
from service.adapters.postgres.runs.shown_builds import builds_of_run, runs_of_patch_set
from service.adapters.postgres.runs.shown_decisions import decisions_of, override_views
from service.adapters.postgres.runs.standings import standings_of
from service.adapters.postgres.storable import LARGEST_INTEGER
from service.adapters.postgres.verdict.shown_comparisons import measured_patch_sets
from service.domain.review.change_search import EVERY_CHANGE, MOST_VOTES, Operator
from service.domain.values.errors import NotFound
from service.domain.values.search import EVERYTHING
from service.domain.wording.health import failure_sentences
from service.ports.reading import ChangeReading
from service.ports.review.shown import Change, ChangeWithPatchSets, PatchSet, PatchSetDetail, ShownRequest
from service.ports.runs.shown import leading

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlalchemy import Connection, RowMapping, TextClause

    from service.domain.review.change_search import ChangeSearch
    from service.domain.values.identity import ChangeAddress
    from service.ports.review.shown import Cursor
    from service.ports.runs.shown import Standing
    from service.ports.verdict import MeasuredPatchSets

_QUERY: Final = text("""
SELECT id, person, text, created_at, state = 'pending' AS is_pending, answer FROM heard
WHERE patch_set_id = :patch_set_id AND source = 'page' ORDER BY id DESC LIMIT 50
""")


def page_requests(connection: Connection, patch_set_id: int) -> tuple[ShownRequest, ...]:
    """Return the newest requests of a patch set, newest first."""
    rows = connection.execute(_QUERY, {"patch_set_id": patch_set_id}).mappings()
    return tuple(from_row(ShownRequest, row, text=line_in(row["text"])) for row in rows)


_NEWEST_DECISION: Final = """
LEFT JOIN LATERAL (
    SELECT d.vote, d.header FROM decision AS d JOIN run ON run.id = d.run_id
    -- A run after the merge casts no vote, and takes none away.
    WHERE d.patch_set_id = p.id AND run.kind = 'check' ORDER BY d.number DESC LIMIT 1
) AS d ON true
"""
# The order of `leading`.
_LEADING_RUN: Final = """
LEFT JOIN LATERAL (
    SELECT id, kind, state FROM run WHERE patch_set_id = p.id
    ORDER BY kind = 'post-submit' AND state IN ('cancelled', 'refused'), id DESC LIMIT 1
) AS r ON true
"""


def _changes(chosen: str) -> TextClause:
    # Every lateral part is one look into an index for one of the few changes of the page.
    return text(f"""
WITH chosen AS (SELECT * FROM change {chosen})
SELECT c.id, c.instance, c.number, {ADDRESS} AS address,
       c.project, c.branch, c.subject, c.owner, c.status, c.updated_at,
       p.id AS patch_set_id, p.number AS patch_set, p.revision, d.vote, coalesce(d.header, '') AS header,
       r.id AS run_id, r.kind AS run_kind, r.state AS run_state,
       coalesce(b.builds, 0) AS builds, coalesce(b.finished, 0) AS finished_builds,
       coalesce(b.cause, '') AS cause
FROM chosen AS c
JOIN LATERAL (
    SELECT id, number, revision FROM patch_set
    WHERE change_id = c.id ORDER BY number DESC LIMIT 1
) AS p ON true
{_NEWEST_DECISION}
{_LEADING_RUN}
LEFT JOIN LATERAL (
    SELECT count(*) AS builds, count(*) FILTER (WHERE build.state = 'finished') AS finished,
           (array_agg(build.causes ->> 0 ORDER BY
               array_position(ARRAY['FAILURE', 'ABORTED', 'UNSTABLE', 'SUCCESS'], build.result),
               run_build.position))[1] AS cause
    FROM run_build JOIN build ON build.id = run_build.build_id WHERE run_build.run_id = r.id
) AS b ON true
ORDER BY c.updated_at DESC, c.id DESC
""")  # noqa: S608 - put together from constants


_ORDERED: Final = "ORDER BY updated_at DESC, id DESC LIMIT :limit"
_BEFORE: Final = "(updated_at, id) < (:updated_at, :id)"
_VISIBLE: Final = visible_change("change")
# strpos finds the words as they are written: nothing in them is a pattern.
_MATCHES: Final = """
NOT EXISTS (
    SELECT FROM (SELECT lower(concat_ws(' ', subject, project, branch, owner, number)) AS text) AS searched
    WHERE EXISTS (SELECT FROM unnest(cast(:wanted AS text[])) AS word WHERE strpos(text, word) = 0)
       OR EXISTS (SELECT FROM unnest(cast(:unwanted AS text[])) AS word WHERE strpos(text, word) > 0)
)
"""
# {} is the name of the values.
_TERMS: Final[Mapping[Operator, str]] = MappingProxyType(
    {
        Operator.OWNER: (
            "EXISTS (SELECT FROM unnest(cast(:{} AS text[])) AS part WHERE strpos(lower(owner), part) > 0)"
        ),
        Operator.PROJECT: "lower(project) = ANY(cast(:{} AS text[]))",
        Operator.BRANCH: "lower(branch) = ANY(cast(:{} AS text[]))",
        Operator.STATUS: "status = ANY(cast(:{} AS text[]))",
        Operator.MINE: "lower(owner) = ANY(cast(:{} AS text[]))",
        Operator.VOTE: """
            coalesce((
                SELECT d.vote FROM decision AS d JOIN run ON run.id = d.run_id
                WHERE d.patch_set_id = (
                    SELECT id FROM patch_set WHERE change_id = change.id ORDER BY number DESC LIMIT 1
                ) AND run.kind = 'check'
                ORDER BY d.number DESC LIMIT 1
            ), 0) = ANY(cast(:{} AS integer[]))
        """,
        # The queue is short; there may be very many changes.
        Operator.WAITS: """
            id IN (
                SELECT p.change_id FROM build AS b JOIN run_build AS rb ON rb.build_id = b.id
                JOIN run ON run.id = rb.run_id AND run.state = 'running'
                JOIN patch_set AS p ON p.id = run.patch_set_id
                WHERE b.state = 'queued' AND NOT EXISTS (
                    SELECT FROM patch_set AS newer
                    WHERE newer.change_id = p.change_id AND newer.number > p.number
                )
            )
        """,
    }
)
_HAS_RECENT_VOTE: Final = f"""
updated_at >= coalesce(
    (SELECT updated_at FROM change ORDER BY updated_at DESC OFFSET {MOST_VOTES} - 1 LIMIT 1), '-infinity'
)
"""  # noqa: S608 - put together from constants
_MOST_QUESTIONS: Final = 3  # per page, which stays shorter if more rows are hidden
_ONE: Final = _changes(f"WHERE id = ({ID_AT_ADDRESS})")
_PATCH_SETS: Final = text(f"""
SELECT p.id, p.id AS patch_set_id, p.number, p.revision, p.author, p.subject, p.kind, p.created_at, p.message,
       d.vote, coalesce(d.header, '') AS header, r.id AS run_id, r.kind AS run_kind, r.state AS run_state
FROM patch_set AS p
{_NEWEST_DECISION}
{_LEADING_RUN}
WHERE p.change_id = :change_id ORDER BY p.number
""")  # noqa: S608 - put together from constants


class PostgresChangeReading(Sighted, ChangeReading):
    """Changes and patch sets in the database."""

    @override
    def changes(
        self, limit: int, after: Cursor | None = None, search: ChangeSearch = EVERY_CHANGE
    ) -> Sequence[Change]:
        chosen, keys = _chosen(search)
        keys["limit"] = limit
        if after is not None:
            chosen = f"{_BEFORE} AND {chosen}"
            keys |= {"updated_at": after.updated_at, "id": after.id}
        sight = self._sight_of_page(chosen, keys)
        with self._begin() as connection:
            query = _changes(f"WHERE {_VISIBLE} AND {chosen} {_ORDERED}")
            rows = connection.execute(query, {**keys, **sight}).mappings().all()
            standings = standings_of(connection, rows)
            return [_shown_change(row, standings[row["patch_set_id"]]) for row in rows]

    def _sight_of_page(self, chosen: str, keys: dict[str, object]) -> dict[str, Any]:
        """Ask about the rows of a page, then about those that replace hidden ones."""
        query = text(f"""
        SELECT id, instance, number, is_public FROM change
        WHERE id <> ALL(cast(:denied AS bigint[])) AND {chosen} {_ORDERED}
        """)  # noqa: S608 - put together from constants
        seen: list[int] = []
        denied: list[int] = []
        for _ in range(_MOST_QUESTIONS if self._viewer else 0):
            rows = self._all(query, **keys, denied=denied)
            hidden = [row for row in rows if not row.is_public and row.id not in seen]
            shown = self._asked(hidden)
            seen += shown
            denied += [row.id for row in hidden if row.id not in shown]
            if len(shown) == len(hidden):
                break
        return self._sight_of(seen)

    @override
    def change(self, address: ChangeAddress) -> ChangeWithPatchSets:
        sight = self._sight(OF_CHANGE, **address_keys(address))
        with self._begin(address.instance) as connection:
            change = _change(connection, address, sight)
            _, patch_sets = _patch_sets(connection, change)
            return ChangeWithPatchSets(change, patch_sets)

    @override
    def patch_set(self, change: ChangeAddress, number: int | None = None) -> PatchSetDetail:
        sight = self._sight(OF_CHANGE, **address_keys(change))
        with self._begin(change.instance) as connection:
            shown = _change(connection, change, sight)
            wanted = shown.patch_set if number is None else number
            rows, patch_sets = _patch_sets(connection, shown)
            place = next((k for k, row in enumerate(rows) if row["number"] == wanted), None)
            if place is None:
                raise NotFound(f"change {change} has no patch set {wanted}")
            row = rows[place]
            runs = runs_of_patch_set(connection, row["id"])
            lead = leading(runs)
            overrides = overrides_of(connection, row["id"])
            return PatchSetDetail(
                change=shown,
                patch_set=patch_sets[place],
                message=row["message"],
                decisions=decisions_of(connection, patch_set_id=row["id"]),
                runs=runs,
                builds=() if lead is None else builds_of_run(connection, lead, overrides, sight),
                overrides=override_views(connection, row["id"], row["revision"], overrides),
                problems=failure_sentences(failing_steps(connection, sight, shown.id)),
                requests=page_requests(connection, row["id"]),
                patch_sets=patch_sets,
            )

    @override
    def measured_patch_sets(
        self, change: ChangeAddress, limit: int, before: int | None = None
    ) -> MeasuredPatchSets:
        end = LARGEST_INTEGER if before is None else min(before, LARGEST_INTEGER)
        sight = self._sight(OF_CHANGE, **address_keys(change))
        with self._begin(change.instance) as connection:
            return measured_patch_sets(connection, change, {"limit": limit, "before": end}, sight)


def _chosen(search: ChangeSearch) -> tuple[str, dict[str, Any]]:
    """Return the condition of a search, put together from constants, with its values."""
    keys: dict[str, Any] = {"wanted": list(search.words.wanted), "unwanted": list(search.words.unwanted)}
    conditions = ["true" if search.words == EVERYTHING else _MATCHES]
    if search.is_by_vote:
        conditions.append(_HAS_RECENT_VOTE)
    for number, term in enumerate(search.terms):
        name = f"term_{number}"
        keys[name] = list(term.values)
        condition = f"({_TERMS[term.operator].format(name)})"
        conditions.append(condition if term.is_wanted else f"NOT {condition}")
    return " AND ".join(conditions), keys


def _change(connection: Connection, address: ChangeAddress, sight: Mapping[str, Any]) -> Change:
    row = connection.execute(_ONE, {**address_keys(address), **sight}).mappings().first()
    if row is None:
        raise without_change(connection, address, sight)
    return _shown_change(row, standings_of(connection, [row])[row["patch_set_id"]])


def _patch_sets(connection: Connection, change: Change) -> tuple[Sequence[RowMapping], tuple[PatchSet, ...]]:
    rows = connection.execute(_PATCH_SETS, {"change_id": change.id}).mappings().all()
    standings = standings_of(connection, rows)
    return rows, tuple(_shown_patch_set(row, standings[row["id"]]) for row in rows)


def _shown_change(row: RowMapping, standing: Standing) -> Change:
    return from_row(Change, row, standing=standing, undecided=standing.undecided)


def _shown_patch_set(row: RowMapping, standing: Standing) -> PatchSet:
    return from_row(PatchSet, row, standing=standing, undecided=standing.undecided)
