"""Read merged commits as a viewer sees them, and the runs that compare two of them."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import text
from typing_extensions import override

from service.adapters.postgres.access.lookup_keys import text_key
from service.adapters.postgres.access.sight import OF_BRANCHES, Sighted, merged_in_sight
from service.adapters.postgres.failures.failures_in_scope import groups_of_scope
from service.adapters.postgres.rows import from_row
from service.domain.failures.known import Scope
from service.domain.runs.states import RunState
from service.domain.trunk.reference import ReferenceKind
from service.domain.values.errors import BadInput, NotFound
from service.domain.values.identity import RunKind
from service.domain.values.text import plain
from service.domain.verdict.comparison.instruction_counts import METRIC as INSTRUCTIONS
from service.domain.verdict.inference.verdict import Verdict
from service.ports.commits import BranchName, CommitPair, CommitReading, ComparingRun, MergedCommit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection

    from service.domain.trunk.reference import Reference

_DAYS: Final = 30
_MOST_RUNS: Final = 20
_SHA1: Final = 40  # digits
_CHANGES: Final = range(10**6, 10**10)  # numbers that may also begin a commit's id
_COMMIT: Final = "coalesce(nullif(r.merged_as, ''), r.revision)"
_HERE: Final = "(r.instance, r.project, r.branch) = (:instance, :project, :branch)"
_RECENT: Final = f"r.kind = '{RunKind.POST_SUBMIT}' AND r.created_at > now() - interval '{_DAYS} days'"
_BRANCHES: Final = text(f"""
SELECT DISTINCT r.instance, r.project, r.branch FROM run AS r
WHERE {_RECENT} AND {merged_in_sight("r")} ORDER BY 1, 2, 3
""")  # noqa: S608 - put together from constants
_COMMITS: Final = f"""
SELECT {_COMMIT} AS revision, r.id AS run_id, r.created_at AS landed_at,
       coalesce(nullif(r.subject, ''), p.subject, '') AS subject,
       coalesce(nullif(r.author, ''), p.author, '') AS author
FROM run AS r LEFT JOIN patch_set AS p ON p.id = r.patch_set_id
WHERE r.kind = '{RunKind.POST_SUBMIT}' AND {_HERE} AND {merged_in_sight("r")}
"""  # noqa: S608 - put together from constants
_NEWEST: Final = text(f"{_COMMITS} ORDER BY r.created_at DESC, r.id DESC LIMIT :limit")
_ON_DAY: Final = text(f"""
{_COMMITS} AND r.created_at < (cast(:commit AS date) + 1)::timestamp AT TIME ZONE 'UTC'
ORDER BY r.created_at DESC, r.id DESC LIMIT 1
""")
_TIP: Final = text(f"{_COMMITS} ORDER BY r.created_at DESC, r.id DESC LIMIT 1")
_WHOLE: Final = text(f"{_COMMITS} AND {_COMMIT} = :commit ORDER BY r.id LIMIT 1")
_BEGINNING: Final = text(f"{_COMMITS} AND starts_with({_COMMIT}, :commit) ORDER BY r.id LIMIT 2")
# An anchor's repetition has its ends, too.
_RUNS: Final = text(f"""
WITH compared AS (
    SELECT r.* FROM run AS r
    WHERE r.kind = '{RunKind.POST_SUBMIT}' AND {_HERE} AND {_COMMIT} = :patch AND r.parent = :base
    UNION ALL SELECT r.* FROM run AS r
    WHERE r.kind = '{RunKind.ANCHOR}' AND r.pool = ANY(cast(:classes AS text[])) AND {_HERE}
      AND r.revision = :patch AND r.parent = :base
)
SELECT r.id AS run_id, r.kind, r.state, r.created_at,
       coalesce(nullif(r.pool, ''), found.pools) AS pool, found.counts, found.is_cut_short
FROM (
    TABLE compared UNION ALL SELECT r.* FROM run AS r JOIN compared AS before ON r.previous_id = before.id
    WHERE r.kind = '{RunKind.LONGER}'
) AS r
CROSS JOIN LATERAL (
    SELECT coalesce(string_agg(DISTINCT b.pool, ', '), '') AS pools,
           coalesce(bool_or(b.outcome IN ('cancelled', 'infrastructure')), false) AS is_cut_short, (
        SELECT coalesce(jsonb_object_agg(verdict, results), '{{}}') FROM (
            SELECT k.verdict, count(DISTINCT (s.job, s.suite, s.benchmark)) AS results
            FROM run_build AS its JOIN build AS made ON made.id = its.build_id
            JOIN comparison AS k ON k.build_id = made.id AND k.measured_at = made.created_at
            JOIN series AS s ON s.id = k.series_id AND s.metric <> '{INSTRUCTIONS.name}'
            WHERE its.run_id = r.id GROUP BY 1
        ) AS by_verdict
    ) AS counts
    FROM run_build AS rb JOIN build AS b ON b.id = rb.build_id WHERE rb.run_id = r.id
) AS found
WHERE {merged_in_sight("r")}
ORDER BY r.id DESC LIMIT {_MOST_RUNS}
""")  # noqa: S608 - put together from constants
_CLASSES: Final = text("""
SELECT DISTINCT machine_class FROM series
WHERE (instance, project, branch) = (:instance, :project, :branch)
""")
_POOLS: Final = text(f"""
SELECT DISTINCT b.pool FROM run AS r
JOIN run_build AS rb ON rb.run_id = r.id JOIN build AS b ON b.id = rb.build_id
WHERE {_RECENT} AND {_HERE} AND {merged_in_sight("r")}
  AND EXISTS (SELECT FROM comparison AS k WHERE k.build_id = b.id AND k.measured_at = b.created_at)
ORDER BY 1
""")  # noqa: S608 - put together from constants


class PostgresCommitReading(Sighted, CommitReading):
    """Merged commits in the database."""

    @override
    def branches(self) -> Sequence[BranchName]:
        sight = self._sight(OF_BRANCHES)
        with self._begin() as connection:
            return [BranchName(*row) for row in connection.execute(_BRANCHES, sight)]

    @override
    def commits(self, branch: BranchName, limit: int) -> Sequence[MergedCommit]:
        keys = {**_keys(branch), "limit": limit, **self._sight(OF_BRANCHES)}
        with self._begin() as connection:
            return [from_row(MergedCommit, row) for row in connection.execute(_NEWEST, keys).mappings()]

    @override
    def commit(self, branch: BranchName, reference: Reference) -> MergedCommit:
        keys = {**_keys(branch), **self._sight(OF_BRANCHES)}
        with self._begin() as connection:
            return _commit(connection, keys, reference)

    @override
    def pair(self, branch: BranchName, first: Reference, second: Reference) -> CommitPair:
        keys: dict[str, Any] = {**_keys(branch), **self._sight(OF_BRANCHES)}
        with self._begin() as connection:
            found = [_commit(connection, keys, each) for each in (first, second)]
            base, patch = sorted(found, key=lambda each: (each.landed_at, each.run_id))
            if base.revision == patch.revision:
                raise BadInput(f"choose two different commits: both are {base.revision[:10]}", "patch")
            keys["classes"] = list(connection.execute(_CLASSES, keys).scalars())
            runs = _runs(connection, keys, base, patch)
            # Benchgate may have learned of the later one first; planning refuses the wrong order.
            if all(run.state is RunState.REFUSED for run in runs):
                reverse = _runs(connection, keys, patch, base)
                if reverse or runs:
                    base, patch, runs = patch, base, reverse
            pools = connection.execute(_POOLS, keys).scalars().all()
            groups = groups_of_scope(connection, Scope(**asdict(branch)), keys)
        is_reversed = base is not found[0]
        return CommitPair(branch, base, patch, runs, tuple(pools), tuple(groups), is_reversed)


def _keys(branch: BranchName) -> dict[str, Any]:
    return {name: text_key(value) for name, value in asdict(branch).items()}


def _runs(
    connection: Connection, keys: dict[str, Any], base: MergedCommit, patch: MergedCommit
) -> tuple[ComparingRun, ...]:
    ends = {"base": base.revision, "patch": patch.revision}
    return tuple(
        from_row(ComparingRun, row, counts={Verdict(name): n for name, n in row["counts"].items()})
        for row in connection.execute(_RUNS, {**keys, **ends}).mappings()
    )


def _commit(connection: Connection, keys: dict[str, Any], reference: Reference) -> MergedCommit:
    kind, commit = reference.kind, reference.value
    if kind is ReferenceKind.PATCH_SET:
        raise BadInput(f"patch set {plain(reference.written, 30)} is no commit of the branch", "commit")
    by_id = _WHOLE if len(commit) >= _SHA1 else _BEGINNING
    query = {ReferenceKind.TIP: _TIP, ReferenceKind.DATE: _ON_DAY}.get(kind, by_id)
    rows = connection.execute(query, {**keys, "commit": commit}).mappings().all()
    if len(rows) == 1:
        return from_row(MergedCommit, rows[0])
    where = f"of {plain(keys['project'], 100)} {plain(keys['branch'], 100)}"
    if rows:
        raise NotFound(f"several commits {where} begin with {commit}")
    if kind is ReferenceKind.TIP:
        raise NotFound(f"no commit {where} was measured")
    if kind is ReferenceKind.DATE:
        raise NotFound(f"no commit {where} was seen by the end of {commit}")
    is_number = commit.isdecimal() and int(commit) in _CHANGES
    hint = f"; write {commit}/1 for a change" if is_number else ""
    raise NotFound(f"no measured commit {where} begins with {commit}{hint}")
