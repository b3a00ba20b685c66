"""Reports under a key, in two connections."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from service.adapters.postgres.access.tokens import PostgresTokens
from service.ports.access import NewToken
from service.ports.runs.builds import NewReport, SentReport
from tests.support.waiting import eventually

if TYPE_CHECKING:
    from service.adapters.postgres.store import PostgresStore
    from tests.support.postgres import Database

pytestmark = pytest.mark.integration
_WAITING = (
    "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
)


def test_the_same_report_sent_twice_at_once_has_one_effect(store: PostgresStore, database: Database) -> None:
    token = NewToken(name="ci", scopes=frozenset(), lifetime=timedelta(days=1), created_by="alice")
    sent = NewReport(PostgresTokens(database.owner).add(token)[0].id, "key", b"digest")

    def send_again() -> SentReport | None:
        with store.transaction() as tx:
            return tx.external.claim_report(sent)

    with ThreadPoolExecutor(1) as pool:
        with store.transaction() as tx:
            assert tx.external.claim_report(sent) is None
            second = pool.submit(send_again)
            assert eventually(lambda: database.value(_WAITING) == 1)
            tx.external.answer_report(sent, is_news=True)
        assert second.result(timeout=20) == SentReport(b"digest", is_news=True)
