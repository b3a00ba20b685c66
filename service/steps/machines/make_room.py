"""Evict what was used last longest ago, and say whether a machine has room for a build."""

from __future__ import annotations

from typing import TYPE_CHECKING

from service.domain.machines.disk import to_evict

if TYPE_CHECKING:
    from service.ports.machines import Caches


def make_room(caches: Caches, now: float, *, is_unused: bool = False) -> str:
    """Evict cached directories that are in the way, and return why no build may begin; empty if one may.

    Args:
        caches: of one home.
        now: seconds since 1970.
        is_unused: whether no build uses them.
    """
    for each in to_evict(caches.cached(), now, caches.disk, is_unused=is_unused):
        caches.evict(each)
    return caches.disk().obstacle
