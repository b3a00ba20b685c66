"""Overrides as pages and the API show them, with the builds that each waives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sqlalchemy import text

from service.adapters.postgres.transaction.decisions import PostgresDecisions
from service.domain.decision.overrides import JudgedBuild, Override, revoked, waived_by
from service.domain.decision.vote import Outcome
from service.domain.identity import BuildName
from service.domain.wording.overrides import override_sentence
from service.ports import views

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlalchemy import Connection, RowMapping

_JUDGED: Final = text("""
SELECT b.id, b.job, b.number, b.outcome, b.blamed FROM build AS b
WHERE b.outcome IS NOT NULL AND b.id IN (
    SELECT rb.build_id FROM run AS r JOIN run_build AS rb ON rb.run_id = r.id
    WHERE r.patch_set_id = :patch_set_id AND r.kind = 'check'
)
ORDER BY b.id
""")


def overrides_on(connection: Connection, patch_set_id: int) -> Sequence[Override]:
    """Return all overrides on a patch set, oldest first; revoked ones too."""
    return PostgresDecisions(connection).overrides(patch_set_id)


def waivers_among(
    builds: Sequence[RowMapping], overrides: Sequence[Override], revision: str
) -> Mapping[int, Override]:
    """Return by build the override that waives its failure; rows have id, outcome and blamed."""
    if not overrides:
        return {}
    judged = [
        JudgedBuild(row["id"], Outcome(row["outcome"]), tuple(row["blamed"]))
        for row in builds
        if row["outcome"] is not None
    ]
    waivers = zip(judged, waived_by(judged, overrides, revision), strict=True)
    return {build.id: waiver for build, waiver in waivers if waiver is not None}


def override_views(
    connection: Connection, patch_set_id: int, revision: str, overrides: Sequence[Override]
) -> tuple[views.Override, ...]:
    """Return the overrides on a patch set, newest first, with the builds that each waives in any run."""
    if not overrides:
        return ()
    builds = connection.execute(_JUDGED, {"patch_set_id": patch_set_id}).mappings().all()
    names = {row["id"]: BuildName(row["job"], row["number"]) for row in builds}
    waived: dict[int, list[BuildName]] = {}
    for build_id, waiver in waivers_among(builds, overrides, revision).items():
        waived.setdefault(waiver.id, []).append(names[build_id])
    inactive = {override.id for override in revoked(overrides, revision)}
    return tuple(
        views.Override(
            kind=override.kind,
            who=override.who,
            reason=override.reason,
            bug=override.bug,
            filter=override.filter,
            at=override.at,
            is_active=override.id not in inactive,
            waives=tuple(waived.get(override.id, ())),
            sentence=override_sentence(override),
        )
        for override in reversed(overrides)
    )
