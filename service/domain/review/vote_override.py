"""Recognise overrides by hand, from messages: a person removes the bot's vote and casts their own."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from service.domain.review.change import person_of
from service.domain.review.comment_commands import BUG_KEY, MAX_REASON, Misspelt, commands_in, lines_of
from service.domain.values.text import plain

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from datetime import datetime

    from service.domain.review.change import Change, Person, PostedMessage


_MAX_READ: Final = 4000  # characters of a person's words
_KEY: Final = re.compile(rf"(?<![\w-]){BUG_KEY}(?![\w-])")
_ADDRESS: Final = re.compile(r"https?://[!#-;=?-~]{1,300}")
_TRACKER: Final = re.compile(r"issue|bug|browse|ticket")  # other URLs point to builds and logs
_NUMBER: Final = re.compile(r"(?:(?<=\()|\b(?:[Bb]ug|[Ii]ssue|[Tt]icket) )#[0-9]{1,12}\b")  # not "Test #49"


@dataclass(frozen=True, slots=True)
class PersonOverride:
    """An override by a person who removed the bot's −1 and voted for the patch set.

    ``bug`` and ``reason`` come from the person's words and may be empty. ``message_ids`` are those of the
    removal, the vote and the words. ``at`` is the later time of removal and vote.
    """

    who: str
    account: str
    bug: str
    reason: str
    message_ids: tuple[str, ...]
    at: datetime


def person_overrides(
    messages: Sequence[PostedMessage], patch_set: int, label: str, bot: Person
) -> tuple[PersonOverride, ...]:
    """Find the overrides in force on a patch set: the latest of each person, in order.

    ``messages`` are all messages of the change, oldest first.
    """
    on_patch_set = [message for message in messages if message.patch_set == patch_set]
    history = _VoteHistory(label, bot)
    for place, message in enumerate(on_patch_set):
        history.add(place, message)
    complete = sorted(history.overrides.values(), key=lambda override: override.complete)
    return tuple(_override(places, on_patch_set) for places in complete)


def is_vote_removed(
    messages: Sequence[PostedMessage], patch_sets: Collection[int], label: str, bot: Person
) -> bool:
    """Return whether somebody removed the bot's vote on patch sets after the bot's last vote there."""
    is_removed = False
    for message in messages:
        if message.patch_set not in patch_sets:
            continue
        if _is_same(message.author, bot):
            is_removed = is_removed and not (message.votes or {}).get(label)
        elif any(each.label == label and _is_named(each.voter, bot) for each in message.removed):
            is_removed = True
    return is_removed


@dataclass(frozen=True, slots=True)
class _OverridePlaces:
    """Indices of an override's messages; words about it cannot come before ``since``."""

    removal: int
    vote: int
    since: int

    @property
    def complete(self) -> int:
        return max(self.removal, self.vote)


@dataclass(slots=True)
class _VoteHistory:
    """Tracks votes for the patch set and removals of the bot's vote, message by message."""

    label: str
    bot: Person
    votes: dict[str, tuple[int, Person]] = field(default_factory=dict)  # by account, with the place
    removals: dict[str, int] = field(default_factory=dict)
    overrides: dict[str, _OverridePlaces] = field(default_factory=dict)
    bot_voted: int = 0

    def add(self, place: int, message: PostedMessage) -> None:
        """Read the next message on the patch set."""
        vote, author = (message.votes or {}).get(self.label), message.author
        if _is_same(author, self.bot):
            if vote:  # the removal of an earlier vote does not cover this one
                self.bot_voted = place
                self.removals.clear()
            return
        for removed in (each for each in message.removed if each.label == self.label):
            if not _is_named(removed.voter, self.bot):
                named = [who for who, (_, voter) in self.votes.items() if _is_named(removed.voter, voter)]
                for account in named:
                    self._revoke(account)
            elif removed.value < 0:
                self.removals[author.account] = place
        if vote is not None and vote > 0:
            self.votes[author.account] = (place, author)
        elif vote is not None:
            self._revoke(author.account)
        # Only an account proves that removal and vote are by the same person.
        if author.account and author.account in self.votes and author.account in self.removals:
            voted, _ = self.votes[author.account]
            places = _OverridePlaces(self.removals[author.account], voted, self.bot_voted)
            self.overrides[author.account] = places

    def _revoke(self, account: str) -> None:
        self.votes.pop(account, None)
        self.overrides.pop(account, None)


def _override(places: _OverridePlaces, messages: Sequence[PostedMessage]) -> PersonOverride:
    """Add the nearest words and bug, preferably from before the override was complete."""
    who = messages[places.vote].author
    own = {
        place: words
        for place, message in enumerate(messages)
        if place >= places.since and message.author.account == who.account
        if (words := _words_of(message))
    }
    naming = [place for place, words in own.items() if _bug_in(words)] or list(own)
    before = [place for place in naming if place <= places.complete]
    about = (before[-1:] or naming[:1])[:1]
    words = own[about[0]] if about else ""
    return PersonOverride(
        who=plain(who.shown),
        account=who.account,
        bug=_bug_in(words),
        reason=plain(words, MAX_REASON),
        message_ids=tuple(messages[place].id for place in sorted({places.removal, places.vote, *about})),
        at=messages[places.complete].written,
    )


def _words_of(message: PostedMessage) -> str:
    """Extract a person's own words from a review, without quotes; empty for a command."""
    is_command = any(not isinstance(command, Misspelt) for command in commands_in(message.text, ()))
    if is_command or message.votes is None:
        return ""
    own = (line for line in lines_of(message.text) if not line.lstrip().startswith(">"))
    return plain(" ".join(own), _MAX_READ)


def _bug_in(words: str) -> str:
    if key := _KEY.search(words):
        return key[0]
    urls = (url.rstrip(".,;:!?)]'") for url in _ADDRESS.findall(words))
    ticket = next((url for url in urls if _TRACKER.search(url)), None)
    number = _NUMBER.search(words)
    return ticket or (number[0].split()[-1] if number else "")


def _is_named(voter: Person, person: Person) -> bool:
    """Return whether the known parts of a voter name the person."""
    if voter.account:
        return voter.account == person.account
    if voter.email and person.email:
        # An e-mail address belongs to one account; a name may be shared.
        return voter.email.casefold() == person.email.casefold()
    return voter.name in {person.name, person.email} - {""}


def _is_same(one: Person, other: Person) -> bool:
    """Return whether both are the same account; names count only if an account ID is missing."""
    if one.account and other.account:
        return one.account == other.account
    pairs = ((one.username, other.username), (one.email, other.email), (one.name, other.name))
    return any(left and left == right for left, right in pairs)


def not_removed(
    labels: Mapping[str, int], messages: Sequence[PostedMessage], patch_sets: Collection[int], account: str
) -> Mapping[str, int]:
    """Drop votes that a person removed: Benchgate never casts them again on the same code.

    ``patch_sets`` are the numbers of the patch set and of those before it with the same code. ``messages``
    are all messages of the change, and ``account`` is Benchgate's.
    """
    bot = person_of(account, messages)
    if bot is None:
        return labels
    return {
        label: vote for label, vote in labels.items() if not is_vote_removed(messages, patch_sets, label, bot)
    }


def held_votes(cast: Mapping[str, int], change: Change, account: str) -> Mapping[str, int]:
    """Return the votes that Benchgate cast and that are still on the server."""
    return {label: vote for label, vote in cast.items() if change.votes.get(label, {}).get(account) == vote}


def lost_votes(
    cast: Mapping[str, int],
    change: Change,
    messages: Sequence[PostedMessage],
    patch_sets: Collection[int],
    account: str,
) -> Mapping[str, int]:
    """Return the votes that Benchgate cast and that are gone although no person removed them."""
    held = held_votes(cast, change, account)
    missing = {label: vote for label, vote in cast.items() if label not in held}
    return not_removed(missing, messages, patch_sets, account)
