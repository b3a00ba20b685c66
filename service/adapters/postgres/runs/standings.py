"""Read what the badges of runs tell: results, waivers and places in queues."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import text

from service.adapters.postgres.failures.failures import PostgresFailures
from service.adapters.postgres.persisted import reasons_from
from service.adapters.postgres.runs.decisions import overrides_of
from service.adapters.postgres.runs.queue_waits import queues_of
from service.adapters.postgres.runs.shown_decisions import waivers_among
from service.adapters.postgres.schema import TURN_ORDER
from service.domain.runs.states import BuildState, RunState
from service.domain.runs.vote import Result
from service.domain.values.identity import RunKind
from service.domain.verdict.comparison.instruction_counts import METRIC as INSTRUCTIONS
from service.domain.verdict.inference.reasons import WITHHOLDING
from service.domain.wording.standing import not_counted, waived_as
from service.ports.failures.storing import known_by_build
from service.ports.runs.shown import CountedBuild, Standing, Tally

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlalchemy import Connection, RowMapping

_WITHHOLDING: Final = f"""'$[*] ? ({" || ".join(f'@.kind == "{kind}"' for kind in sorted(WITHHOLDING))})'"""
# Columns of a build b. With the build's moment, only the partition that holds its comparisons is opened.
# Series are looked up only if the build has a result to name: most are the same, and a list has many.
STANDING: Final = f"""
    (
        SELECT jsonb_build_object(
            'undecided', count(*) FILTER (WHERE verdict = 'undecided'),
            'results', count(*) - CASE
                WHEN count(*) FILTER (WHERE verdict IN ('slower', 'faster', 'undecided')) = 0 THEN 0
                ELSE (
                    SELECT count(*) FROM comparison AS c JOIN series AS s ON s.id = c.series_id
                    WHERE c.build_id = b.id AND c.measured_at = b.created_at
                      AND s.metric = '{INSTRUCTIONS.name}'
                ) END,
            'slower', count(*) FILTER (WHERE verdict = 'slower' AND is_result),
            'faster', count(*) FILTER (WHERE verdict = 'faster' AND is_result),
            'worst', (array_agg(ratio ORDER BY abs(ln(ratio)) DESC)
                FILTER (WHERE verdict = 'slower' AND is_result AND ratio > 0 AND ratio < 'Infinity'))[1],
            'withheld', jsonb_agg(jsonb_path_query_array(reasons, {_WITHHOLDING})) FILTER (
                WHERE verdict = 'slower' AND is_result AND jsonb_path_exists(reasons, {_WITHHOLDING})))
        FROM (
            SELECT k.verdict, k.ratio, k.reasons, CASE WHEN k.verdict IN ('slower', 'faster') THEN (
                SELECT s.metric <> '{INSTRUCTIONS.name}' FROM series AS s WHERE s.id = k.series_id
            ) END AS is_result
            FROM comparison AS k WHERE k.build_id = b.id AND k.measured_at = b.created_at
        ) AS results
    ) AS tally,
    CASE WHEN b.state = 'queued' THEN (
        SELECT cast(count(*) AS integer) FROM build AS q
        WHERE q.state = 'queued' AND q.pool = b.pool AND NOT q.cancel_requested
          AND ({TURN_ORDER.format("q")}) <= ({TURN_ORDER.format("b")})
    ) END AS place
"""  # noqa: S608 - put together from constants
_BUILDS: Final = text(f"""
SELECT rb.run_id, b.id, b.pool, b.phase, b.state, b.result, b.is_voting, b.outcome, b.blamed, b.slowdowns,
       {STANDING}
FROM run_build AS rb JOIN build AS b ON b.id = rb.build_id
WHERE rb.run_id = ANY(:runs) ORDER BY rb.run_id, rb.position, b.id
""")  # noqa: S608 - put together from constants


def standings_of(connection: Connection, patch_sets: Sequence[RowMapping]) -> Mapping[int, Standing]:
    """Return the standings of patch sets by id.

    ``patch_sets`` are rows with patch_set_id, revision, vote, run_id, run_kind and run_state; the last three
    are those of the newest run.
    """
    builds: defaultdict[int, list[RowMapping]] = defaultdict(list)
    runs = [row["run_id"] for row in patch_sets if row["run_id"] is not None]
    rows = connection.execute(_BUILDS, {"runs": runs}).mappings().all() if runs else ()
    for build in rows:
        builds[build["run_id"]].append(build)
    waits = queues_of(connection, rows).waits
    return {
        row["patch_set_id"]: _standing(connection, row, builds[row["run_id"]], waits) for row in patch_sets
    }


def tally_of(stored: Mapping[str, Any]) -> Tally:
    """Read the tally of a build from its column."""
    return Tally(
        results=stored["results"],
        slower=stored["slower"],
        faster=stored["faster"],
        worst=stored["worst"],
        not_counted=tuple(not_counted(reasons_from(each)) for each in stored["withheld"] or ()),
    )


def _standing(
    connection: Connection,
    row: RowMapping,
    builds: Sequence[RowMapping],
    waits: Mapping[int, float | None],
) -> Standing:
    kind = None if row["run_kind"] is None else RunKind(row["run_kind"])
    has_waivers = kind is RunKind.CHECK and row["vote"] == 1
    if has_waivers and any(each["is_voting"] and each["result"] == Result.FAILURE for each in builds):
        known = known_by_build(PostgresFailures(connection), row["run_id"])
        overrides = overrides_of(connection, row["patch_set_id"])
        waivers = waivers_among(builds, overrides, row["revision"], known)
    else:
        waivers = {}
    counted = (
        CountedBuild(
            state=BuildState(each["state"]),
            result=None if each["result"] is None else Result(each["result"]),
            undecided=each["tally"]["undecided"],
            tally=tally_of(each["tally"]),
            waiver=waived_as(waivers[each["id"]]) if each["id"] in waivers else "",
            place=each["place"],
            wait=waits.get(each["id"]),
            phase=each["phase"],
        )
        for each in builds
    )
    state = None if row["run_state"] is None else RunState(row["run_state"])
    return Standing.of(kind, state, row["vote"], counted)
