"""Overrides as pages and the API show them, with the builds that each waives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sqlalchemy import text

from service.adapters.postgres.transaction.overrides import PostgresOverrides
from service.domain.decision.overrides import JudgedBuild, Override, revoked, sentence, waived_by
from service.domain.decision.vote import Outcome
from service.domain.identity import BuildName
from service.ports.views import OverrideView

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

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
    """What people decided about a patch set, oldest first; those in force and those taken back."""
    return PostgresOverrides(connection).overrides(patch_set_id)


def waivers_among(
    builds: Sequence[RowMapping], made: Sequence[Override], revision: str
) -> Mapping[int, Override]:
    """By build the ruling by which its failure does not count; rows have id, outcome and blamed."""
    if not made:
        return {}
    judged = [
        JudgedBuild(row["id"], Outcome(row["outcome"]), tuple(row["blamed"]))
        for row in builds
        if row["outcome"] is not None
    ]
    found = zip(judged, waived_by(judged, made, revision), strict=True)
    return {build.id: ruling for build, ruling in found if ruling is not None}


def ruling_views(
    connection: Connection, patch_set_id: int, revision: str, made: Sequence[Override]
) -> tuple[OverrideView, ...]:
    """The overrides on a patch set, newest first, with the builds that each waives in any run."""
    if not made:
        return ()
    builds = connection.execute(_JUDGED, {"patch_set_id": patch_set_id}).mappings().all()
    names = {row["id"]: BuildName(row["job"], row["number"]) for row in builds}
    waived: dict[int, list[BuildName]] = {}
    for build_id, ruling in waivers_among(builds, made, revision).items():
        waived.setdefault(ruling.id, []).append(names[build_id])
    undone = {each.id for each in revoked(made, revision)}
    return tuple(_view(each, undone, tuple(waived.get(each.id, ()))) for each in reversed(made))


def _view(ruling: Override, undone: Collection[int], waives: tuple[BuildName, ...]) -> OverrideView:
    return OverrideView(
        kind=ruling.kind.value,
        who=ruling.who,
        reason=ruling.reason,
        bug=ruling.bug,
        filter=ruling.filter,
        at=ruling.at,
        is_active=ruling.id not in undone,
        waives=waives,
        sentence=sentence(ruling),
    )
