"""Replies about known failures that a command made."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from service.domain.text import plain
from service.domain.triage.known import MAX_BUG

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from service.domain.failures.failure import Failure
    from service.domain.triage.known import KnownFailure

_MOST_NAMED: Final = 5  # failures; the page lists all
NOTHING_KNOWN: Final = (
    "overridden on this patch set only: the failed builds do not say what failed, so it cannot be recognised "
    "again"
)


def made_known(
    made: Sequence[tuple[KnownFailure, Failure]], link: Callable[[int], str], *, has_others: bool
) -> str:
    """The reply that names known failures, their expiry and the way to close them.

    Args:
        made: each with the failure of the build.
        link: makes the address of the page of a known failure.
        has_others: the builds have failures that cannot be recognised again.
    """
    if not made:
        return NOTHING_KNOWN
    first, _ = made[0]
    named = "; ".join(
        f"{known.scope.job}: {_name_of(failure)} ({link(known.id)})" for known, failure in made[:_MOST_NAMED]
    )
    more = f"; and {len(made) - _MOST_NAMED} more" if len(made) > _MOST_NAMED else ""
    warning = (
        "; other failures of these builds say too little to be recognised, so a build with one still fails"
        if has_others
        else ""
    )
    return (
        f"known until {first.expires_at:%Y-%m-%d} as {plain(first.bug, MAX_BUG)} on {first.scope.branch}: "
        f"{named}{more}{warning}; to end it sooner, set its state to fixed or invalid on its page"
    )


def _name_of(failure: Failure) -> str:
    return plain(": ".join(filter(None, (failure.subject, failure.headline))), 120)
