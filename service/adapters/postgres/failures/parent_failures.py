"""Find failures that a finished build of a run's parent has, too."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from sqlalchemy import text

from service.domain.failures.evidence import parent_builds
from service.domain.failures.failure import Failure, FailureKind
from service.domain.values.identity import BuildName

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from sqlalchemy import Connection, TextClause

    from service.domain.failures.evidence import ParentBuild


def failing_on_parent(condition: str = "true") -> TextClause:
    """Return the query of failures and the newest builds ``of_parent`` that meet a condition.

    A merged commit of another branch may have been built by another project file.
    """
    return text(f"""
SELECT DISTINCT ON (b.id, f.position) b.id, s.kind, s.subject, f.headline, of_parent.job,
    coalesce(of_parent.external_number, of_parent.number) AS number
FROM run AS r JOIN build AS b ON b.id = ANY(:builds)
JOIN failure AS f ON f.build_id = b.id AND NOT f.is_cleared JOIN signature AS s ON s.id = f.signature_id
JOIN failure AS same ON same.signature_id = s.id AND NOT same.is_cleared
JOIN build AS of_parent ON of_parent.id = same.build_id AND of_parent.id <> b.id
    AND of_parent.job = b.job AND of_parent.state = 'finished' AND of_parent.outcome = 'failed'
JOIN run_build AS had ON had.build_id = of_parent.id JOIN run AS older ON older.id = had.run_id
WHERE r.id = :run_id AND older.instance = r.instance AND older.project = r.project
    AND (older.revision = r.parent OR older.tree = r.parent_tree)
    AND (older.kind = 'check' OR (older.kind = 'post-submit' AND older.branch = r.branch))
    AND {condition}
ORDER BY b.id, f.position, of_parent.id DESC
""")  # noqa: S608 - put together from constants


def on_parent(
    connection: Connection, query: TextClause, run_id: int, builds: Collection[int], **others: object
) -> Mapping[int, tuple[ParentBuild, ...]]:
    """Run the query for builds of a run."""
    rows = connection.execute(query, {"run_id": run_id, "builds": list(builds), **others})
    return {
        build: parent_builds(
            (Failure(FailureKind(row.kind), row.subject, row.headline), BuildName(row.job, row.number))
            for row in of_build
        )
        for build, of_build in groupby(rows, lambda row: row.id)
    }
