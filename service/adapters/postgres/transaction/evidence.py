"""A/A evidence in a unit of work."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import text
from typing_extensions import override

from service.adapters.postgres.connection import Connected
from service.domain.calibration.evidence import RECALLED, History, Session
from service.domain.inference.verdict import Verdict
from service.ports.transaction.builds import Evidence

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from sqlalchemy import Row

    from service.domain.identity import SeriesKey
    from service.ports.records import BuildRecord

# Pairs do not say which machine measured them, so a session stays that of the first machine.
_STORE: Final = text("""
INSERT INTO evidence (series_id, sequence_id, machine, build_id, logs, verdict)
SELECT id, :sequence, :machine, :build, cast(:logs AS real[]), :verdict FROM series WHERE digest = :digest
ON CONFLICT (series_id, sequence_id) DO UPDATE SET
    build_id = excluded.build_id, logs = excluded.logs, verdict = excluded.verdict
WHERE evidence.machine = excluded.machine
""")
SESSIONS: Final = """
    SELECT logs, verdict, build_id, created_at,
           row_number() OVER (ORDER BY sequence_id DESC) AS place,
           count(*) OVER () AS sessions,
           sum(cardinality(logs)) OVER () AS pairs,
           count(*) FILTER (WHERE verdict IN ('slower', 'faster')) OVER () AS alarms
"""
_FIND: Final = text(f"""
SELECT s.digest, e.logs, e.verdict, e.sessions, e.pairs, e.alarms
FROM series AS s
JOIN LATERAL ({SESSIONS} FROM evidence WHERE series_id = s.id AND machine = :machine) AS e
    ON e.place <= :recalled
WHERE s.digest = ANY(cast(:digests AS bytea[]))
ORDER BY s.digest, e.place
""")  # noqa: S608 - put together from constants


class PostgresEvidence(Connected, Evidence):
    """Sessions in the table ``evidence``."""

    @override
    def store_evidence(self, build: BuildRecord, sessions: Mapping[SeriesKey, Session]) -> None:
        rows = [
            {
                "sequence": build.sequence_id,
                "machine": build.machine,
                "build": build.id,
                "logs": list(session.logs),
                "verdict": session.verdict.value,
                "digest": key.digest,
            }
            for key, session in sessions.items()
        ]
        if rows:
            self._connection.execute(_STORE, rows)

    @override
    def evidence(self, machine: str, series: Sequence[SeriesKey]) -> Mapping[SeriesKey, History]:
        keys = {key.digest: key for key in series}
        values = {"machine": machine, "digests": list(keys), "recalled": RECALLED}
        rows = self._connection.execute(_FIND, values).all()
        return {
            keys[bytes(digest)]: history_of(each)
            for digest, each in groupby(rows, key=lambda row: row.digest)
        }


def history_of(rows: Iterable[Row[Any]]) -> History:
    """Make the history of one series on one machine from its rows, newest first; at least one row."""
    found = list(rows)
    newest = tuple(Session(tuple(row.logs), Verdict(row.verdict)) for row in found)
    return History(newest, found[0].sessions, found[0].pairs, found[0].alarms)
