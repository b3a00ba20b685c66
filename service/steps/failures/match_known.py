"""Match a run's failed builds with known failures, and propose new ones by their evidence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from service.domain.failures.evidence import proposal_of
from service.domain.failures.known import LookAlike, Match, Scope, match, match_any, names_beside
from service.domain.runs.vote import Outcome

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from service.ports.failures.storing import Failures, Matches
    from service.ports.runs.builds import BuildRecord
    from service.ports.runs.runs import RunRecord
    from service.ports.store import Store


def keep_matches(
    stored: Failures, run: RunRecord, builds: Sequence[BuildRecord]
) -> tuple[Mapping[int, Sequence[LookAlike]], Matches]:
    """Match the failures of a run's builds with the known failures that waive now, and keep the matches.

    Matches of an earlier decision of the run stay, also if their known failure expired since.

    Returns:
        By build, the failures that may be known, but count until a person says so; and for the failures
        without a match, the known failures that had expired before.
    """
    by_id = {build.id: build for build in builds if build.outcome is Outcome.FAILED}
    found = stored.failures_of(sorted(by_id))
    if not found:
        return {}, {}
    now = stored.known_now(run.instance, run.project)
    matches = {
        build: match(each.failures, place_of(run, by_id[build]), now.known, now.at)
        for build, each in found.items()
    }
    stored.keep_matches(
        run.id,
        {
            (build, position): each.known.id
            for build, of_build in matches.items()
            for position, each in enumerate(of_build)
            if each.known is not None
        },
    )
    kept = stored.matches_of(run.id)
    counting = {
        build: [failure for position, failure in enumerate(each.failures) if (build, position) not in kept]
        for build, each in found.items()
    }
    alike = {
        build: [
            LookAlike(
                by_id[build].job,
                failure,
                each.alike.bug,
                each.alike.text,
                names_beside(failure, counting[build]),
            )
            for position, (failure, each) in enumerate(zip(found[build].failures, of_build, strict=True))
            if each.alike is not None and (build, position) not in kept
        ]
        for build, of_build in matches.items()
    }
    expired = {
        (build, position): match_any([failure], place_of(run, by_id[build]), now.expired)[0]
        for build, each in found.items()
        for position, failure in enumerate(each.failures)
        if now.expired and (build, position) not in kept and matches[build][position] == Match()
    }
    return alike, {place: one for place, each in expired.items() if (one := each.known or each.alike)}


def place_of(run: RunRecord, build: BuildRecord) -> Scope:
    """Return the scope of a single build."""
    return Scope(
        instance=run.instance, project=run.project, branch=run.branch, job=build.job, host=build.host
    )


def propose_known(store: Store) -> int:
    """Propose each signature of the last 30 days that has grounds and no known failure; return how many.

    A proposal waives nothing until a person confirms it with a bug. A retry that passes later counts too,
    so this runs periodically and not when a build fails.
    """
    with store.exclusive("propose") as is_ours:
        if not is_ours:
            return 0
        with store.transaction() as tx:
            found = tx.known.unknown_signatures()
        proposed = [(each, proposal_of(each.sightings)) for each in found]
        made = 0
        for each, proposal in proposed:
            if proposal is None:
                continue
            with store.transaction() as tx:
                is_new = tx.known.propose(each, [str(ground) for ground in proposal.grounds]) is not None
            made += is_new
        return made
