"""Records that may be deleted one day, and the artifacts that they name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from service.domain.runs.retention import Kind, Policy, Supply


class Retention(Protocol):
    """Records by kind. Each call is a transaction of its own, and raises Transient.

    What an unhandled event, an unfinished build, an open change, an override or an open regression needs is
    never deleted, however old it is.
    """

    def delete_expired(self, kind: Kind, days: int, most: int) -> int:
        """Delete up to ``most`` records that were kept for that many days; return how many.

        A record is an event, a program, the pairs of a sequence, or a build's log, failures or samples. The
        days count from the end of what it belongs to; those of a program, from its last use. Samples of
        comparisons without an error stay, because trends estimate it from them.
        """

    def supply(self, kind: Kind, days: int | None) -> Supply:
        """Count the records of a kind, and those that ``delete_expired`` would delete."""

    def keep_policy(self, policy: Policy) -> None:
        """Store the days that the schedule uses, for other processes."""

    def mark_pruned(self) -> None:
        """Store the time at which the schedule last deleted by these days, for monitoring."""

    def kept_policy(self) -> Policy | None:
        """Return the days that the schedule uses; None if it has stored none yet."""

    def site(self) -> str:
        """Return the ID of the site to which the records belong."""

    def named(self, prefix: str, without: Policy | None = None) -> Mapping[str, str]:
        """Return the artifacts of the store of builds that records name, and what these records are.

        Only keys that begin with ``prefix``, at least one hexadecimal digit. Records that have expired by the
        days of ``without`` are left out.
        """

    def store_sizes(self, part: str, artifacts: Mapping[str, Collection[int]]) -> None:
        """Store the sizes of one part of the artifacts by name, and those of the tables as they are now."""
