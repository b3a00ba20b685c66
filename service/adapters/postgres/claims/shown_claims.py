"""Read claims with their answers as a viewer sees them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from sqlalchemy import text
from typing_extensions import override

from service.adapters.postgres.access.lookup_keys import ADDRESS, number_key
from service.adapters.postgres.access.sight import (
    OF_CLAIMS,
    OF_RUN,
    OF_RUNS,
    Sighted,
    merged_in_sight,
    visible_run,
)
from service.adapters.postgres.claims.claims import PostgresClaims, readable_claims, rows_of_runs
from service.adapters.postgres.rows import from_row
from service.adapters.postgres.storable import LARGEST_BIGINT
from service.domain.claims.answers import answers, names_of
from service.domain.claims.near import explained
from service.domain.runs.states import RunState
from service.domain.values.errors import NotFound
from service.domain.values.identity import RunKind
from service.ports.claims import ClaimedRun, ClaimReading

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence
    from datetime import datetime

    from sqlalchemy import Connection

    from service.domain.claims.answers import AnsweredClaim
    from service.domain.claims.values import Claim

_OF_RUN: Final = text(f"""
SELECT r.revision, coalesce(k.claims, '[]') AS stored
FROM run AS r LEFT JOIN revision_claims AS k
    ON (k.instance, k.project, k.revision) = (r.instance, r.project, r.revision)
WHERE r.id = :run_id AND {visible_run("r")}
""")  # noqa: S608 - put together from constants
_OF_RUNS: Final = text(f"""
SELECT r.id, r.revision, k.claims AS stored
FROM run AS r JOIN revision_claims AS k
    ON (k.instance, k.project, k.revision) = (r.instance, r.project, r.revision)
WHERE r.id = ANY(cast(:runs AS bigint[])) AND {visible_run("r")}
""")  # noqa: S608 - put together from constants
# Each kind has an index by revision. A check may be of a change under review, which has people of its own.
_RECENT: Final = text(f"""
SELECT * FROM (
    SELECT DISTINCT ON (r.instance, r.project, coalesce(c.number::text, r.revision))
           r.id AS run_id, r.instance, r.project, r.branch, r.revision, r.finished_at AS decided_at,
           coalesce(nullif(r.subject, ''), p.subject, '') AS subject,
           coalesce(nullif(r.author, ''), p.author, '') AS author,
           r.kind = '{RunKind.POST_SUBMIT}' AS is_merged, c.number AS change,
           CASE WHEN c.id IS NULL THEN NULL ELSE {ADDRESS} END AS change_address, p.number AS patch_set,
           c.status, k.claims AS stored
    FROM revision_claims AS k
    CROSS JOIN LATERAL (
        SELECT * FROM run WHERE kind = '{RunKind.CHECK}' AND revision = k.revision
        UNION ALL SELECT * FROM run WHERE kind = '{RunKind.POST_SUBMIT}' AND revision = k.revision
    ) AS r
    LEFT JOIN patch_set AS p ON p.id = r.patch_set_id LEFT JOIN change AS c ON c.id = p.change_id
    WHERE (r.instance, r.project) = (k.instance, k.project)
      AND r.state = '{RunState.FINISHED}' AND r.finished_at >= :since
      AND CASE r.kind WHEN '{RunKind.CHECK}' THEN {visible_run("r")} ELSE {merged_in_sight("r")} END
    ORDER BY r.instance, r.project, coalesce(c.number::text, r.revision),
             is_merged DESC, patch_set DESC, run_id DESC
) AS newest
ORDER BY decided_at DESC, run_id DESC LIMIT :limit
""")  # noqa: S608 - put together from constants


class PostgresClaimReading(Sighted, ClaimReading):
    """Claims and their answers in the database."""

    @override
    def claims(self, run_id: int) -> Sequence[AnsweredClaim]:
        keys = {"run_id": number_key(run_id, LARGEST_BIGINT)}
        sight = self._sight(OF_RUN, **keys)
        with self._begin() as connection:
            row = connection.execute(_OF_RUN, {**keys, **sight}).mappings().first()
            if row is None:
                raise NotFound(f"there is no run {run_id}")
            claims = readable_claims(row["stored"], row["revision"])
            compared = partial(PostgresClaims(connection).compared, run_id)
            return _answered(connection, {run_id: claims}, compared)[run_id]

    @override
    def claims_of_runs(self, runs: Collection[int]) -> Mapping[int, Sequence[AnsweredClaim]]:
        keys = {"runs": list(runs)}
        sight = self._sight(OF_RUNS, **keys)
        with self._begin() as connection:
            rows = connection.execute(_OF_RUNS, {**keys, **sight}).mappings().all()
            claims = {row["id"]: readable_claims(row["stored"], row["revision"]) for row in rows}
            return _answered(connection, {run: of_run for run, of_run in claims.items() if of_run})

    @override
    def recent_claims(self, since: datetime, limit: int) -> Sequence[ClaimedRun]:
        keys = {"since": since, "limit": limit, **self._sight(OF_CLAIMS)}
        with self._begin() as connection:
            rows = connection.execute(_RECENT, keys).mappings().all()
            claims = {row["run_id"]: readable_claims(row["stored"], row["revision"]) for row in rows}
            answered = _answered(connection, claims)
            return [from_row(ClaimedRun, row, claims=answered[row["run_id"]]) for row in rows]


def _answered(
    connection: Connection,
    claims: Mapping[int, Sequence[Claim]],
    compared: Callable[[], Sequence[str]] = tuple,
) -> Mapping[int, tuple[AnsweredClaim, ...]]:
    """Answer the claims of runs, by run; ``compared`` returns the names for near ones."""
    names = {run: names_of(of_run) for run, of_run in claims.items() if of_run}
    rows = rows_of_runs(connection, names) if names else {}
    return {run: explained(answers(of_run, rows.get(run, ())), compared) for run, of_run in claims.items()}
