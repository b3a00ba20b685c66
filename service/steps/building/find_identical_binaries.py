"""Find the suites whose program and data are the same on both sides."""

from __future__ import annotations

from typing import TYPE_CHECKING

from service.domain.building.built_files import may_be_read, unchanged_suites
from service.domain.values.errors import BadInput
from service.domain.values.identity import RunKind, Side
from service.steps.building.build_sources import BUILD

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from service.domain.building.spec import Revision
    from service.steps.building.session import BuildSession


def find_identical_binaries(session: BuildSession, trees: Mapping[Side, Path]) -> frozenset[str]:
    """Return the names of these suites, without any that cannot be compared.

    Equal source trees have one program, even if the binaries differ. A calibration has no such suites: it
    compares a program with itself to learn how often that looks like a change.
    """
    host, spec = session.host, session.spec
    if spec.kind is RunKind.CALIBRATION or spec.base is None:
        return frozenset()
    if spec.base.tree == spec.patch.tree:
        return frozenset(suite.name for suite in spec.job.benchmark.suites)
    if len(trees) < len(Side) or not _has_equal_data(session, spec.base, spec.patch):
        return frozenset()
    base, patch = (
        host.inspector.inspect(trees[side] / BUILD, session.watch) for side in (Side.BASE, Side.PATCH)
    )
    if base is None or patch is None:
        return frozenset()
    return unchanged_suites(spec.job.benchmark.suites, base, patch)


def _has_equal_data(session: BuildSession, base: Revision, patch: Revision) -> bool:
    """Return whether the files that programs may read are equal in both source trees."""
    spec = session.spec
    try:
        changed = session.host.source.changed_paths(spec.project, base.commit, patch.commit)
    except BadInput:
        return False  # too many paths to look at
    # Programs see the whole path: a repository may be in a folder of data.
    place = spec.workspace.path_below_top if spec.workspace else str
    return not any(may_be_read(place(path)) for path in changed)
