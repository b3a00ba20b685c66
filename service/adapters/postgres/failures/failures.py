"""Failures of builds, and the known failures that they match, in a unit of work."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import Boolean, delete, func, literal_column, select, text, update
from sqlalchemy.dialects.postgresql import insert
from typing_extensions import override

from service.adapters.postgres import schema as t
from service.adapters.postgres.connection import Connected
from service.adapters.postgres.failures import schema as f
from service.adapters.postgres.failures.builds_in_scope import COUNTS
from service.adapters.postgres.failures.parent_failures import failing_on_parent, on_parent
from service.domain.failures.evidence import Rate
from service.domain.failures.failure import Failure, FailureKind
from service.domain.failures.known import ACTIVE, KnownFailure, Scope, TriageState
from service.domain.failures.signature import signature_of
from service.ports.failures.storing import BuildFailures, Failures, KnownNow

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from sqlalchemy import Row
    from sqlalchemy.sql.dml import ReturningInsert

    from service.domain.failures.evidence import ParentBuild
    from service.domain.failures.signature import Signature
    from service.ports.failures.storing import Matches

# As the tracker said within a week.
_IS_BUG_CLOSED: Final = literal_column(
    "EXISTS (SELECT FROM bug WHERE bug.bug = known_failure.bug AND bug.is_closed"
    " AND bug.read_at > now() - interval '7 days')",
    Boolean,
).label("is_bug_closed")
KNOWN: Final = select(f.known_failure, f.signature.c.digest, f.signature.c.text, _IS_BUG_CLOSED).outerjoin(
    f.signature
)
_RATES: Final = text(f"""
WITH chosen AS (SELECT * FROM known_failure WHERE id = ANY(:ids)), {COUNTS}
SELECT k.id, coalesce(c.builds, 0) AS builds, coalesce(c.failed, 0) AS failed
FROM chosen AS k LEFT JOIN counts AS c ON c.id = k.id
""")  # noqa: S608 - put together from constants
_MOST_EXPIRED: Final = 100
_ON_PARENT: Final = failing_on_parent()


class PostgresFailures(Connected, Failures):
    """Rows of the tables ``signature``, ``failure`` and ``known_match``."""

    @override
    def store_failures(self, build_id: int, found: BuildFailures, cleared: Sequence[Failure] = ()) -> None:
        self._execute(delete(f.failure).where(f.failure.c.build_id == build_id))
        cut = update(t.build).where(t.build.c.id == build_id, t.build.c.failures_cut != found.is_cut)
        self._execute(cut.values(failures_cut=found.is_cut))
        # The failures that count come first: their positions are those of their matches.
        failures = (*found.failures, *cleared)
        signatures = [signature_of(failure) for failure in failures]
        ids = {}
        # In one order everywhere, so that two builds that end at once cannot deadlock.
        for each in sorted(set(signatures), key=lambda signature: signature.digest):
            ids[each] = self._execute(stored_signature(each)).scalar_one()
        rows = [
            {
                "build_id": build_id,
                "position": position,
                "signature_id": ids[signature],
                "headline": failure.headline,
                "line": failure.line,
                "place": failure.place,
                "is_cleared": position >= len(found.failures),
            }
            for position, (failure, signature) in enumerate(zip(failures, signatures, strict=True))
        ]
        if rows:
            self._execute(insert(f.failure), rows)

    @override
    def failures_of(self, build_ids: Sequence[int]) -> Mapping[int, BuildFailures]:
        rows = self._execute(
            select(f.failure, f.signature.c.kind, f.signature.c.subject)
            .join(f.signature)
            .where(f.failure.c.build_id.in_(build_ids), ~f.failure.c.is_cleared)
            .order_by(f.failure.c.build_id, f.failure.c.position)
        )
        found: defaultdict[int, list[Failure]] = defaultdict(list)
        for row in rows:
            kind = FailureKind(row.kind)
            found[row.build_id].append(Failure(kind, row.subject, row.headline, row.line, row.place))
        is_cut = t.build.c.failures_cut & t.build.c.id.in_(build_ids)
        cut = set(self._execute(select(t.build.c.id).where(is_cut)).scalars())
        return {
            build: BuildFailures(tuple(found[build]), build in cut)
            for build in build_ids
            if build in found or build in cut
        }

    @override
    def known_now(self, instance: str, project: str) -> KnownNow:
        of_project = (f.known_failure.c.instance == instance) & (f.known_failure.c.project == project)
        rows = self._execute(
            KNOWN.where(of_project, f.known_failure.c.state.in_(ACTIVE))
            .where(f.known_failure.c.expires_at > func.now())
            .order_by(f.known_failure.c.id)
            .with_for_update(of=f.known_failure, read=True)
        )
        ended = self._execute(
            KNOWN.where(of_project, f.known_failure.c.state.in_(ACTIVE), f.known_failure.c.bug != "")
            .where(f.known_failure.c.expires_at <= func.now())
            .order_by(f.known_failure.c.expires_at.desc(), f.known_failure.c.id)
            .limit(_MOST_EXPIRED)
        )
        known, expired = (tuple(map(known_of, found)) for found in (rows, ended))
        return KnownNow(self._execute(select(func.now())).scalar_one(), known, expired)

    @override
    def keep_matches(self, run_id: int, matches: Mapping[tuple[int, int], int]) -> None:
        rows = [
            {"run_id": run_id, "build_id": build, "position": position, "known_id": known}
            for (build, position), known in sorted(matches.items())
        ]
        if rows:
            self._execute(insert(f.known_match).on_conflict_do_nothing(), rows)

    @override
    def matches_of(self, run_id: int) -> Matches:
        columns = (f.known_match.c.build_id, f.known_match.c.position)
        kept = f.known_match.c.known_id == f.known_failure.c.id
        rows = self._execute(
            KNOWN.add_columns(*columns).join(f.known_match, kept).where(f.known_match.c.run_id == run_id)
        )
        return {(row.build_id, row.position): known_of(row) for row in rows}

    @override
    def on_parent(self, run_id: int, build_ids: Collection[int]) -> Mapping[int, tuple[ParentBuild, ...]]:
        return on_parent(self._connection, _ON_PARENT, run_id, build_ids)

    @override
    def rates_of(self, known_ids: Sequence[int]) -> Mapping[int, Rate]:
        rows = self._execute(_RATES, {"ids": list(known_ids)})
        return {row.id: Rate(row.failed, row.builds) for row in rows}


def stored_signature(signature: Signature) -> ReturningInsert[Any]:
    """Store a signature, or note that it was seen; the statement returns its id."""
    new = insert(f.signature).values(
        digest=signature.digest, kind=signature.kind, subject=signature.subject, text=signature.text
    )
    seen = new.on_conflict_do_update(index_elements=["digest"], set_={"last_seen_at": func.now()})
    return seen.returning(f.signature.c.id)


def known_of(row: Row[Any]) -> KnownFailure:
    """Make a known failure of a row of :data:`KNOWN`."""
    return KnownFailure(
        id=row.id,
        signature=None if row.digest is None else bytes(row.digest),
        pattern=row.pattern,
        scope=Scope(
            instance=row.instance, project=row.project, branch=row.branch, job=row.job, host=row.host
        ),
        bug=row.bug,
        reason=row.reason,
        owner=row.owner,
        assignee=row.assignee,
        state=TriageState(row.state),
        expires_at=row.expires_at,
        text=row.text or "",
        is_bug_closed=row.is_bug_closed,
    )
