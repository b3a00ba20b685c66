"""Roles from the groups of the identity provider."""

from __future__ import annotations

from typing import TYPE_CHECKING

from service.domain.access.caller import Role

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping


def role_of(groups: Collection[str], role_groups: Mapping[Role, Collection[str]]) -> Role | None:
    """Return the highest role that a person's groups give; None: the person may not sign in.

    Args:
        groups: of the person, by the provider.
        role_groups: the groups that give each role. Without groups for readers, everybody whom the provider
            admits is a reader; without groups for another role, nobody has it.
    """
    for role in reversed(Role):
        if not set(groups).isdisjoint(role_groups.get(role, ())):
            return role
    return None if Role.READER in role_groups else Role.READER
