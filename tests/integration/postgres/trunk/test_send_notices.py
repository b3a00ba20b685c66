"""Send notices and digests from PostgreSQL to a mail server and to a chat's webhook."""

from __future__ import annotations

import os
import re
import signal
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from service.adapters.postgres.engine import make_engine
from service.adapters.postgres.reading import PostgresReading
from service.adapters.postgres.trunk.notices import PostgresNotices
from service.adapters.postgres.trunk.shown_regressions import PostgresRegressionReading
from service.adapters.trunk.chat import Chats
from service.adapters.trunk.comments import Comments
from service.adapters.trunk.mail import MailServer
from service.domain.review.links import Links
from service.domain.trunk.notice import Channel
from service.domain.trunk.regression import RegressionState
from service.domain.trunk.week import Week
from service.domain.values.errors import Transient
from service.domain.verdict.comparison.instruction_counts import METRIC
from service.domain.wording.digest import NOTHING_TO_TELL
from service.domain.wording.regressions import UNKNOWN_FAULT
from service.ports.trunk import RegressionChange, RegressionDetail, ToldIn, WeekReport
from service.steps.trunk import send_notices as steps
from service.steps.trunk.send_notices import send_notices
from tests.integration.postgres.trunk.regression_site import AL, FASTER, UNDECIDED, Site
from tests.support.notified import ChatRoom, Inbox, chat_server, mail_server
from tests.support.trunk import SLOWER, key

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from service.ports.trunk import Notifier
    from tests.support.postgres import Database

pytestmark = pytest.mark.integration
LINKS = Links("https://bench.example.com")


@pytest.fixture
def inbox() -> Iterator[tuple[Inbox, str]]:
    inbox = Inbox()
    with mail_server(inbox) as url:
        yield inbox, url


@pytest.fixture
def room() -> Iterator[tuple[ChatRoom, str]]:
    room = ChatRoom()
    with chat_server(room) as url:
        yield room, url


@pytest.fixture
def site(database: Database) -> Site:
    return Site(database)


def send(site: Site, notifiers: Mapping[Channel, Notifier]) -> int:
    builds = PostgresReading(site.database.owner)
    return send_notices(PostgresNotices(site.database.owner), site.reading, builds, notifiers, LINKS)


def states(site: Site) -> list[tuple[str, str, str]]:
    rows = site.database.rows("SELECT channel, state, note FROM notice ORDER BY id")
    return [(channel, state, note) for channel, state, note in rows]


def test_each_owner_and_the_chat_get_one_notice(
    site: Site, inbox: tuple[Inbox, str], room: tuple[ChatRoom, str]
) -> None:
    site.merge({key("BM_a"): SLOWER, key("BM_b"): SLOWER}, {key("BM_a"): UNDECIDED})
    notifiers = {
        Channel.MAIL: MailServer(inbox[1], "benchgate@example.com"),
        Channel.CHAT: Chats({"kv_engine": room[1]}),
    }
    assert [send(site, notifiers), send(site, notifiers)] == [3, 0]
    mails = inbox[0].mails
    assert sorted(mail["To"] for mail in mails) == ["ann@example.com", "team@example.com"]
    assert {mail["Subject"] for mail in mails} == {"[Benchgate] kv_engine: BM_a +10.0 %"}
    assert {mail["From"] for mail in mails} == {"benchgate@example.com"}
    assert len({mail["Message-ID"] for mail in mails}) == 2
    assert "The gate had said: undecided." in mails[0].get_content()
    assert mails[0].get_content().rstrip().endswith("https://bench.example.com/regressions/1")
    [text] = room[0].texts
    assert text.startswith("`BM_a` got slower: ")
    assert {state for _, state, _ in states(site)} == {"sent"}
    assert (
        "Notices: chat of kv_engine sent, e-mail to ann@example.com sent, e-mail to team@example.com sent."
        in (re.sub(r"</?bdi>", "", site.read("/regressions/1")))
    )


def test_a_notice_says_why_if_its_worst_result_is_explained(site: Site, room: tuple[ChatRoom, str]) -> None:
    run = site.merge({key("BM_a"): UNDECIDED, key("BM_b"): SLOWER}, {})
    site.measure_longer(run, {key("BM_a"): SLOWER})
    site.explain(site.reading.regression(1).regression.worst)
    send(site, {Channel.CHAT: Chats({"kv_engine": room[1]}), Channel.CHANGE: Comments(site.store)})
    why = "mostly kv::crc32c, +6.2 of +8.2 points [+5.5, +6.9]: "
    assert f"\nwhy: `{why}" in room[0].texts[0]
    message = site.database.value("SELECT payload ->> 'message' FROM outbox WHERE kind = 'review'")
    assert f"\n\nWhy: {why}" in message


def test_a_slow_down_that_is_found_later_makes_a_comment_on_the_change(site: Site) -> None:
    run = site.merge({key("BM_a"): UNDECIDED}, {key("BM_a"): UNDECIDED})
    site.measure_longer(run, {key("BM_a"): SLOWER})
    assert send(site, {Channel.CHANGE: Comments(site.store)}) == 1
    rows = site.database.rows("SELECT dedup_key, payload ->> 'message' FROM outbox WHERE kind = 'review'")
    [(dedup_key, message)] = rows
    assert dedup_key == "regression/1"
    assert "got slower by this change: +10.0 %" in message
    assert message.endswith("\n\nhttps://bench.example.com/regressions/1")


def test_no_notice_leaves_about_what_needs_nobody_any_more(site: Site, inbox: tuple[Inbox, str]) -> None:
    site.merge({key("BM_a"): SLOWER})
    site.merge({key("BM_b"): SLOWER}, {})
    site.merge({key("BM_w"): SLOWER})
    with site.store.transaction() as tx:
        tx.regressions.change([1], RegressionChange(state=RegressionState.INVALID), AL)
    site.database.change("UPDATE change SET is_private = true")
    site.database.change("UPDATE regressed_result SET ratio = 1.05 WHERE regression_id = 3")
    site.merge({key("BM_w"): FASTER})
    site.database.change("UPDATE comparison SET ratio = 0.95 WHERE verdict = 'faster'")
    assert send(site, {Channel.MAIL: MailServer(inbox[1], "benchgate@example.com")}) == 0
    assert (inbox[0].mails, {state for _, state, _ in states(site)}) == ([], {"dropped"})
    assert "Notices" not in site.read("/regressions/1")


def test_a_busy_server_is_asked_again_and_a_refusal_is_final(site: Site, inbox: tuple[Inbox, str]) -> None:
    site.merge({key("BM_b"): SLOWER})
    notifiers = {Channel.MAIL: MailServer(inbox[1], "benchgate@example.com")}
    inbox[0].answer = "451 try later"
    with pytest.raises(Transient, match="answers 451: try later"):
        send(site, notifiers)
    assert send(site, notifiers) == 0, "it waits"
    site.database.change("UPDATE notice SET next_at = now()")
    inbox[0].answer = "550 no such box"
    send(site, notifiers)
    assert ("mail", "failed", "the mail server answers 550: no such box") in states(site)


def test_a_server_that_is_away_is_asked_again(site: Site) -> None:
    site.merge({key("BM_b"): SLOWER})
    away = {
        Channel.MAIL: MailServer("smtp://127.0.0.1:9", "benchgate@example.com"),
        Channel.CHAT: Chats({"kv_engine": "http://127.0.0.1:9/secret"}),
    }
    with pytest.raises(Transient, match="cannot be reached"):
        send(site, away)
    assert {state for _, state, _ in states(site)} == {"waiting"}
    assert all("secret" not in note for *_, note in states(site))


@pytest.mark.parametrize(("status", "state"), [(503, "waiting"), (404, "waiting"), (400, "failed")])
def test_answers_of_a_chat(site: Site, room: tuple[ChatRoom, str], status: int, state: str) -> None:
    site.merge({key("BM_b"): SLOWER})
    room[0].status = status
    notifiers = {Channel.CHAT: Chats({"kv_engine": room[1]})}
    if state == "waiting":
        with pytest.raises(Transient, match=f"the chat answers {status}"):
            send(site, notifiers)
    else:
        assert send(site, notifiers) == 0
    found = {each: (how, note) for each, how, note in states(site)}
    assert found["chat"][0] == state
    assert "secret" not in found["chat"][1]


def kill_sender(site: Site, box: Inbox, moment: str, url: str) -> None:
    """Let the mail server kill a process that sends notices."""
    child = os.fork()
    if child == 0:  # waits until the server kills it
        engine = make_engine(site.database.owner.url.render_as_string(hide_password=False))
        notifiers = {Channel.MAIL: MailServer(url, "benchgate@example.com")}
        reading = PostgresRegressionReading(engine), PostgresReading(engine)
        send_notices(PostgresNotices(engine), *reading, notifiers, LINKS)
        os._exit(0)
    setattr(box, moment, lambda: os.kill(child, signal.SIGKILL))
    _, status = os.waitpid(child, 0)
    assert os.WTERMSIG(status) == signal.SIGKILL
    setattr(box, moment, lambda: None)


@pytest.mark.parametrize(
    ("moment", "arrived", "state"), [("on_recipient", 1, "sent"), ("after", 1, "failed")]
)
def test_a_sender_that_is_killed_never_sends_twice(
    site: Site, inbox: tuple[Inbox, str], moment: str, arrived: int, state: str
) -> None:
    """Killed before the notice leaves, the next one sends it; after that, nobody does."""
    site.merge({key("BM_b"): SLOWER})
    box, url = inbox
    kill_sender(site, box, moment, url)
    send(site, {Channel.MAIL: MailServer(url, "benchgate@example.com")})
    site.database.change("UPDATE notice SET changed_at = changed_at - interval '11 minutes'")
    send(site, {Channel.MAIL: MailServer(url, "benchgate@example.com")})
    assert len(box.mails) == arrived
    assert ("mail", state) in {(channel, found) for channel, found, _ in states(site)}


def test_a_notice_that_cannot_be_sent_keeps_no_other_from_its_recipient(
    site: Site, inbox: tuple[Inbox, str]
) -> None:
    site.merge({key("BM_a"): SLOWER})
    site.database.change("UPDATE notice SET address = '=?utf-8?q?a=0d=0ab?=@e.com' WHERE address LIKE 'ann%'")
    assert send(site, {Channel.MAIL: MailServer(inbox[1], "benchgate@example.com")}) == 1
    assert [mail["To"] for mail in inbox[0].mails] == ["team@example.com"]
    assert ("mail", "failed", UNKNOWN_FAULT) in states(site)


MONDAY = date(2026, 3, 2)


def tell_week(site: Site, notifiers: Mapping[Channel, Notifier]) -> list[tuple[str, str, str]]:
    """Let all merges be of a week, send its digests, and return what became of each."""
    site.database.change("DELETE FROM notice WHERE state <> 'sent'")
    site.database.change("UPDATE run SET created_at = now() - interval '1 day'")
    notices = PostgresNotices(site.database.owner)
    notices.queue_digests(lambda _: MONDAY)
    send(site, notifiers)
    rows = site.database.rows("SELECT channel, state, note FROM notice WHERE week IS NOT NULL ORDER BY id")
    return [(channel, state, note) for channel, state, note in rows]


@pytest.fixture
def this_week(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the told week end in an hour; the rows of a test are as old as the test."""
    monkeypatch.setattr(steps, "end_of", lambda _: datetime.now(UTC) + timedelta(hours=1))


@pytest.mark.usefixtures("this_week")
def test_a_digest_lists_what_is_open_for_the_chat_and_for_each_owner(
    site: Site, inbox: tuple[Inbox, str], room: tuple[ChatRoom, str]
) -> None:
    mail: dict[Channel, Notifier] = {Channel.MAIL: MailServer(inbox[1], "benchgate@example.com")}
    site.merge({key("BM_a"): SLOWER}, {})
    site.merge({key("BM_b"): SLOWER}, {})
    site.merge({key("BM_c"): FASTER}, {})
    send(site, mail)
    inbox[0].mails.clear()
    both = {**mail, Channel.CHAT: Chats({"kv_engine": room[1]})}
    assert {state for _, state, _ in tell_week(site, both)} == {"sent"}
    [text] = room[0].texts
    assert "3 merged commits were measured, 1 of them faster; regressions: 2 found, 2 open.\n" in text
    assert text.count("https://bench.example.com/regressions/") == 2
    of_ann, of_team = sorted(inbox[0].mails, key=lambda mail: mail["To"])
    assert (of_ann["To"], of_team["To"]) == ("ann@example.com", "team@example.com")
    assert "your regressions: 1 found, 1 open." in of_ann.get_content()
    assert "BM_b" not in of_ann.get_content()
    assert "regressions/1" in of_team.get_content()
    assert "regressions/2" in of_team.get_content()
    assert of_ann["Message-ID"].startswith("<week-2026-03-02-")
    assert send(site, both) == 0


def test_a_week_counts_what_was_found_and_fixed_in_it(site: Site) -> None:
    for name in ("BM_a", "BM_b", "BM_c"):
        site.merge({key(name): SLOWER})
    site.merge({key("BM_d", METRIC.name): FASTER, key("BM_d"): UNDECIDED})
    site.merge({})
    now = datetime.now(UTC) + timedelta(minutes=1)
    with site.store.transaction() as tx:
        tx.regressions.change([1], RegressionChange(state=RegressionState.FIXED), AL)
        tx.regressions.change([2], RegressionChange(state=RegressionState.MACHINE), AL)
    report = site.reading.week(now)
    assert report.week == Week(measured=4, found=2, fixed=1, open=1, untriaged=1)
    assert [each.id for each in report.worst] == [3]
    for later in (timedelta(days=8), timedelta(days=-1)):
        assert site.reading.week(now + later).week == Week(open=1, untriaged=1)
    assert site.reading.seen_by(None).week(now) == WeekReport(Week())
    assert site.reading.week(now, ToldIn("review", "other")) == WeekReport(Week())


def test_what_was_found_or_fixed_counts_in_one_week(site: Site) -> None:
    run = site.merge({key("BM_a"): SLOWER})
    site.merge({key("BM_b"): SLOWER})
    with site.store.transaction() as tx:
        tx.regressions.change([2], RegressionChange(state=RegressionState.FIXED), AL)
    site.database.change(
        "UPDATE regression SET found_at = now() - interval '8 days', fixed_at = fixed_at - interval '8 days'"
    )
    site.measure_longer(run, {key("BM_a"): SLOWER})
    with site.store.transaction() as tx:
        tx.regressions.change([2], RegressionChange(note="it was the allocator"), AL)
    now = datetime.now(UTC) + timedelta(minutes=1)
    assert site.reading.week(now).week == Week(measured=2, open=1, untriaged=1)
    assert site.reading.week(now - timedelta(days=7)).week == Week(found=2, fixed=1, open=1, untriaged=1)
    site.measure_longer(run, {key("BM_c"): SLOWER})
    assert site.reading.week(now).week.found == 1, "that is news"


def test_a_commit_that_is_merged_twice_counts_once_when_it_was_measured(site: Site) -> None:
    for _ in range(2):
        site.merge({key("BM_a"): FASTER})
    site.database.change("UPDATE run SET merged_as = 'c0ffee', created_at = now() - interval '9 days'")
    week = site.reading.week(datetime.now(UTC) + timedelta(minutes=1)).week
    assert week == Week(measured=1, faster=1)


@pytest.mark.usefixtures("this_week")
def test_a_digest_leaves_out_what_later_commits_made_up_for_and_what_had_no_notice(
    site: Site, inbox: tuple[Inbox, str]
) -> None:
    mail: dict[Channel, Notifier] = {Channel.MAIL: MailServer(inbox[1], "benchgate@example.com")}
    site.merge({key("BM_a"): SLOWER})
    site.merge({key("BM_w"): SLOWER})
    site.database.change("UPDATE regressed_result SET ratio = 1.05 WHERE regression_id = 2")
    send(site, mail)
    site.merge({key("BM_w"): FASTER})
    site.database.change("UPDATE comparison SET ratio = 0.95 WHERE verdict = 'faster'")
    site.database.change("UPDATE notice SET state = 'failed' WHERE address LIKE 'ann%'")
    site.database.change("UPDATE notice SET state = 'sent' WHERE channel = 'chat'")
    inbox[0].mails.clear()
    notices = PostgresNotices(site.database.owner)
    notices.queue_digests(lambda _: MONDAY)
    send(site, mail)
    [of_team] = inbox[0].mails
    assert of_team["To"] == "team@example.com"
    assert "your regressions: 2 found, 1 open." in of_team.get_content()
    assert "BM_w" not in of_team.get_content()


def test_a_notice_that_cannot_be_read_now_waits_and_keeps_no_other(
    site: Site, inbox: tuple[Inbox, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    site.merge({key("BM_b"): SLOWER})
    site.merge({key("BM_b"): SLOWER})
    read = site.reading.regression

    def busy(number: int) -> RegressionDetail:
        if number == 1:
            raise Transient("the database is busy")
        return read(number)

    monkeypatch.setattr(site.reading, "regression", busy)
    with pytest.raises(Transient, match="busy"):
        send(site, {Channel.MAIL: MailServer(inbox[1], "benchgate@example.com")})
    assert len(inbox[0].mails) == 1
    assert ("mail", "waiting", "the database is busy") in states(site)


@pytest.mark.usefixtures("this_week")
def test_no_digest_leaves_about_a_quiet_week_or_private_change(
    site: Site, room: tuple[ChatRoom, str]
) -> None:
    site.merge({key("BM_a"): SLOWER}, {})
    site.database.change("UPDATE change SET is_private = true")
    site.merge({key("BM_b"): SLOWER})
    with site.store.transaction() as tx:
        tx.regressions.change([2], RegressionChange(state=RegressionState.ACCEPTED), AL)
    chat = {Channel.CHAT: Chats({"kv_engine": room[1]})}
    assert ("chat", "dropped", NOTHING_TO_TELL) in tell_week(site, chat)
    assert room[0].texts == []


@pytest.mark.usefixtures("this_week")
def test_the_chat_of_all_others_reads_only_public_branches(site: Site, room: tuple[ChatRoom, str]) -> None:
    site.merge({key("BM_a"): SLOWER})
    chat = {Channel.CHAT: Chats({"*": room[1]})}
    assert ("chat", "dropped", NOTHING_TO_TELL) in tell_week(site, chat)
    site.database.change("INSERT INTO public_branch VALUES ('review', 'kv_engine', 'master')")
    site.database.change("DELETE FROM notice WHERE week IS NOT NULL")
    assert ("chat", "sent", "") in tell_week(site, chat)
    assert len(room[0].texts) == 1


@pytest.mark.usefixtures("this_week")
@pytest.mark.parametrize(("moment", "state"), [("on_recipient", "sent"), ("after", "failed")])
def test_a_digest_whose_sender_is_killed_never_leaves_twice(
    site: Site, inbox: tuple[Inbox, str], moment: str, state: str
) -> None:
    site.merge({key("BM_b"): SLOWER})
    box, url = inbox
    mail = {Channel.MAIL: MailServer(url, "benchgate@example.com")}
    send(site, mail)
    box.mails.clear()
    PostgresNotices(site.database.owner).queue_digests(lambda _: MONDAY)
    kill_sender(site, box, moment, url)
    PostgresNotices(site.database.owner).queue_digests(lambda _: MONDAY)
    send(site, mail)
    site.database.change("UPDATE notice SET changed_at = changed_at - interval '11 minutes'")
    send(site, mail)
    rows = site.database.rows("SELECT state FROM notice WHERE week IS NOT NULL AND address LIKE 'team%'")
    assert ([found for (found,) in rows], [mail["To"] for mail in box.mails]) == (
        [state],
        ["team@example.com"],
    )
