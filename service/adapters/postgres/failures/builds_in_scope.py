"""Parts of queries that find the last 30 days' builds in the scopes of known failures.

Each part joins whole sets: a condition for each pair of a known failure and a build takes minutes.
"""

from __future__ import annotations

from typing import Final

SINCE: Final = "now() - interval '30 days'"
# Builds that ended without a result could not show a failure.
COUNTED: Final = "b.state = 'finished' AND b.result IN ('SUCCESS', 'UNSTABLE', 'FAILURE')"
RUNS_OF_BUILD: Final = """
    SELECT run_id FROM run_build WHERE build_id = b.id
    UNION ALL SELECT run_id FROM replaced_build WHERE build_id = b.id
"""
# Those of all builds.
RUNS: Final = """(
    SELECT run_id, build_id FROM run_build UNION ALL SELECT run_id, build_id FROM replaced_build
) AS its"""
# Revisions and jobs with a build that passed.
PASSED: Final = f"""
passed AS MATERIALIZED (
    SELECT run.instance, run.kind, run.revision, b.job FROM build AS b
    JOIN {RUNS} ON its.build_id = b.id
    JOIN run ON run.id = its.run_id
    WHERE b.outcome = 'passed' AND b.finished_at > {SINCE}
)
"""  # noqa: S608 - put together from constants
# A row of ``passed`` is of the revision of a run ``r`` and the job of a build ``b``.
HAS_PASSED: Final = (
    "(r.instance, r.kind, r.revision, b.job) IN (SELECT instance, kind, revision, job FROM passed)"
)
# A row of ``recent`` is in the scope of a row ``k``.
IN_SCOPE: Final = """
    (r.instance, r.project) = (k.instance, k.project) AND (k.branch = '' OR k.branch = ANY(r.branches))
    AND k.job IN ('', r.job) AND k.host IN ('', r.host)
"""
# Of all projects: the planner underestimates the builds of some. A build that several runs share has the
# branches of all.
RECENT: Final = f"""
recent AS MATERIALIZED (
    SELECT b.id AS build_id, b.job, split_part(coalesce(b.machine, ''), '/', 1) AS host, b.finished_at,
           run.instance, run.project, array_agg(DISTINCT run.branch) AS branches
    FROM build AS b
    JOIN {RUNS} ON its.build_id = b.id
    JOIN run ON run.id = its.run_id
    WHERE b.finished_at > {SINCE} AND {COUNTED}
    GROUP BY b.id, run.instance, run.project
)
"""  # noqa: S608 - put together from constants
# Builds that ended before were not compared with the pattern of a row ``k``. NULL if it has a signature:
# a build has that or has it not, whatever is known.
COMPARED_SINCE: Final = "CASE WHEN k.signature_id IS NULL THEN k.created_at END"
# All builds, however old, with a failure of a row of ``chosen``.
HAD: Final = """
had AS MATERIALIZED (
    SELECT k.id, f.build_id FROM chosen AS k JOIN failure AS f ON f.signature_id = k.signature_id
    UNION SELECT k.id, m.build_id FROM chosen AS k JOIN known_match AS m ON m.known_id = k.id
)
"""
# For a single row of ``chosen`` its builds, without those that were not compared with its pattern.
BUILDS: Final = f"""
{RECENT}, {HAD},
builds AS (
    SELECT k.id, r.build_id, r.finished_at, r.host, had.build_id IS NOT NULL AS had
    FROM chosen AS k JOIN recent AS r ON {IN_SCOPE}
    LEFT JOIN had ON had.id = k.id AND had.build_id = r.build_id
    WHERE k.signature_id IS NOT NULL OR r.finished_at > k.created_at OR had.build_id IS NOT NULL
)
"""  # noqa: S608 - put together from constants
# For each row of ``chosen`` the counts of the same builds. Few scopes are different, so that many rows share
# the times of their builds. A run that ended before a pattern was added may be decided after it: ``earlier``.
COUNTS: Final = f"""
{RECENT}, {HAD},
scoped AS MATERIALIZED (
    SELECT k.instance, k.project, k.branch, k.job, k.host,
           array_agg(r.finished_at ORDER BY r.finished_at) AS times
    FROM (SELECT DISTINCT instance, project, branch, job, host FROM chosen) AS k
    JOIN recent AS r ON {IN_SCOPE} GROUP BY 1, 2, 3, 4, 5
),
sighted AS MATERIALIZED (
    SELECT had.id, r.* FROM had JOIN recent AS r ON r.build_id = had.build_id
),
seen AS MATERIALIZED (
    SELECT k.id, count(*) AS failed, max(r.finished_at) AS last_at,
           count(*) FILTER (WHERE r.finished_at <= {COMPARED_SINCE}) AS earlier
    FROM chosen AS k JOIN sighted AS r ON r.id = k.id AND {IN_SCOPE} GROUP BY k.id
),
counts AS MATERIALIZED (
    SELECT k.id, coalesce(seen.failed, 0) AS failed,
           cardinality(s.times) - coalesce(width_bucket({COMPARED_SINCE}, s.times), 0)
               + coalesce(seen.earlier, 0) AS builds,
           CASE WHEN seen.id IS NULL THEN 0
               ELSE cardinality(s.times) - width_bucket(greatest(seen.last_at, {COMPARED_SINCE}), s.times)
           END AS since,
           seen.last_at AS last_seen_at
    FROM chosen AS k JOIN scoped AS s
        ON (s.instance, s.project, s.branch, s.job, s.host) = (k.instance, k.project, k.branch, k.job, k.host)
    LEFT JOIN seen ON seen.id = k.id
)
"""  # noqa: S608 - put together from constants
