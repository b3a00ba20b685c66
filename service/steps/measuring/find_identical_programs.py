"""Find the suites whose program and data are the same on both sides."""

from __future__ import annotations

from typing import TYPE_CHECKING

from service.domain.building.built_files import UNREADABLE, differing, unchanged_suites
from service.domain.values.identity import RunKind, Side
from service.domain.wording.build_causes import opens_others, opens_unknown
from service.steps.building.build_sources import BUILD

if TYPE_CHECKING:
    from service.steps.building.session import BuildSession
    from service.steps.measuring.prepare_sides import PreparedSides


def find_identical_programs(session: BuildSession, sides: PreparedSides) -> frozenset[str]:
    """Return the names of these suites, without any that cannot be compared.

    Equal source trees have one program, even if the binaries differ. Others have one if the build
    directories have the same content, and the launches of both rehearsals opened the same files, with the
    same content; a launch that failed may have opened fewer. The log explains why a suite with the same
    binaries is measured nevertheless. A calibration has no such suites: it compares a program with itself to
    learn how often that looks like a change.
    """
    host, spec, trees = session.host, session.spec, sides.trees
    if spec.kind is RunKind.CALIBRATION or spec.base is None:
        return frozenset()
    suites = spec.job.benchmark.suites
    if spec.base.tree == spec.patch.tree:
        return frozenset(suite.name for suite in suites)
    if len(trees) < len(Side):
        return frozenset()
    base, patch = (
        host.inspector.inspect(trees[side] / BUILD, session.watch) for side in (Side.BASE, Side.PATCH)
    )
    if base is None or patch is None:
        return frozenset()
    found = unchanged_suites(suites, base, patch)
    return frozenset(name for name in sorted(found) if _opens_the_same(session, sides, name))


def _opens_the_same(session: BuildSession, sides: PreparedSides, suite: str) -> bool:
    """Return whether the launches of a suite opened the same on both sides; note why if not."""
    rehearsals, digest = sides.rehearsals, session.host.inspector.digest
    base, patch = (rehearsals[side].opened.get(suite) for side in (Side.BASE, Side.PATCH))
    if base is None or patch is None:
        return False  # an earlier attempt rehearsed it, and fixed this with the listings
    if doubt := base.doubt or patch.doubt:
        session.note(opens_unknown(suite, doubt))
        return False
    has_failed = any(suite in rehearsals[side].ends for side in Side)
    # A launch that fails opens less, and the other side's data must be there to be compared.
    is_cut = has_failed and (base.paths <= patch.paths or patch.paths <= base.paths)
    both = base.paths | patch.paths
    before = digest(sides.trees[Side.BASE], both if is_cut else base.paths, session.watch)
    after = digest(sides.trees[Side.PATCH], both if is_cut else patch.paths, session.watch)
    if before is None or after is None:
        session.note(opens_unknown(suite, UNREADABLE))
        return False
    if others := differing(before, after):
        session.note(opens_others(suite, others))
    return not others
