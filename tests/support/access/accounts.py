"""A review server whose answers about accounts a test can count, and let fail."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tests.support.fakes import FakeReviewServer

if TYPE_CHECKING:
    from service.domain.review.change import Account
    from service.domain.values.errors import BenchgateError


@dataclass
class CountedAccounts(FakeReviewServer):
    """A review server that keeps the ``questions``.

    ``fault`` is raised instead of an answer about a group, and ``account_fault`` instead of an account.
    """

    fault: BenchgateError | None = None
    account_fault: BenchgateError | None = None
    questions: list[object] = field(default_factory=list)

    def account_of(self, email: str) -> Account | None:
        self.questions.append(email)
        if self.account_fault is not None:
            raise self.account_fault
        return super().account_of(email)

    def is_member(self, account: str, group: str) -> bool:
        self.questions.append((account, group))
        if self.fault is not None:
            raise self.fault
        return super().is_member(account, group)
