"""The contract of reports that other CIs send under a key."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from service.domain.errors import NotFound
from service.ports.records import NewReport, SentReport

if TYPE_CHECKING:
    from service.ports.store import Store
    from tests.contract.store.sites import StoreSite


@pytest.fixture
def report(site: StoreSite) -> NewReport:
    return NewReport(site.add_token(), "key", b"digest")


class TestReports:
    def test_a_report_is_new_once_and_keeps_its_answer(self, store: Store, report: NewReport) -> None:
        with store.transaction() as tx:
            assert tx.claim_report(report) is None
            tx.answer_report(report, is_news=True)
        again = NewReport(report.token_id, report.key, b"other")
        with store.transaction() as tx:
            assert tx.claim_report(again) == SentReport(b"digest", is_news=True)
        with store.transaction() as tx:
            assert tx.claim_report(report) == SentReport(b"digest", is_news=True)

    def test_keys_belong_to_one_token(self, store: Store, site: StoreSite, report: NewReport) -> None:
        with store.transaction() as tx:
            tx.claim_report(report)
            assert tx.claim_report(NewReport(site.add_token(), report.key, report.digest)) is None
            assert tx.claim_report(NewReport(report.token_id, "Key", report.digest)) is None

    def test_a_report_that_failed_is_new_again(self, store: Store, report: NewReport) -> None:
        with pytest.raises(NotFound), store.transaction() as tx:
            tx.lock_build(0 if tx.claim_report(report) is None else 1)
        with store.transaction() as tx:
            assert tx.claim_report(report) is None
