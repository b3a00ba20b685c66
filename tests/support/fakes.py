"""Harmless implementations of the ports, a few lines each."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from service.adapters.review.gerrit.messages import GerritMessage
from service.domain.review.change import Person, Posted
from service.domain.values.errors import NotFound, Permanent

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from service.domain.review.change import Account, Change, ChangeStatus, PostedMessage, Review
    from service.domain.values.errors import BenchgateError
    from service.domain.values.identity import ChangeKey

WRITTEN = datetime(2026, 11, 21, 12, tzinfo=UTC)


@dataclass
class FakeReviewServer:
    """A review server with a test's changes; ``revisions`` remembers outdated patch sets too.

    ``votes`` are by label and account; people are shown by their ``names``; comments on ``unshown`` files are
    not taken. ``accounts`` are by address; a change with ``viewers`` is visible to these accounts only.
    ``asked`` has the questions about accounts, groups and visible changes. A method with an entry in
    ``faults`` raises that.
    """

    instance: str = "gerrit"
    account: str = "benchgate"
    changes: dict[ChangeKey, Change] = field(default_factory=dict)
    revisions: dict[ChangeKey, dict[str, int]] = field(default_factory=dict)
    posted: dict[ChangeKey, list[PostedMessage]] = field(default_factory=dict)
    reviews: list[Review] = field(default_factory=list)
    members: set[tuple[str, str]] = field(default_factory=set)
    votes: dict[ChangeKey, dict[str, dict[str, int]]] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    unshown: set[str] = field(default_factory=set)
    accounts: dict[str, Account] = field(default_factory=dict)
    viewers: dict[int, set[str]] = field(default_factory=dict)
    asked: list[Any] = field(default_factory=list)
    faults: dict[str, BenchgateError] = field(default_factory=dict)

    def put(self, change: Change) -> None:
        if change.key in self.changes and self.changes[change.key].current != change.current:
            self.votes.pop(change.key, None)  # they were on the patch set before
        self.changes[change.key] = change
        self.revisions.setdefault(change.key, {})[change.current.revision] = change.current.number

    def for_pages(self) -> FakeReviewServer:
        return self

    def now(self) -> datetime:
        return WRITTEN

    def change(self, key: ChangeKey) -> Change:
        if key not in self.changes:
            raise NotFound(f"change {key.number} does not exist")
        votes = self.votes.get(key, {})
        cast = {label: {who: vote for who, vote in of.items() if vote} for label, of in votes.items()}
        return replace(self.changes[key], votes=cast)

    def changes_since(self, moment: datetime | None) -> Sequence[Change]:
        every = [self.change(key) for key in self.changes]
        return [each for each in every if (each.is_open if moment is None else each.updated >= moment)]

    def status_of(self, project: str, branch: str, commit: str) -> ChangeStatus | None:
        self._fail("status_of")
        there = (each for each in self.changes.values() if (each.project, each.branch) == (project, branch))
        return next((each.status for each in there if commit in self.revisions[each.key]), None)

    def messages(self, key: ChangeKey) -> Sequence[PostedMessage]:
        self.change(key)
        return list(self.posted.get(key, []))

    def is_member(self, account: str, group: str) -> bool:
        self._ask("is_member", (account, group))
        return (account, group) in self.members

    def account_of(self, email: str) -> Account | None:
        self._ask("account_of", email)
        return self.accounts.get(email)

    def visible(self, account: str | None, numbers: Collection[int]) -> frozenset[int]:
        self._ask("visible", (account, frozenset(numbers)))
        stored = {key.number for key in self.changes if key.number in numbers}
        return frozenset(number for number in stored if self._shows(number, account))

    def can_read(self, account: str | None, project: str, branch: str) -> bool:
        self._fail("can_read")
        return any(
            self._shows(key.number, account)
            for key, change in self.changes.items()
            if (change.project, change.branch) == (project, branch)
        )

    def _ask(self, method: str, question: object) -> None:
        self.asked.append(question)
        self._fail(method)

    def _fail(self, method: str) -> None:
        if method in self.faults:
            raise self.faults[method]

    def _shows(self, number: int, account: str | None) -> bool:
        return number not in self.viewers or account in self.viewers[number]

    def say(self, key: ChangeKey, account: str, text: str, patch_set: int = 1) -> PostedMessage:
        """Somebody writes a message."""
        said = self.posted.setdefault(key, [])
        name = self.names.get(account, account.capitalize())
        person = Person(name=name, username=account, account=account)
        message = GerritMessage(f"m{len(said) + 1}", patch_set, person, WRITTEN, text)
        said.append(message.translated())
        return said[-1]

    def comment(self, key: ChangeKey, account: str, *texts: str, patch_set: int = 1) -> None:
        """Somebody comments on lines of files."""
        self.say(key, account, f"Patch Set {patch_set}:\n\n({len(texts)} comments)", patch_set)
        said = self.posted[key]
        for text in texts:
            said.append(
                replace(said[-1], id=f"c{len(said)}", text=text, shown=text, votes=None, is_inline=True)
            )

    def post(self, review: Review) -> Posted:
        change, number = self.change(review.change), self.revisions[review.change].get(review.revision)
        if number is None:
            raise NotFound(f"no revision {review.revision}")
        if review.labels and not change.is_open:
            raise Permanent("change is closed")
        self.reviews.append(review)
        granted = {
            label: vote for label, vote in review.labels.items() if label == "Verified" and abs(vote) <= 1
        }
        text = f"Patch Set {number}:{self._cast(review.change, granted)}\n\n{review.message}"
        self.say(review.change, self.account, text, number)
        taken = [each for each in review.comments if each.path not in self.unshown]
        return Posted(granted, tuple(taken))

    def _cast(self, key: ChangeKey, granted: Mapping[str, int]) -> str:
        """Set votes; what the message says of them: nothing of those that stay as they were."""
        votes, shown = self.votes.setdefault(key, {}), ""
        for label, vote in granted.items():
            cast = votes.setdefault(label, {})
            shown += "" if cast.get(self.account) == vote else f" {label}{vote:+}"
            cast[self.account] = vote
        return shown
