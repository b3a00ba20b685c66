"""How what people ruled is read for people, and what it excuses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sqlalchemy import text

from service.adapters.postgres.transaction.comments import PeopleSaid
from service.domain.decision.overrides import JudgedBuild, Ruling, excused, sentence, taken_back
from service.domain.decision.vote import Outcome
from service.domain.identity import BuildName
from service.ports.views import RulingView

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


def rulings_on(connection: Connection, patch_set_id: int) -> Sequence[Ruling]:
    """What people decided about a patch set, oldest first; those in force and those taken back."""
    return PeopleSaid(connection).rulings(patch_set_id)


def excuses_among(
    builds: Sequence[RowMapping], made: Sequence[Ruling], revision: str
) -> Mapping[int, Ruling]:
    """By build the ruling by which its failure does not count; rows have id, outcome and blamed."""
    if not made:
        return {}
    judged = [
        JudgedBuild(row["id"], Outcome(row["outcome"]), tuple(row["blamed"]))
        for row in builds
        if row["outcome"] is not None
    ]
    found = zip(judged, excused(judged, made, revision), strict=True)
    return {build.id: ruling for build, ruling in found if ruling is not None}


def ruling_views(
    connection: Connection, patch_set_id: int, revision: str, made: Sequence[Ruling]
) -> tuple[RulingView, ...]:
    """The rulings on a patch set, newest first, with what each excuses in any round."""
    if not made:
        return ()
    builds = connection.execute(_JUDGED, {"patch_set_id": patch_set_id}).mappings().all()
    names = {row["id"]: BuildName(row["job"], row["number"]) for row in builds}
    excused_by: dict[int, list[BuildName]] = {}
    for build_id, ruling in excuses_among(builds, made, revision).items():
        excused_by.setdefault(ruling.id, []).append(names[build_id])
    undone = {each.id for each in taken_back(made, revision)}
    return tuple(_view(each, undone, tuple(excused_by.get(each.id, ()))) for each in reversed(made))


def _view(ruling: Ruling, undone: Collection[int], excuses: tuple[BuildName, ...]) -> RulingView:
    return RulingView(
        kind=ruling.kind.value,
        who=ruling.who,
        reason=ruling.reason,
        bug=ruling.bug,
        filter=ruling.filter,
        at=ruling.at,
        is_standing=ruling.id not in undone,
        excuses=excuses,
        sentence=sentence(ruling),
    )
