"""Find failures of a run's builds that look like a known failure, whose signature does not name a cause."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Final

from sqlalchemy import text

from service.domain.failures.failure import Failure, FailureKind
from service.domain.failures.known import LookAlike
from service.domain.failures.naming import names_cause
from service.domain.failures.signature import signature_of

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from sqlalchemy import Connection

# Those that waived a failure when the run was decided look like nothing any more.
_ALIKE: Final = text("""
SELECT DISTINCT ON (b.id, f.position) b.id, b.job, s.kind, s.subject, s.text, f.headline, f.line, k.bug,
    ARRAY(
        SELECT coalesce(nullif(other.subject, ''), o.headline)
        FROM failure AS o JOIN signature AS other ON other.id = o.signature_id
        WHERE o.build_id = b.id AND o.position <> f.position AND NOT o.is_cleared AND NOT EXISTS (
            SELECT FROM known_match AS m WHERE (m.run_id, m.build_id, m.position) = (r.id, b.id, o.position)
        )
        ORDER BY o.position
    ) AS beside
FROM run AS r JOIN build AS b ON b.id = ANY(:builds)
JOIN failure AS f ON f.build_id = b.id AND NOT f.is_cleared JOIN signature AS s ON s.id = f.signature_id
JOIN known_failure AS k ON k.signature_id = s.id AND (k.instance, k.project) = (r.instance, r.project)
    AND k.branch IN ('', r.branch) AND k.job IN ('', b.job)
    AND k.host IN ('', split_part(coalesce(b.machine, ''), '/', 1))
    AND k.state IN ('confirmed', 'infrastructure') AND k.bug <> '' AND k.expires_at > now()
WHERE r.id = :run_id AND NOT EXISTS (
    SELECT FROM known_match AS m WHERE (m.run_id, m.build_id, m.position) = (r.id, b.id, f.position)
)
ORDER BY b.id, f.position, k.id
""")


def look_alikes(
    connection: Connection, run_id: int, builds: Collection[int]
) -> Mapping[int, Sequence[LookAlike]]:
    """Return by build the failures that a person must compare with the text of a known failure."""
    found: defaultdict[int, list[LookAlike]] = defaultdict(list)
    for row in connection.execute(_ALIKE, {"run_id": run_id, "builds": list(builds)}):
        failure = Failure(FailureKind(row.kind), row.subject, row.headline, row.line)
        if not names_cause(signature_of(failure), failure.line):
            own = failure.subject or failure.headline
            beside = tuple(name for name in dict.fromkeys(row.beside) if name != own)
            found[row.id].append(LookAlike(row.job, failure, row.bug, row.text, beside))
    return found
