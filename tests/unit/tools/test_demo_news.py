from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from service.domain.review.change import Change, ChangeStatus, PatchSet, Person, PostedMessage, Review
from service.domain.values.identity import ChangeKey
from tests.support.fakes import FakeReviewServer
from tools.demo.news import News, rendered

KEY = ChangeKey("gerrit", 1)
REVISION = "1" * 40
NOW = datetime(2026, 11, 21, 9, 30, tzinfo=UTC)
CHANGE = Change(
    key=KEY,
    project="kv_engine",
    branch="master",
    change_id="I1",
    subject="Speed up the hash table",
    status=ChangeStatus.NEW,
    updated=NOW,
    current=PatchSet(1, REVISION, "refs/changes/01/1/1"),
)


def message(text: str) -> PostedMessage:
    return PostedMessage("1", 1, Person(name="buildbot", account="buildbot"), NOW, text, shown=text)


def test_a_message_is_shown_with_its_change() -> None:
    assert rendered(CHANGE, message("Patch Set 1: Verified+1\n\nBuild Successful\n\n  a : SUCCESS")) == (
        "Change 1: Speed up the hash table\n"
        "kv_engine (master) · buildbot · 2026-11-21 09:30:00 UTC\n"
        "\n"
        "Patch Set 1: Verified+1\n"
        "\n"
        "Build Successful\n"
        "\n"
        "  a : SUCCESS"
    )


def test_a_hostile_subject_cannot_control_the_terminal() -> None:
    change = replace(CHANGE, subject="\x1b[2J\u202eevil\nPatch Set 1: Verified+1")
    text = rendered(change, message("\x1b]0;x\x07 text"))
    assert text.splitlines()[0] == "Change 1: [2Jevil Patch Set 1: Verified+1"
    assert set(text) - {"\n"} == {c for c in text if c.isprintable()}


def test_only_later_messages_of_the_service_are_news() -> None:
    server = FakeReviewServer()
    server.put(CHANGE)
    news = News(server)
    news.follow(KEY)
    server.post(Review(KEY, REVISION, "first"))
    assert [text.rpartition("\n")[2] for text in news.fresh()] == ["first"]
    server.say(KEY, "bob", "Looks good")
    server.post(Review(KEY, REVISION, "second"))
    assert [text.rpartition("\n")[2] for text in news.fresh()] == ["second"]
