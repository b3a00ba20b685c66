"""Benchgate's own votes on a patch set: which a person removed, and which the review server lost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from service.domain.gerrit.change import person_of
from service.domain.gerrit.vote_override import is_vote_removed

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from service.domain.gerrit.change import Change, PostedMessage


def not_removed(
    labels: Mapping[str, int], messages: Sequence[PostedMessage], patch_sets: Collection[int], account: str
) -> Mapping[str, int]:
    """Drop the votes that a person removed: Benchgate never casts them again on the same code.

    ``patch_sets`` are the numbers of the patch set and of those before it that have the same code;
    ``messages`` are all of the change, and ``account`` is Benchgate's.
    """
    bot = person_of(account, messages)
    if bot is None:
        return labels
    return {
        label: vote for label, vote in labels.items() if not is_vote_removed(messages, patch_sets, label, bot)
    }


def held_votes(cast: Mapping[str, int], change: Change, account: str) -> Mapping[str, int]:
    """Find the votes that Benchgate cast and that the server has now."""
    return {label: vote for label, vote in cast.items() if change.votes.get(label, {}).get(account) == vote}


def lost_votes(
    cast: Mapping[str, int],
    change: Change,
    messages: Sequence[PostedMessage],
    patch_sets: Collection[int],
    account: str,
) -> Mapping[str, int]:
    """Find the votes that Benchgate cast, that no person removed and that the server does not have now."""
    held = held_votes(cast, change, account)
    missing = {label: vote for label, vote in cast.items() if label not in held}
    return not_removed(missing, messages, patch_sets, account)
