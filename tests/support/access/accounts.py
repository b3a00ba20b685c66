"""The accounts and groups of a review server, in memory."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from service.ports.reviewing import Accounts

if TYPE_CHECKING:
    from collections.abc import Mapping

    from service.domain.errors import BenchgateError
    from service.domain.gerrit.change import Account


@dataclass
class FakeAccounts(Accounts):
    """Accounts by e-mail address, and the groups of each by its id.

    ``fault`` is raised instead of an answer about a group; ``asked`` are the questions.
    """

    people: Mapping[str, Account]
    groups: Mapping[str, frozenset[str]]
    fault: BenchgateError | None = None
    asked: list[object] = field(default_factory=list)

    def account_of(self, email: str) -> Account | None:
        self.asked.append(email)
        return self.people.get(email)

    def is_member(self, account: str, group: str) -> bool:
        self.asked.append((account, group))
        if self.fault is not None:
            raise self.fault
        return group in self.groups.get(account, frozenset())
