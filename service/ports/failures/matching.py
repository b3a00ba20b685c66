"""The builds of a run that known failures waive, by the matches that the run keeps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from service.domain.failures.known import complete

if TYPE_CHECKING:
    from collections.abc import Mapping

    from service.domain.failures.known import KnownMatches
    from service.ports.failures.storing import Failures


def known_by_build(stored: Failures, run_id: int) -> Mapping[int, KnownMatches]:
    """Return the known failures by build, of the builds of which every failure matched when it was decided.

    Nobody asks a clock: a known failure that expired since still waives the runs that it did.
    """
    kept = stored.matches_of(run_id)
    found = stored.failures_of(sorted({build for build, _ in kept})) if kept else {}
    matches = {
        build: complete([kept.get((build, place)) for place in range(len(each.failures))], is_cut=each.is_cut)
        for build, each in found.items()
    }
    return {build: each for build, each in matches.items() if each is not None}
