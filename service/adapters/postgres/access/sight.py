"""Hide from a viewer, by conditions of queries, what the review server does not show them.

Each takes the values of :meth:`Sighted._sight`: ``sees_all``, and ``seen``, the ids of non-public changes
that the viewer sees. A branch is visible if it is public, or if the viewer sees a change on it.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, Self

from sqlalchemy import text
from typing_extensions import override

from service.adapters.postgres.connection import Snapshots
from service.adapters.postgres.schema import TURN_ORDER
from service.domain.values.errors import Ambiguous, NotFound
from service.domain.values.identity import ChangeKey

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sqlalchemy import Connection, Engine, Row, TextClause

    from service.ports.reading import Viewer

_ALL: Final = "cast(:sees_all AS boolean)"
_SEEN: Final = "ANY(cast(:seen AS bigint[]))"
# A change on each branch that is not public: anybody who sees it may read the branch.
_OF_BRANCHES: Final = """
SELECT DISTINCT ON (instance, project, branch) id, instance, number FROM change
WHERE NOT is_public AND NOT is_private AND NOT EXISTS (
    SELECT FROM public_branch AS open
    WHERE (open.instance, open.project, open.branch) = (change.instance, change.project, change.branch)
)
ORDER BY instance, project, branch, number DESC
"""
_HIDDEN_OF_RUNS: Final = """
SELECT c.id, c.instance, c.number
FROM run AS r JOIN patch_set AS p ON p.id = r.patch_set_id JOIN change AS c ON c.id = p.change_id
WHERE NOT c.is_public AND
"""
OF_BRANCHES: Final = text(_OF_BRANCHES)
# The changes that are most likely to have a series of their own, as many as one question holds.
OF_SERIES: Final = text(f"""
({_OF_BRANCHES}) UNION (
    SELECT id, instance, number FROM change WHERE NOT is_public ORDER BY updated_at DESC, id DESC LIMIT 100
)
""")  # noqa: S608 - put together from constants
# Without a public change, also each review server is asked: a number that does not exist then has the same
# answers as a hidden one, also if a server does not answer. No change has the id 0.
_AT_ADDRESS: Final = "number = :number AND (cast(:instance AS text) IS NULL OR instance = :instance)"
OF_CHANGE: Final = text(f"""
SELECT id, instance, number FROM change WHERE {_AT_ADDRESS} AND NOT is_public
UNION ALL
SELECT 0, instance, :number FROM server
WHERE (cast(:instance AS text) IS NULL OR instance = :instance)
    AND NOT EXISTS (SELECT FROM change WHERE {_AT_ADDRESS} AND is_public)
    AND NOT EXISTS (
        SELECT FROM change WHERE number = :number AND change.instance = server.instance
    )
""")  # noqa: S608 - put together from constants


def _runs_of(build: str) -> str:
    return f"""
    SELECT run_id FROM run_build WHERE build_id = {build}
    UNION ALL SELECT run_id FROM replaced_build WHERE build_id = {build}
    """  # noqa: S608 - put together from constants


def _with_branches(hidden: str) -> TextClause:
    return text(f"({hidden}) UNION ({_OF_BRANCHES})")


OF_RUN: Final = _with_branches(f"{_HIDDEN_OF_RUNS} r.id = :run_id")
OF_RUNS: Final = _with_branches(f"{_HIDDEN_OF_RUNS} r.id = ANY(cast(:runs AS bigint[]))")
OF_BUILD: Final = _with_branches(f"{_HIDDEN_OF_RUNS} r.id IN ({_runs_of(':build_id')})")
_NAMED: Final = "SELECT id FROM build WHERE job = :job AND (number = :number OR external_number = :number)"
OF_NAMED_BUILD: Final = _with_branches(f"""
{_HIDDEN_OF_RUNS} r.id IN (
    {_runs_of(f"ANY(ARRAY({_NAMED}))")}
)
""")
OF_HELD_BUILDS: Final = _with_branches(f"""
{_HIDDEN_OF_RUNS} r.id IN (SELECT rb.run_id FROM lease JOIN run_build AS rb ON rb.build_id = lease.build_id)
""")  # noqa: S608 - put together from constants
IS_UNFINISHED: Final = "b.state <> 'finished' AND NOT b.cancel_requested AND b.kind <> 'external'"
QUEUE_ORDER: Final = f"b.pool, b.state = 'queued', {TURN_ORDER.format('b')}"
IS_QUEUED: Final = "b.state = 'queued' AND NOT b.cancel_requested AND b.kind <> 'external'"


def _of_first_builds(place: str, condition: str) -> TextClause:
    """Return the changes of the first builds by a place, as many as one question holds."""
    return _with_branches(f"""
    SELECT c.id, c.instance, c.number
    FROM (SELECT b.id, row_number() OVER ({place}) AS place FROM build AS b WHERE {condition}) AS b
    JOIN run_build AS rb ON rb.build_id = b.id
    JOIN run AS r ON r.id = rb.run_id
    JOIN patch_set AS p ON p.id = r.patch_set_id
    JOIN change AS c ON c.id = p.change_id
    WHERE NOT c.is_public
    GROUP BY c.id ORDER BY min(b.place), c.id LIMIT 100
    """)  # noqa: S608 - put together from constants


OF_UNFINISHED_BUILDS: Final = _of_first_builds(f"ORDER BY {QUEUE_ORDER}", IS_UNFINISHED)
OF_QUEUED_BUILDS: Final = _of_first_builds(
    f"PARTITION BY b.pool ORDER BY {TURN_ORDER.format('b')}", IS_QUEUED
)
OF_KNOWN: Final = _with_branches("""
SELECT DISTINCT c.id, c.instance, c.number
FROM (
    SELECT had.build_id FROM known_failure AS k JOIN failure AS had ON had.signature_id = k.signature_id
    WHERE k.id = :known_id
    UNION SELECT build_id FROM known_match WHERE known_id = :known_id
    ORDER BY build_id DESC LIMIT 100
) AS found
JOIN run_build AS rb ON rb.build_id = found.build_id
JOIN run AS r ON r.id = rb.run_id
JOIN patch_set AS p ON p.id = r.patch_set_id
JOIN change AS c ON c.id = p.change_id
WHERE NOT c.is_public
""")
# The most recently updated changes whose commits have claims, as many as one question holds.
OF_CLAIMS: Final = _with_branches("""
SELECT c.id, c.instance, c.number FROM change AS c
WHERE NOT c.is_public AND EXISTS (
    SELECT FROM patch_set AS p JOIN revision_claims AS k
    ON (k.instance, k.project, k.revision) = (c.instance, c.project, p.revision)
    WHERE p.change_id = c.id
)
ORDER BY c.updated_at DESC, c.id DESC LIMIT 100
""")
# A renamed benchmark has a series for each of its names; together they are one trend.
SAME_SERIES: Final = """(
    WITH RECURSIVE linked AS (
        SELECT id, continues FROM series WHERE id = :series_id
        UNION SELECT other.id, other.continues FROM series AS other
        JOIN linked ON other.id = linked.continues OR other.continues = linked.id
    ) SELECT id FROM linked
)"""
_MOST_ASKED: Final = 400  # changes of a kind: a review server is asked about each that is not public
OF_TREND: Final = _with_branches(f"""
SELECT DISTINCT c.id, c.instance, c.number
FROM {SAME_SERIES} AS same CROSS JOIN LATERAL (
    (SELECT build_id FROM comparison WHERE series_id = same.id AND kind = 1
        AND measured_at BETWEEN :begin AND :end
     ORDER BY measured_at DESC LIMIT least(2 * :limit, {_MOST_ASKED}))
    UNION ALL
    (SELECT build_id FROM comparison WHERE series_id = same.id AND kind = 0
        AND measured_at BETWEEN :begin AND :end
     ORDER BY measured_at DESC LIMIT least(2 * :limit, {_MOST_ASKED}))
) AS k
JOIN run_build AS rb ON rb.build_id = k.build_id
JOIN run AS r ON r.id = rb.run_id
JOIN patch_set AS p ON p.id = r.patch_set_id
JOIN change AS c ON c.id = p.change_id
WHERE NOT c.is_public
""")  # noqa: S608 - put together from constants


def visible_change(change: str) -> str:
    """Return the condition for a row of ``change``."""
    return f"({_ALL} OR {change}.is_public OR {change}.id = {_SEEN})"


def visible_branch(row: str) -> str:
    """Return the condition for a row with instance, project and branch."""
    return f"""({_ALL} OR EXISTS (
        SELECT FROM public_branch AS open
        WHERE (open.instance, open.project, open.branch) = ({row}.instance, {row}.project, {row}.branch)
    ) OR {_has_seen_change(row)})"""


def visible_scope(row: str) -> str:
    """Return the condition for a row with instance, project and branch; if empty, one must be visible."""
    return f"""({_ALL} OR EXISTS (
        SELECT FROM public_branch AS open
        WHERE (open.instance, open.project) = ({row}.instance, {row}.project)
            AND {row}.branch IN ('', open.branch)
    ) OR EXISTS (
        SELECT FROM change AS seen_one WHERE seen_one.id = {_SEEN}
        AND (seen_one.instance, seen_one.project) = ({row}.instance, {row}.project)
        AND {row}.branch IN ('', seen_one.branch)
    ))"""  # noqa: S608 - put together from constants


def visible_run(run: str) -> str:
    """Return the condition for a row of ``run``; one without a change is as visible as its branch."""
    return _visible_run(run, "false")


def merged_in_sight(run: str) -> str:
    """Return the condition for a row of ``run`` on a merged commit, which the branch has.

    Nobody is asked about each change: one that is not private is as visible as its branch.
    """
    return _visible_run(run, _LIKE_ITS_BRANCH)


def visible_build(build: str) -> str:
    """Return the condition for the id of a build: one of its runs is visible, also one that replaced it."""
    return _visible_build(build, "false")


def measured_in_sight(build: str) -> str:
    """Return the condition for the id of a build that shows benchmarks or failures, but not its change.

    Nobody is asked about each change that had one: one that is not private is as visible as its branch.
    """
    return _visible_build(build, _LIKE_ITS_BRANCH)


def visible_series(series: str) -> str:
    """Return the condition for a row of ``series``; a benchmark that only hidden builds have is hidden.

    Imported history is of the branch: who sees the branch sees it.
    """
    return f"""({_ALL} OR ({visible_branch(series)} AND (EXISTS (
        SELECT FROM comparison AS measured
        WHERE measured.series_id = {series}.id AND {measured_in_sight("measured.build_id")}
    ) OR EXISTS (SELECT FROM imported_value AS imported WHERE imported.series_id = {series}.id))))"""  # noqa: S608 - put together from constants


def _has_seen_change(row: str) -> str:
    return f"""EXISTS (
        SELECT FROM change AS seen_one WHERE seen_one.id = {_SEEN}
        AND (seen_one.instance, seen_one.project, seen_one.branch)
            = ({row}.instance, {row}.project, {row}.branch)
    )"""


_LIKE_ITS_BRANCH: Final = f"NOT its.is_private AND {_has_seen_change('its')}"


def _visible_run(run: str, otherwise: str) -> str:
    return f"""({_ALL} OR CASE WHEN {run}.patch_set_id IS NULL THEN {visible_branch(run)} ELSE EXISTS (
        SELECT FROM patch_set AS of_run JOIN change AS its ON its.id = of_run.change_id
        WHERE of_run.id = {run}.patch_set_id AND (its.is_public OR its.id = {_SEEN} OR {otherwise})
        -- The offset keeps the planner from reading all changes first.
        OFFSET 0
    ) END)"""  # noqa: S608 - put together from constants


def _visible_build(build: str, otherwise: str) -> str:
    return f"""({_ALL} OR EXISTS (
        SELECT FROM ({_runs_of(build)}) AS held JOIN run AS holder ON holder.id = held.run_id
        WHERE {_visible_run("holder", otherwise)}
    ))"""


class Sighted(Snapshots):
    """Snapshots as a viewer sees them.

    Args:
        engine: where their connections come from.
        sees_all: nothing is hidden, as for Benchgate's own commands.
        viewer: may see more than the public; None: an anonymous reader.
    """

    def __init__(self, engine: Engine, *, sees_all: bool = True, viewer: Viewer | None = None) -> None:
        super().__init__(engine)
        self._sees_all = sees_all
        self._viewer = viewer

    def seen_by(self, viewer: Viewer | None) -> Self:
        """Return the same as a viewer sees it."""
        return type(self)(self._engine, sees_all=False, viewer=viewer)

    @override
    @contextmanager
    def _begin(self, instance: str | None = None) -> Iterator[Connection]:
        """Begin a snapshot for a question about changes of an instance (None: of any)."""
        try:
            with super()._begin() as connection:
                yield connection
        except Ambiguous:
            raise
        except NotFound:
            if self._viewer is not None:
                self._viewer.require_answers(instance)
            raise

    def _sight(self, candidates: TextClause, **keys: object) -> dict[str, Any]:
        """Return the values of the conditions; ask the viewer about the candidates, outside a snapshot.

        ``candidates`` finds id, instance and number of changes that are not public.
        """
        rows = self._all(candidates, **keys) if self._viewer else ()
        return self._sight_of(self._asked(rows))

    def _sight_of(self, seen: Sequence[int]) -> dict[str, Any]:
        return {"sees_all": self._sees_all, "seen": list(seen)}

    def _asked(self, rows: Sequence[Row[Any]]) -> list[int]:
        """Return the ids of the changes that the viewer sees."""
        by_key = {ChangeKey(row.instance, row.number): row.id for row in rows}
        if self._viewer is None or not by_key:
            return []
        return [by_key[key] for key in self._viewer.sees(by_key)]
