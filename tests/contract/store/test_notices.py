"""Store contract: notices of regressions leave at most once."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, Final

import pytest

from service.domain.trunk.notice import Channel, NoticeState, Recipient
from service.domain.trunk.regression import GateSaid, RegressionState
from tests.support.store_samples import change
from tests.support.trunk import SLOWER, check, key, merge

if TYPE_CHECKING:
    from service.ports.trunk import DueNotice
    from tests.contract.store.sites import StoreSite

CHAT: Final = Recipient(Channel.CHAT)
ANN: Final = Recipient(Channel.MAIL, "ann@example.com")
ENDS: Final = (NoticeState.SENT, NoticeState.DROPPED, NoticeState.FAILED)


def tell(site: StoreSite, *recipients: Recipient, revision: str = "2" * 40) -> int:
    """Store a regression, and queue its notices."""
    with site.store.transaction() as tx:
        patch_set = check(tx, {})
        run = merge(tx, patch_set, {key("BM_a"): SLOWER}, revision)
        results = [(each, GateSaid.NOT_MEASURED) for each in tx.regressions.slower_results(run).results]
        found = tx.regressions.record(run, RegressionState.UNTRIAGED, results)
        assert found is not None
        tx.regressions.tell(found, recipients)
        return found


def due(site: StoreSite) -> DueNotice:
    [found] = site.notices.due_notices()
    return found


class TestDueNotices:
    def test_a_notice_names_its_recipient_and_project(self, site: StoreSite) -> None:
        found = tell(site, CHAT, ANN)
        chat, mail = site.notices.due_notices()
        assert (chat.recipient, mail.recipient) == (CHAT, ANN)
        assert (mail.regression_id, mail.project, mail.attempts, mail.is_private) == (
            found,
            "kv_engine",
            0,
            False,
        )

    def test_a_regression_has_one_notice_for_each_recipient(self, site: StoreSite) -> None:
        found = tell(site, ANN)
        site.notices.settle_notice(due(site).id, NoticeState.SENT)
        with site.store.transaction() as tx:
            tx.regressions.tell(found, [ANN])
            tx.regressions.tell(found, [])
        assert site.notices.due_notices() == []
        tell(site, ANN, revision="3" * 40)
        assert due(site).recipient == ANN, "that is another one"

    def test_a_notice_waits_while_a_machine_explains_its_result_but_not_for_ever(
        self, site: StoreSite
    ) -> None:
        tell(site, ANN)
        with site.store.transaction() as tx:
            [build] = tx.builds.of_run(due(site).run_id or 0)
        site.hold_ended(build.id)
        assert site.notices.due_notices() == []
        tell(site, CHAT, revision="3" * 40)
        assert due(site).recipient == CHAT, "of another build"
        site.wait(31)
        assert [each.recipient for each in site.notices.due_notices()] == [ANN, CHAT]

    def test_only_one_sender_begins(self, site: StoreSite) -> None:
        tell(site, ANN)
        found = due(site)
        assert (site.notices.begin_notice(found.id), site.notices.begin_notice(found.id)) == (True, False)
        assert site.notices.due_notices() == []

    def test_a_notice_whose_sender_died_is_not_sent_again(self, site: StoreSite) -> None:
        tell(site, ANN)
        found = due(site)
        site.notices.begin_notice(found.id)
        site.wait(601)
        assert site.notices.due_notices() == []
        assert not site.notices.begin_notice(found.id)

    @pytest.mark.parametrize("is_begun", [False, True])
    def test_a_postponed_notice_waits(self, site: StoreSite, *, is_begun: bool) -> None:
        tell(site, ANN)
        found = due(site)
        if is_begun:
            site.notices.begin_notice(found.id)
        site.notices.postpone_notice(found.id, 60.0, "no route")
        assert site.notices.due_notices() == []
        site.wait(61)
        assert due(site) == replace(found, attempts=1)

    def test_what_waited_longest_is_first(self, site: StoreSite) -> None:
        tell(site, CHAT, ANN)
        site.notices.postpone_notice(site.notices.due_notices()[0].id, 60.0, "no route")
        site.wait(61)
        assert [each.recipient for each in site.notices.due_notices()] == [ANN, CHAT]

    @pytest.mark.parametrize("state", ENDS)
    def test_a_notice_ends_once(self, site: StoreSite, state: NoticeState) -> None:
        tell(site, ANN)
        found = due(site)
        site.notices.settle_notice(found.id, state, "note")
        site.notices.postpone_notice(found.id, 0.0, "late")
        assert (site.notices.due_notices(), site.notices.begin_notice(found.id)) == ([], False)

    def test_the_notice_of_a_private_change_says_so(self, site: StoreSite) -> None:
        tell(site, ANN)
        with site.store.transaction() as tx:
            tx.visibility.hide_change(tx.changes.upsert(change()).change_id)
        assert due(site).is_private

    def test_a_dropped_notice_leaves_if_there_is_news(self, site: StoreSite) -> None:
        found = tell(site, ANN)
        first = due(site)
        site.notices.settle_notice(first.id, NoticeState.DROPPED)
        with site.store.transaction() as tx:
            tx.regressions.tell(found, [ANN])
        assert due(site) == first

    def test_a_notice_knows_whether_everybody_may_read_its_branch(self, site: StoreSite) -> None:
        tell(site, ANN)
        assert not due(site).is_public
        with site.store.transaction() as tx:
            tx.visibility.record_visible("review", [7], [7])
        assert due(site).is_public


class TestDigests:
    WEEK: Final = date(2026, 3, 2)
    OWNERS: Final = (ANN, Recipient(Channel.MAIL, "team@example.com"))

    def digests(self, site: StoreSite) -> list[tuple[date | None, str, Recipient]]:
        return [(each.week, each.project, each.recipient) for each in site.notices.due_notices() if each.week]

    def test_a_project_with_merged_commits_has_one_for_its_chat_and_one_for_each_owner(
        self, site: StoreSite
    ) -> None:
        tell(site, CHAT)
        tell(site, CHAT, revision="3" * 40)
        site.notices.queue_digests(lambda _: self.WEEK)
        everybody = [(self.WEEK, "kv_engine", each) for each in (CHAT, *self.OWNERS)]
        assert self.digests(site) == everybody
        about = [each.regression_id for each in site.notices.due_notices() if each.recipient == CHAT]
        assert about == [1, 2, None]

    def test_a_week_is_queued_once_whatever_happens_later_in_it(self, site: StoreSite) -> None:
        tell(site, CHAT)
        site.notices.queue_digests(lambda _: self.WEEK)
        for each in site.notices.due_notices():
            site.notices.settle_notice(each.id, NoticeState.SENT)
        site.notices.queue_digests(lambda _: self.WEEK)
        assert self.digests(site) == []
        site.notices.queue_digests(lambda _: self.WEEK + timedelta(days=7))
        assert len(self.digests(site)) == 3

    def test_the_stores_clock_chooses_the_week_and_mutes_no_other(self, site: StoreSite) -> None:
        tell(site)
        asked: list[datetime] = []

        def none_at(now: datetime) -> date | None:
            asked.append(now)
            return None

        site.notices.queue_digests(none_at)
        site.wait(3600)
        site.notices.queue_digests(none_at)
        assert self.digests(site) == []
        assert all(each.tzinfo is not None for each in asked)
        site.notices.queue_digests(lambda _: self.WEEK + timedelta(days=70))
        site.notices.queue_digests(lambda _: self.WEEK)
        assert {week for week, *_ in self.digests(site)} == {self.WEEK, self.WEEK + timedelta(days=70)}

    def test_a_digest_is_sent_by_one_sender_as_a_notice_is(self, site: StoreSite) -> None:
        tell(site)
        site.notices.queue_digests(lambda _: self.WEEK)
        first = site.notices.due_notices()[0]
        assert (site.notices.begin_notice(first.id), site.notices.begin_notice(first.id)) == (True, False)
        site.wait(601)
        assert first not in site.notices.due_notices()
        assert not site.notices.begin_notice(first.id)

    def test_without_merged_commits_there_is_no_digest(self, site: StoreSite) -> None:
        site.notices.queue_digests(lambda _: self.WEEK)
        tell(site, CHAT)
        site.wait(31 * 86400)
        site.notices.queue_digests(lambda _: self.WEEK)
        assert self.digests(site) == []
