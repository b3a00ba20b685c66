"""Find the account that lets a person act for a branch."""

from __future__ import annotations

import pytest

from service.adapters.access.recent_answers import RecentAnswers
from service.domain.review.change import Account
from service.domain.values.errors import Transient
from service.steps.access.override_rights import OverrideRights
from tests.support.fakes import FakeReviewServer

BOB = "bob@example.com"


@pytest.mark.parametrize("method", ["is_member", "account_of"])
def test_a_refusal_during_an_outage_of_the_review_server_names_the_wait(method: str) -> None:
    accounts = FakeReviewServer(accounts={BOB: Account("7", "Bob")}, members={("7", "reviewers")})
    accounts.faults[method] = Transient("too busy", retry_after=42.0)
    rights = OverrideRights(RecentAnswers({"review": accounts}))
    with pytest.raises(Transient, match="cannot say now which groups you are in") as refused:
        rights.account_for(BOB, "review", ["reviewers"])
    assert refused.value.retry_after == 42.0
