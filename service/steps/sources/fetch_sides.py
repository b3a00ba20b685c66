"""Fetch the revisions that a build compares."""

from __future__ import annotations

from typing import TYPE_CHECKING

from service.domain.values.errors import Unfit
from service.domain.wording.build_causes import OTHER_MERGE

if TYPE_CHECKING:
    from service.domain.building.spec import BuildSpec
    from service.ports.sources import Source


def fetch_sides(source: Source, spec: BuildSpec) -> None:
    """Fetch both sides of a build, and make the merges among them.

    Raises:
        Unfit: the machine's git makes another merge than the service's.
        NotFound: the branch no longer has the commit that they are merged into.
    """
    sides = [each for each in (spec.patch, spec.base) if each is not None]
    merges = {each.commit: each.merge for each in sides if each.merge is not None}
    branch = [f"refs/heads/{spec.branch}"] if merges else []
    source.fetch(spec.project, *dict.fromkeys((*(each.ref for each in sides), *branch)))
    if any(source.merge(spec.project, merge) != commit for commit, merge in merges.items()):
        raise Unfit(OTHER_MERGE)
