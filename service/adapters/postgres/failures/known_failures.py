"""Known failures, and proposals of them, in a unit of work."""

from __future__ import annotations

from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import bindparam, func, select, text, update
from typing_extensions import override

from service.adapters.postgres import schema as t
from service.adapters.postgres.connection import Connected
from service.adapters.postgres.failures import schema as f
from service.adapters.postgres.failures.builds_in_scope import COUNTED, PASSED, RUNS, SINCE
from service.adapters.postgres.failures.failures import KNOWN, known_of, stored_signature
from service.adapters.postgres.failures.sightings import SIGHTING, sightings_of
from service.domain.access.audit import AuditKind
from service.domain.failures.failure import Failure, FailureKind
from service.domain.failures.known import CLOSED, DEFAULT_DAYS, PROPOSABLE, Scope
from service.domain.failures.output.ends import is_specific
from service.domain.values.errors import NotFound
from service.ports.failures.storing import (
    PROPOSER,
    KnownFailures,
    UnknownSignature,
    known_details,
    known_subject,
    proposal_details,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection

    from service.domain.failures.known import KnownFailure
    from service.ports.access import Audit, Author
    from service.ports.failures.storing import KnownChange, NewKnown

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
JOIN run AS r ON r.id = held.run_id AND r.kind NOT IN {t.IDLE_KINDS}
LEFT JOIN patch_set AS p ON p.id = r.patch_set_id
WHERE NOT EXISTS (
    SELECT FROM known_failure AS k WHERE k.signature_id = s.id
        AND k.instance = r.instance AND k.project = r.project
        AND k.branch IN ('', r.branch) AND k.job IN ('', b.job)
)
ORDER BY s.last_seen_at DESC, s.id DESC, r.instance, r.project, r.branch, b.job, b.finished_at, b.id
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
_MAKE: Final = text("""
INSERT INTO known_failure
    (signature_id, pattern, instance, project, branch, job, host, bug, reason, owner, state, expires_at)
VALUES (:signature_id, :pattern, :instance, :project, :branch, :job, :host, :bug, :reason, :owner,
        'confirmed', now() + make_interval(days => :days))
ON CONFLICT (instance, project, branch, job, host, coalesce(signature_id, 0), md5(pattern))
    WHERE state <> 'invalid'
DO UPDATE SET bug = excluded.bug, reason = excluded.reason, owner = excluded.owner,
    expires_at = excluded.expires_at,
    state = CASE known_failure.state WHEN 'infrastructure' THEN 'infrastructure' ELSE 'confirmed' END
RETURNING id, xmax = 0 AS is_new
""")


class PostgresKnownFailures(Connected, KnownFailures):
    """Rows of the table ``known_failure``.

    Args:
        connection: a connection in a transaction, which the store ends.
        audit: of the same transaction.
    """

    def __init__(self, connection: Connection, audit: Audit) -> None:
        super().__init__(connection)
        self._audit = audit

    @override
    def make(self, new: NewKnown, author: Author) -> KnownFailure:
        signature_id = None
        if new.signature is not None:
            of_digest = select(f.signature.c.id).where(f.signature.c.digest == new.signature.digest)
            signature_id = self._execute(of_digest).scalar_one_or_none()
            # The signatures stored with the failure may come from older rules.
            signature_id = signature_id or self._execute(stored_signature(new.signature)).scalar_one()
        scope = new.scope
        row = self._execute(
            _MAKE,
            {
                "signature_id": signature_id,
                "pattern": new.pattern,
                "instance": scope.instance,
                "project": scope.project,
                "branch": scope.branch,
                "job": scope.job,
                "host": scope.host,
                "bug": new.bug,
                "reason": new.reason,
                "owner": author.name,
                "days": new.days,
            },
        ).one()
        known = self.lock(row.id)
        self._record(AuditKind.KNOWN_CREATED if row.is_new else AuditKind.KNOWN_CHANGED, known, author)
        return known

    @override
    def lock(self, known_id: int) -> KnownFailure:
        locked = KNOWN.where(f.known_failure.c.id == known_id).with_for_update(of=f.known_failure)
        row = self._execute(locked).one_or_none()
        if row is None:
            raise NotFound(f"there is no known failure {known_id}")
        return known_of(row)

    @override
    def change(self, known_id: int, change: KnownChange, author: Author) -> KnownFailure:
        values: dict[str, Any] = {"state": change.state, "bug": change.bug, "assignee": change.assignee}
        changed = update(f.known_failure).where(f.known_failure.c.id == known_id)
        was = self.lock(known_id)
        if not was.owner:
            values["owner"] = author.name
        if change.days is not None:
            values["expires_at"] = func.now() + func.make_interval(0, 0, 0, bindparam("days", change.days))
        self._execute(changed.values(values))
        known = self.lock(known_id)
        is_closed = known.state in CLOSED and was.state not in CLOSED
        self._record(AuditKind.KNOWN_CLOSED if is_closed else AuditKind.KNOWN_CHANGED, known, author)
        return known

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
    def propose(self, found: UnknownSignature, grounds: Sequence[str]) -> int | None:
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
        self._audit.record_act(
            AuditKind.KNOWN_PROPOSED, PROPOSER, f"known failure {made}", proposal_details(found, grounds)
        )
        return int(made)

    def _record(self, kind: AuditKind, known: KnownFailure, author: Author) -> None:
        self._audit.record_act(kind, author.account, known_subject(known), known_details(known, author))
