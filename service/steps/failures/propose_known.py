"""Proposals of known failures: signatures that are intermittent by their evidence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from service.domain.failures.evidence import proposal_of

if TYPE_CHECKING:
    from service.ports.store import Store


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
