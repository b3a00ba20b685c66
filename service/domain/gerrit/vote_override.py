"""Recognises from a change's messages that a person replaced the bot's vote by their own.

Gerrit writes ``Removed Verified-1 by Build Bot <build@example.com>`` in the name of who removed the vote, and
``Patch Set 3: Verified+1`` in that of who cast one. Only what the server itself puts first counts: a
person's own words always follow after a line with the number of the patch set.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from service.domain.gerrit.comment_commands import BUG_KEY, MAX_REASON, Misspelt, commands_in, written_lines
from service.domain.text import plain

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from service.domain.gerrit.change import Person, PostedMessage

_MAX_READ: Final = 4000  # of a person's words
_KEY: Final = re.compile(rf"(?<![\w-]){BUG_KEY}(?![\w-])")
_ADDRESS: Final = re.compile(r"https?://[!#-;=?-~]{1,300}")
_TRACKER: Final = re.compile(r"issue|bug|browse|ticket")  # other addresses are of builds and logs
_NUMBER: Final = re.compile(r"(?:(?<=\()|\b(?:[Bb]ug|[Ii]ssue|[Tt]icket) )#[0-9]{1,12}\b")  # not "Test #49"
_VOTES: Final = re.compile(r"Patch Set ([0-9]{1,9}):(.*)")
_REVIEWER_REMOVED: Final = re.compile(r"Removed .* with the following votes:")


@dataclass(frozen=True, slots=True)
class PersonOverride:
    """A person removed the bot's −1 and votes for the patch set.

    ``bug`` and ``reason`` are from their words there, and may be empty; ``message_ids`` are of removal, vote
    and words; ``at`` is when the second of removal and vote was made.
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
    """The overrides on a patch set that were not taken back, the last of each person, in their order.

    ``messages`` are those of the change, oldest first.
    """
    said = [each for each in messages if each.patch_set == patch_set]
    acts = _Acts(label, bot)
    for place, message in enumerate(said):
        acts.record_comments(place, message)
    return tuple(_override(made, said) for made in sorted(acts.made.values(), key=lambda each: each.complete))


def is_vote_removed(messages: Sequence[PostedMessage], patch_set: int, label: str, bot: Person) -> bool:
    """Whether somebody else removed the bot's vote on a patch set since the bot last voted there."""
    is_removed = False
    for message in messages:
        if message.patch_set != patch_set:
            continue
        if _is_same(message.author, bot):
            is_removed = is_removed and not _vote_in(message, label)
        elif any(_is_named(whose, bot) for _, whose in _removals_in(message, label)):
            is_removed = True
    return is_removed


@dataclass(frozen=True, slots=True)
class _Made:
    """An override by the places of its messages; ``since``: from where on words can be about it."""

    removal: int
    vote: int
    since: int

    @property
    def complete(self) -> int:
        return max(self.removal, self.vote)


@dataclass(slots=True)
class _Acts:
    """Who votes for the patch set and who removed the bot's vote, message by message."""

    label: str
    bot: Person
    votes: dict[str, tuple[int, Person]] = field(default_factory=dict)  # by account, with the place
    removals: dict[str, int] = field(default_factory=dict)
    made: dict[str, _Made] = field(default_factory=dict)
    bot_voted: int = 0

    def record_comments(self, place: int, message: PostedMessage) -> None:
        """The next message on the patch set."""
        vote = _vote_in(message, self.label)
        if _is_same(message.author, self.bot):
            if vote:  # who removed an earlier vote has not removed this one
                self.bot_voted = place
                self.removals.clear()
            return
        for value, whose in _removals_in(message, self.label):
            self._remove(place, message.author, value, whose)
        if vote is not None:
            self._vote(place, message.author, vote)

    def _remove(self, place: int, remover: Person, value: int, whose: str) -> None:
        if not _is_named(whose, self.bot):
            for account in [each for each, (_, voter) in self.votes.items() if _is_named(whose, voter)]:
                self._take_back(account)
        elif value < 0:
            self.removals[remover.account] = place
            self._complete(remover.account)

    def _vote(self, place: int, voter: Person, value: int) -> None:
        if value > 0:
            self.votes[voter.account] = (place, voter)
            self._complete(voter.account)
        else:
            self._take_back(voter.account)

    def _take_back(self, account: str) -> None:
        self.votes.pop(account, None)
        self.made.pop(account, None)

    def _complete(self, account: str) -> None:
        # Without an account nobody can tell that removal and vote are by the same person.
        if account and account in self.votes and account in self.removals:
            self.made[account] = _Made(self.removals[account], self.votes[account][0], self.bot_voted)


def _override(made: _Made, said: Sequence[PostedMessage]) -> PersonOverride:
    """With the bug and the words that are nearest: those before the override was complete come first."""
    who = said[made.vote].author
    own = {
        place: words
        for place, message in enumerate(said)
        if place >= made.since and message.author.account == who.account
        if (words := _words_of(message))
    }
    naming = [place for place, words in own.items() if _bug_in(words)] or list(own)
    before = [place for place in naming if place <= made.complete]
    about = (before[-1:] or naming[:1])[:1]
    words = own[about[0]] if about else ""
    return PersonOverride(
        who=plain(who.shown),
        account=who.account,
        bug=_bug_in(words),
        reason=plain(words, MAX_REASON),
        message_ids=tuple(said[place].id for place in sorted({made.removal, made.vote, *about})),
        at=said[made.complete].written,
    )


def _words_of(message: PostedMessage) -> str:
    """What a person wrote in a review, without quotations; empty for a command."""
    is_command = any(not isinstance(each, Misspelt) for each in commands_in(message.text, ()))
    if is_command or _votes_line(message) is None:
        return ""
    own = (line for line in written_lines(message.text) if not line.lstrip().startswith(">"))
    return plain(" ".join(own), _MAX_READ)


def _bug_in(words: str) -> str:
    if key := _KEY.search(words):
        return key[0]
    addresses = (each.rstrip(".,;:!?)]'") for each in _ADDRESS.findall(words))
    found = next((each for each in addresses if _TRACKER.search(each)), None)
    number = _NUMBER.search(words)
    return found or (number[0].split()[-1] if number else "")


def _first_line(message: PostedMessage) -> str:
    return message.text.lstrip().split("\n", 1)[0].strip()


def _votes_line(message: PostedMessage) -> str | None:
    """What the server says of the votes of a review of this patch set; None: it is none."""
    found = _VOTES.fullmatch(_first_line(message))
    return found[2] if found and int(found[1]) == message.patch_set else None


def _vote_in(message: PostedMessage, label: str) -> int | None:
    """The vote that a message brought, 0 where it took one back, None without a change."""
    form = re.compile(rf"{re.escape(label)}([+-][1-9][0-9]?)")
    for word in (_votes_line(message) or "").split():
        if word == f"-{label}":
            return 0
        if found := form.fullmatch(word):
            return int(found[1])
    return None


def _removals_in(message: PostedMessage, label: str) -> Iterator[tuple[int, str]]:
    """The value of each vote that the message's author removed, and whose it was as the server writes it."""
    first, *lines = (line.strip() for line in message.text.strip().split("\n"))
    if not first.startswith("Removed "):
        return
    is_reviewer = _REVIEWER_REMOVED.fullmatch(first) is not None  # all votes go with the reviewer
    form = re.compile(rf"(?:\* ?|Removed ){re.escape(label)}([+-][1-9][0-9]?) by (.+)")
    for found in map(form.fullmatch, lines if is_reviewer else [first]):
        if found:
            yield int(found[1]), found[2]


def _is_named(whose: str, person: Person) -> bool:
    """Whether ``Name <e-mail>``, a part of it, or the place holder that Gerrit's API leaves is the person."""
    if whose.startswith("<GERRIT_ACCOUNT_"):
        return bool(person.account) and whose == f"<GERRIT_ACCOUNT_{person.account}>"
    name, has_email, email = whose.rpartition(" <")
    if has_email and person.email:
        # Anybody may take a name; an address belongs to one account.
        return email.removesuffix(">").casefold() == person.email.casefold()
    return (name if has_email else whose) in {person.name, person.email} - {""}


def _is_same(one: Person, other: Person) -> bool:
    """Whether two descriptions are of one account; by names only where an account is missing."""
    if one.account and other.account:
        return one.account == other.account
    pairs = ((one.username, other.username), (one.email, other.email), (one.name, other.name))
    return any(left and left == right for left, right in pairs)
