"""Drop logs and failures of builds that ended long ago, and artifacts that no row names any more."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sqlalchemy import text
from typing_extensions import override

from service.adapters.postgres.connection import ShortTransactions
from service.ports.runs.upkeep import OldLogs

if TYPE_CHECKING:
    from collections.abc import Sequence

# A log that explains a failure is looked at again when the failure comes back.
_DROP_LOGS: Final = text("""
WITH old AS (
    SELECT e.build_id FROM log_end AS e JOIN build AS b ON b.id = e.build_id
    WHERE b.state = 'finished' AND b.finished_at < now() - CASE b.result
        WHEN 'SUCCESS' THEN interval '90 days' ELSE interval '400 days' END
    ORDER BY e.build_id LIMIT :most
), chunk AS (
    DELETE FROM log_chunk USING old WHERE log_chunk.build_id = old.build_id RETURNING log_chunk.artifact
), unneeded AS (
    INSERT INTO unneeded_artifact (artifact) SELECT DISTINCT artifact FROM chunk
    ON CONFLICT (artifact) DO UPDATE SET since = now()
)
DELETE FROM log_end USING old WHERE log_end.build_id = old.build_id RETURNING 1
""")
# Equal bytes have one artifact, so another row may name a log's. All columns with artifacts are here.
_DROP_NEEDED: Final = text("""
WITH due AS (
    SELECT artifact FROM unneeded_artifact WHERE since < now() - interval '1 hour' ORDER BY since LIMIT :most
)
DELETE FROM unneeded_artifact AS u USING due WHERE u.artifact = due.artifact AND u.artifact IN (
    SELECT artifact FROM log_chunk WHERE artifact IN (TABLE due)
    UNION ALL SELECT artifact FROM launch WHERE artifact IN (TABLE due)
    UNION ALL SELECT artifact FROM kept_binary WHERE artifact IN (TABLE due)
    UNION ALL SELECT log FROM build WHERE log IN (TABLE due)
    UNION ALL SELECT execution ->> 'tests' FROM build WHERE execution ->> 'tests' IN (TABLE due)
)
""")
_UNNEEDED: Final = text("""
SELECT artifact FROM unneeded_artifact WHERE since < now() - interval '1 hour' ORDER BY since LIMIT :most
""")
_DROP_ARTIFACTS: Final = text("DELETE FROM unneeded_artifact WHERE artifact = ANY(:artifacts)")
_DROP_FAILURES: Final = text("""
WITH old AS (
    SELECT DISTINCT f.build_id FROM failure AS f JOIN build AS b ON b.id = f.build_id
    WHERE b.state = 'finished' AND b.finished_at < now() - interval '400 days'
        AND NOT EXISTS (SELECT FROM known_match AS m WHERE m.build_id = b.id)
    ORDER BY f.build_id LIMIT :most
), dropped AS (
    DELETE FROM failure USING old WHERE failure.build_id = old.build_id
)
SELECT build_id FROM old
""")
# A new failure of a signature changes its time first, so that this waits for it and then leaves it alone.
_DROP_SIGNATURES: Final = text("""
WITH old AS (
    SELECT s.id FROM signature AS s
    WHERE s.last_seen_at < now() - interval '400 days'
        AND NOT EXISTS (SELECT FROM failure AS f WHERE f.signature_id = s.id)
        AND NOT EXISTS (
            SELECT FROM known_failure AS k WHERE k.signature_id = s.id AND k.state <> 'untriaged'
        )
    ORDER BY s.id LIMIT :most FOR UPDATE
), proposal AS (
    DELETE FROM known_failure AS k USING old WHERE k.signature_id = old.id AND k.state = 'untriaged'
)
DELETE FROM signature AS s USING old WHERE s.id = old.id
""")


class PostgresOldLogs(ShortTransactions, OldLogs):
    """Old logs and failures in the database."""

    @override
    def drop_old_logs(self, most: int) -> int:
        return len(self._all(_DROP_LOGS, most=most))

    @override
    def unneeded_artifacts(self, most: int) -> Sequence[str]:
        self._do(_DROP_NEEDED, most=most)
        return [artifact for (artifact,) in self._all(_UNNEEDED, most=most)]

    @override
    def drop_artifacts(self, artifacts: Sequence[str]) -> None:
        self._do(_DROP_ARTIFACTS, artifacts=list(artifacts))

    @override
    def drop_old_failures(self, most: int) -> int:
        dropped = len(self._all(_DROP_FAILURES, most=most))
        self._do(_DROP_SIGNATURES, most=most)
        return dropped
