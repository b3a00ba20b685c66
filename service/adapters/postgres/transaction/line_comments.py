"""What is said of lines of files, in a unit of work."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import text, update

from service.adapters.postgres.schema import tables as t
from service.adapters.postgres.transaction.connection import Connected

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from service.domain.building.findings import Finding
    from service.domain.identity import ChangeKey

# A review that waits on another revision is never posted there: the change moved on.
_REMARKS = text("""
SELECT DISTINCT comment ->> 'path' AS path, comment ->> 'text' AS text
FROM outbox, jsonb_array_elements(payload -> 'comments') AS comment
WHERE payload ? 'comments' AND payload -> 'number' = to_jsonb(CAST(:number AS bigint))
  AND payload ->> 'instance' = :instance
  AND (state = 'sent' OR (state = 'pending' AND payload ->> 'revision' = :revision))
""")


class OnLines(Connected):
    """What builds found on lines, and what was written there."""

    def store_findings(self, build_id: int, findings: Sequence[Finding]) -> None:
        """Keep what a build named by file and line, in the place of what it named before."""
        rows = [finding.to_mapping() for finding in findings]
        self._connection.execute(update(t.build).where(t.build.c.id == build_id).values(findings=rows))

    def remarks_on(self, change: ChangeKey, revision: str) -> Collection[tuple[str, str]]:
        """Path and text of each remark on a line that a change was sent, or will be sent on this revision."""
        where = {"instance": change.instance, "number": change.number, "revision": revision}
        return {(row.path, row.text) for row in self._connection.execute(_REMARKS, where)}
