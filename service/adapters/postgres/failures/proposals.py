"""Signatures without a known failure, and proposals, in a unit of work."""

from __future__ import annotations

from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Final

from sqlalchemy import text
from typing_extensions import override

from service.adapters.postgres.access.audit import PostgresAudit
from service.adapters.postgres.failures.builds_in_scope import COUNTED, PASSED, RUNS, SINCE
from service.adapters.postgres.failures.sightings import SIGHTING, sightings_of
from service.domain.access.audit import AuditKind
from service.domain.failures.failure import Failure, FailureKind
from service.domain.failures.known import DEFAULT_DAYS, PROPOSABLE, Scope
from service.domain.failures.output.ends import is_specific
from service.ports.audited import PROPOSER, proposal_details
from service.ports.failures.storing import Proposals, UnknownSignature

if TYPE_CHECKING:
    from collections.abc import Sequence

# Sightings, and signatures, that are looked at at once. The newest come first: a new sighting brings its
# signature to the front, with those before it. So a flood of failures hides nothing for long.
_MOST: Final = 5000
_UNKNOWN: Final = text(f"""
WITH {PASSED},
held AS MATERIALIZED (
    SELECT b.id AS build_id, min(its.run_id) AS run_id FROM build AS b
    JOIN {RUNS} ON its.build_id = b.id
    WHERE {COUNTED} AND b.finished_at > {SINCE} GROUP BY b.id
)
SELECT s.digest, s.kind, s.subject, s.text, r.instance, r.project, r.branch, b.job, {SIGHTING}
FROM (
    SELECT * FROM signature WHERE last_seen_at > {SINCE} AND kind = ANY(:kinds)
        AND (subject <> '' OR kind = 'sanitizer')
    ORDER BY last_seen_at DESC, id DESC LIMIT :most
) AS s
JOIN failure AS found ON found.signature_id = s.id
JOIN held ON held.build_id = found.build_id
JOIN build AS b ON b.id = held.build_id
JOIN run AS r ON r.id = held.run_id AND r.kind <> 'calibration'
LEFT JOIN patch_set AS p ON p.id = r.patch_set_id
WHERE NOT EXISTS (
    SELECT FROM known_failure AS k WHERE k.signature_id = s.id
        AND k.instance = r.instance AND k.project = r.project
        AND k.branch IN ('', r.branch) AND k.job IN ('', b.job)
)
ORDER BY s.last_seen_at DESC, s.id DESC, r.instance, r.project, r.branch, b.job, b.finished_at
LIMIT :most
""")  # noqa: S608 - put together from constants
_PROPOSE: Final = text("""
INSERT INTO known_failure (signature_id, instance, project, branch, job, state, expires_at)
SELECT s.id, :instance, :project, :branch, :job, 'untriaged', now() + make_interval(days => :days)
FROM signature AS s WHERE s.digest = :digest AND NOT EXISTS (
    SELECT FROM known_failure AS k WHERE k.signature_id = s.id
        AND k.instance = :instance AND k.project = :project
        AND k.branch IN ('', :branch) AND k.job IN ('', :job)
)
ON CONFLICT DO NOTHING RETURNING id
""")


class PostgresProposals(PostgresAudit, Proposals):
    """Signatures that people may want to make known."""

    @override
    def unknown_signatures(self) -> Sequence[UnknownSignature]:
        rows = self._execute(_UNKNOWN, {"kinds": sorted(PROPOSABLE), "most": _MOST}).mappings().all()
        named = [
            row for row in rows if is_specific(Failure(FailureKind(row["kind"]), row["subject"], row["text"]))
        ]
        found = groupby(named, itemgetter("digest", "instance", "project", "branch", "job"))
        return [
            UnknownSignature(
                bytes(digest),
                Scope(instance=instance, project=project, branch=branch, job=job),
                sightings_of(list(sightings)),
            )
            for (digest, instance, project, branch, job), sightings in found
        ]

    @override
    def propose_known(self, found: UnknownSignature, grounds: Sequence[str]) -> int | None:
        scope = found.scope
        values = {
            "digest": found.signature,
            "instance": scope.instance,
            "project": scope.project,
            "branch": scope.branch,
            "job": scope.job,
        }
        made = self._execute(_PROPOSE, values | {"days": DEFAULT_DAYS}).scalar()
        if made is None:
            return None
        self.record_act(
            AuditKind.KNOWN_PROPOSED, PROPOSER, f"known failure {made}", proposal_details(found, grounds)
        )
        return int(made)
