"""Read decisions with posting problems, and overrides with what each waives."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from sqlalchemy import text

from service.adapters.postgres.persisted import slowdowns_from
from service.adapters.postgres.rows import from_row
from service.domain.runs.overrides import Override, revoked
from service.domain.runs.vote import Outcome
from service.domain.runs.waivers import JudgedBuild, waived_by
from service.domain.values.identity import BuildName
from service.domain.wording.overrides import accepted_levels, override_sentence
from service.ports.runs import shown
from service.ports.runs.decisions import ReviewState, review_key

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlalchemy import Connection, RowMapping

    from service.domain.failures.known import KnownMatches
    from service.domain.runs.waivers import Waiver

_COLUMNS: Final = "SELECT run_id, number, vote, header, message, created_at FROM decision "
_OF_PATCH_SET: Final = text(f"{_COLUMNS} WHERE patch_set_id = :of ORDER BY number DESC LIMIT 100")
_OF_RUN: Final = text(f"{_COLUMNS} WHERE run_id = :of ORDER BY number DESC LIMIT 100")
_NOTES: Final = text("""
SELECT dedup_key, state, last_error FROM outbox
WHERE dedup_key = ANY(cast(:keys AS text[])) AND last_error IS NOT NULL
""")
_JUDGED: Final = text("""
SELECT b.id, b.job, coalesce(b.external_number, b.number) AS number, b.outcome, b.blamed, b.slowdowns
FROM build AS b
WHERE b.outcome IS NOT NULL AND b.id IN (
    SELECT rb.build_id FROM run AS r JOIN run_build AS rb ON rb.run_id = r.id
    WHERE r.patch_set_id = :patch_set_id AND r.kind = 'check'
)
ORDER BY b.id
""")


def decisions_of(
    connection: Connection, *, patch_set_id: int | None = None, run_id: int | None = None
) -> tuple[shown.Decision, ...]:
    """Return the decisions of a patch set or of a run, newest first."""
    query, of = (_OF_RUN, run_id) if patch_set_id is None else (_OF_PATCH_SET, patch_set_id)
    rows = connection.execute(query, {"of": of}).mappings().all()
    notes = _notes_on(connection, rows) if rows else {}
    return tuple(
        from_row(shown.Decision, row, review_state=state, review_note=note)
        for row in rows
        for state, note in (notes.get(_key(row), ("", "")),)
    )


def _notes_on(
    connection: Connection, decisions: Sequence[RowMapping]
) -> Mapping[str, tuple[ReviewState, str]]:
    rows = connection.execute(_NOTES, {"keys": [_key(row) for row in decisions]})
    return {row.dedup_key: (ReviewState(row.state), row.last_error) for row in rows}


def _key(decision: RowMapping) -> str:
    return review_key(decision["run_id"], decision["number"])


_NOTHING_KNOWN: Final[Mapping[int, KnownMatches]] = MappingProxyType({})


def waivers_among(
    builds: Sequence[RowMapping],
    overrides: Sequence[Override],
    revision: str,
    known: Mapping[int, KnownMatches] = _NOTHING_KNOWN,
) -> Mapping[int, Waiver]:
    """Return the waivers of failures by build.

    Args:
        builds: rows with id, outcome, blamed and slowdowns.
        overrides: of their patch set.
        revision: of their run.
        known: the known failures that their run keeps, by build.
    """
    judged = [
        JudgedBuild(
            row["id"],
            Outcome(row["outcome"]),
            tuple(row["blamed"]),
            known.get(row["id"]),
            slowdowns_from(row["slowdowns"]),
        )
        for row in builds
        if row["outcome"] is not None
    ]
    waivers = zip(judged, waived_by(judged, overrides, revision), strict=True)
    return {build.id: waiver for build, waiver in waivers if waiver is not None}


def override_views(
    connection: Connection, patch_set_id: int, revision: str, overrides: Sequence[Override]
) -> tuple[shown.Override, ...]:
    """Return the overrides on a patch set, newest first, with the builds that each waives in any run."""
    if not overrides:
        return ()
    builds = connection.execute(_JUDGED, {"patch_set_id": patch_set_id}).mappings().all()
    names = {row["id"]: BuildName(row["job"], row["number"]) for row in builds}
    waived: dict[int, list[BuildName]] = {}
    for build_id, waiver in waivers_among(builds, overrides, revision).items():
        if isinstance(waiver, Override):
            waived.setdefault(waiver.id, []).append(names[build_id])
    inactive = {override.id for override in revoked(overrides, revision)}
    return tuple(
        shown.Override(
            kind=override.kind,
            who=override.who,
            reason=override.reason,
            bug=override.bug,
            filter=override.filter,
            at=override.at,
            is_active=override.id not in inactive,
            waives=tuple(waived.get(override.id, ())),
            sentence=override_sentence(override),
            levels=accepted_levels(override.levels),
        )
        for override in reversed(overrides)
    )
