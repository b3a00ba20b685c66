"""Find failures of builds in a scope, and the groups that may make them known."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import text

from service.adapters.postgres.access.sight import measured_in_sight, visible_scope
from service.adapters.postgres.failures.builds_in_scope import IN_SCOPE, RECENT, SINCE
from service.domain.failures.failure import Failure, FailureKind
from service.domain.failures.known import has_match, line_of
from service.domain.values.identity import RunKind
from service.ports.failures.reading import PatternExample, PatternMatches

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlalchemy import Connection, Row

    from service.domain.failures.known import Scope
    from service.domain.failures.output.linear import Pattern

_MOST: Final = 20_000  # failures that are searched: about a tenth of a second
_EXAMPLES: Final = 5
_OF_SCOPE: Final = "SELECT " + ", ".join(
    f"cast(:{name} AS text) AS {name}" for name in ("instance", "project", "branch", "job", "host")
)
_PROJECTS: Final = text(f"""
SELECT p.instance, p.project
FROM (SELECT DISTINCT instance, project, '' AS branch FROM change) AS p
WHERE {visible_scope("p")} ORDER BY p.instance, p.project
""")  # noqa: S608 - put together from constants
_FAILURES: Final = text(f"""
WITH chosen AS ({_OF_SCOPE}), {RECENT}
SELECT b.id, b.job, coalesce(b.external_number, b.number) AS number, s.kind, s.subject,
    f.headline, f.line, f.place
FROM chosen AS k JOIN recent AS r ON {IN_SCOPE}
JOIN build AS b ON b.id = r.build_id AND b.outcome = 'failed'
JOIN failure AS f ON f.build_id = b.id AND NOT f.is_cleared JOIN signature AS s ON s.id = f.signature_id
WHERE {measured_in_sight("b.id")}
ORDER BY b.id DESC, f.position LIMIT {_MOST + 1}
""")  # noqa: S608 - put together from constants


def _builds(select: str, condition: str) -> str:
    """Return the query of builds in the scope ``k``, also of those that have no result yet."""
    return f"""
SELECT {select} FROM k
JOIN run AS r ON (r.instance, r.project) = (k.instance, k.project) AND k.branch IN ('', r.branch)
JOIN run_build AS its ON its.run_id = r.id
JOIN build AS b ON b.id = its.build_id AND k.job IN ('', b.job)
    AND k.host IN ('', split_part(coalesce(b.machine, ''), '/', 1))
WHERE {condition}
"""  # noqa: S608 - put together from constants


# Each branch may name another group. A scope of all branches needs each of them: otherwise, the author of one
# branch's file could waive failures on the others.
# Longer measurements have the groups of the build that they continue.
_OF_NOW: Final = f"r.kind <> '{RunKind.LONGER}'"
_NEWEST: Final = f"""
newest AS (
    {_builds("DISTINCT ON (r.branch) b.id", f"r.created_at > {SINCE} AND {_OF_NOW}")}
    ORDER BY r.branch, b.id DESC
)
"""
_GROUP: Final = "coalesce(build.spec -> 'groups' ->> 'override', '')"
_GROUPS_OF_SCOPE: Final = text(f"""
WITH k AS ({_OF_SCOPE}), {_NEWEST}
SELECT DISTINCT {_GROUP} AS named FROM newest JOIN build USING (id)
WHERE EXISTS (SELECT FROM k WHERE {visible_scope("k")}) ORDER BY named
""")  # noqa: S608 - put together from constants
# Without builds lately, the group of the last one.
_GROUPS_OF_KNOWN: Final = text(f"""
WITH k AS (SELECT * FROM known_failure WHERE id = :known_id), {_NEWEST},
last AS ({_builds("b.id", "NOT EXISTS (TABLE newest)")} ORDER BY r.id DESC LIMIT 1)
SELECT DISTINCT {_GROUP} AS named FROM (TABLE newest UNION ALL TABLE last) AS found JOIN build USING (id)
ORDER BY named
""")  # noqa: S608 - put together from constants


def projects(connection: Connection, sight: Mapping[str, Any]) -> Sequence[tuple[str, str]]:
    """Return the projects that a viewer sees."""
    return [(row.instance, row.project) for row in connection.execute(_PROJECTS, sight)]


def groups_of_known(connection: Connection, keys: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the groups that may change a known failure."""
    return tuple(connection.execute(_GROUPS_OF_KNOWN, keys).scalars())


def groups_of_scope(connection: Connection, scope: Scope, sight: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the groups that may make failures of a scope known; none if no build ran there lately."""
    return tuple(connection.execute(_GROUPS_OF_SCOPE, {**asdict(scope), **sight}).scalars())


def failures_in(connection: Connection, scope: Scope, sight: Mapping[str, Any]) -> Sequence[Row[Any]]:
    """Return the newest failures of a scope."""
    return connection.execute(_FAILURES, {**asdict(scope), **sight}).all()


def matches_among(rows: Sequence[Row[Any]], pattern: Pattern) -> PatternMatches:
    """Search failures for a pattern, as the decision of a run does."""
    searched = rows[:_MOST]
    matched = 0
    builds: set[int] = set()
    examples: list[PatternExample] = []
    for row in searched:
        failure = Failure(FailureKind(row.kind), row.subject, row.headline, row.line, row.place)
        if not has_match(pattern, failure):
            continue
        matched += 1
        builds.add(row.id)
        if len(examples) < _EXAMPLES:
            examples.append(PatternExample(row.job, row.number, line_of(failure)))
    return PatternMatches(len(searched), matched, len(builds), tuple(examples), len(rows) > len(searched))
