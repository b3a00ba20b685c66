from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from service.adapters.access.recent_answers import KEPT_SECONDS, RecentAnswers
from service.adapters.access.viewers import Viewers
from service.adapters.system.circuit_breaker import SILENT_SECONDS
from service.domain.access.caller import Anonymous, Role, TokenHolder, User
from service.domain.review.change import Account
from service.domain.values.errors import Permanent, Transient
from service.domain.values.identity import ChangeKey
from tests.support.fakes import FakeReviewServer
from tests.support.review.changes import change_at

if TYPE_CHECKING:
    from collections.abc import Collection

    from service.domain.access.caller import Caller

ALICE, BOB = "alice@example.com", "bob@example.com"
PRIVATE, OTHER = ChangeKey("gerrit", 7), ChangeKey("gerrit", 8)
BOTH = frozenset({PRIVATE, OTHER})


class Site:
    """Two changes: Alice sees both, and Bob one."""

    def __init__(self) -> None:
        self.server = FakeReviewServer()
        self.server.accounts = {ALICE: Account("alice", "Alice"), BOB: Account("bob", "Bob")}
        for key in BOTH:
            self.server.put(change_at(1, key=key))
        self.server.viewers = {7: {"alice"}, 8: {"alice", "bob"}}
        self.seconds = 1000.0
        self.viewers = Viewers(RecentAnswers({"gerrit": self.server}, lambda: self.seconds))

    def sees(self, email: str, changes: Collection[ChangeKey] = BOTH) -> frozenset[ChangeKey]:
        viewer = self.viewers.of(person(email))
        assert viewer is not None
        return viewer.sees(changes)


@pytest.fixture
def site() -> Site:
    return Site()


def person(email: str, role: Role = Role.READER) -> User:
    return User(subject="s", name="Alice", email=email, role=role, session=b"")


def test_each_person_sees_what_their_account_sees(site: Site) -> None:
    assert site.sees(ALICE) == BOTH
    assert site.sees(BOB) == {OTHER}


def test_an_operator_sees_no_more_than_their_account(site: Site) -> None:
    viewer = site.viewers.of(person(BOB, Role.OPERATOR))
    assert viewer is not None
    assert viewer.sees(BOTH) == {OTHER}


def test_a_token_sees_what_the_account_of_its_creator_sees(site: Site) -> None:
    viewer = site.viewers.of(TokenHolder(token_id=1, name="ci", scopes=frozenset(), email=BOB))
    assert viewer is not None
    assert viewer.sees(BOTH) == {OTHER}


@pytest.mark.parametrize(
    "caller",
    [Anonymous(), person(""), TokenHolder(token_id=1, name="ci", scopes=frozenset())],
)
def test_no_server_is_asked_without_a_verified_address(site: Site, caller: Caller) -> None:
    assert site.viewers.of(caller) is None


def test_a_person_without_an_account_sees_nothing_more(site: Site) -> None:
    assert site.sees("nobody@example.com") == frozenset()
    assert site.server.asked == ["nobody@example.com"]


def test_a_page_is_one_question(site: Site) -> None:
    site.sees(ALICE)
    assert site.server.asked == [ALICE, ("alice", frozenset({7, 8}))]


def test_answers_are_kept_for_a_minute(site: Site) -> None:
    site.sees(ALICE, [PRIVATE])
    site.seconds += KEPT_SECONDS - 1
    site.server.viewers[7] = set()
    assert site.sees(ALICE) == BOTH
    assert site.server.asked == [ALICE, ("alice", frozenset({7})), ("alice", frozenset({8}))]
    site.seconds += 2
    assert site.sees(ALICE) == {OTHER}


def test_no_person_gets_the_answer_of_another(site: Site) -> None:
    site.sees(ALICE)
    assert site.sees(BOB) == {OTHER}


def test_a_person_is_not_the_one_who_has_their_number_on_another_server() -> None:
    """Account 1000007 is Alice on core and Bob on edge, and only that account sees change 7 there."""
    core, edge = FakeReviewServer(instance="core"), FakeReviewServer(instance="edge")
    core.accounts = {ALICE: Account("1000007", "Alice"), BOB: Account("1000008", "Bob")}
    edge.accounts = {BOB: Account("1000007", "Bob")}
    for server in (core, edge):
        server.put(change_at(1, key=ChangeKey(server.instance, 7)))
        server.viewers = {7: {"1000007"}}
    viewers = Viewers(RecentAnswers({"core": core, "edge": edge}, lambda: 1000.0))
    changes = {ChangeKey("core", 7), ChangeKey("edge", 7)}
    seen = {email: viewer.sees(changes) for email in (ALICE, BOB) if (viewer := viewers.of(person(email)))}
    assert seen == {ALICE: {ChangeKey("core", 7)}, BOB: {ChangeKey("edge", 7)}}


def test_a_closed_account_sees_nothing_after_a_minute(site: Site) -> None:
    site.sees(ALICE)
    site.server.accounts.clear()
    site.seconds += KEPT_SECONDS + 1
    assert site.sees(ALICE) == frozenset()


@pytest.mark.parametrize("error", [Transient("no answer"), Permanent("unknown account")])
def test_a_silent_server_shows_nothing_more_and_is_left_alone(
    site: Site, error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[str] = []

    def fail(_: str | None, __: Collection[int]) -> frozenset[int]:
        calls.append("asked")
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(site.server, "visible", fail)
        for _ in range(3):
            assert site.sees(ALICE) == frozenset()
    assert calls == ["asked"]
    assert site.sees(ALICE) == frozenset()
    site.seconds += SILENT_SECONDS + 1
    assert site.sees(ALICE) == BOTH


def test_known_answers_are_used_while_the_server_does_not_answer(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: str | None, __: Collection[int]) -> frozenset[int]:
        raise Transient("no answer")

    site.sees(ALICE, [PRIVATE])
    monkeypatch.setattr(site.server, "visible", fail)
    assert site.sees(ALICE) == {PRIVATE}


def test_a_viewers_rights_are_unknown_while_the_server_does_not_answer(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also for somebody who asked nothing: a missing number has the same answer as a hidden one."""

    def fail(*_: object) -> frozenset[int]:
        raise Transient("no answer")

    alice, bob = site.viewers.of(person(ALICE)), site.viewers.of(person(BOB))
    assert alice is not None
    assert bob is not None
    alice.sees(BOTH)
    alice.require_answers()
    site.seconds += KEPT_SECONDS + 1
    with monkeypatch.context() as patch:
        patch.setattr(site.server, "visible", fail)
        alice.sees(BOTH)
    for viewer in (alice, bob):
        with pytest.raises(Transient, match="Benchgate cannot tell what you may see") as unknown:
            viewer.require_answers()
        assert unknown.value.retry_after == SILENT_SECONDS
    site.seconds += SILENT_SECONDS + 1
    bob.sees(BOTH)
    bob.require_answers()


@pytest.mark.parametrize("email", [ALICE, BOB], ids=["who asked", "who asked nothing"])
def test_a_server_that_does_not_answer_leaves_the_changes_of_another_known(
    email: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: str) -> Account | None:
        raise Transient("no answer")

    core, edge = FakeReviewServer(instance="core"), FakeReviewServer(instance="edge")
    monkeypatch.setattr(core, "account_of", fail)
    viewers = Viewers(RecentAnswers({"core": core, "edge": edge}, lambda: 1000.0))
    asking = {address: viewers.of(person(address)) for address in (ALICE, BOB)}
    alice, viewer = asking[ALICE], asking[email]
    assert alice is not None
    assert viewer is not None
    alice.sees({ChangeKey("core", 1), ChangeKey("edge", 1)})
    viewer.require_answers("edge")
    for instance in ("core", None):
        with pytest.raises(Transient):
            viewer.require_answers(instance)


def test_a_refusal_is_an_answer(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> frozenset[int]:
        raise Permanent("unknown account")

    viewer = site.viewers.of(person(ALICE))
    assert viewer is not None
    monkeypatch.setattr(site.server, "visible", refuse)
    assert viewer.sees({PRIVATE, ChangeKey("gone", 7)}) == frozenset()
    viewer.require_answers()


def test_a_server_is_asked_about_its_own_changes_only(site: Site) -> None:
    other = FakeReviewServer(instance="edge")
    other.accounts = {ALICE: Account("a2", "Alice")}
    other.put(change_at(1, key=ChangeKey("edge", 7)))
    viewer = Viewers(RecentAnswers({"gerrit": site.server, "edge": other})).of(person(ALICE))
    asked = {PRIVATE, ChangeKey("edge", 7), ChangeKey("gone", 7)}
    assert viewer is not None
    assert viewer.sees(asked) == {PRIVATE, ChangeKey("edge", 7)}
    assert site.server.asked == [ALICE, ("alice", frozenset({7}))]
    assert other.asked == [ALICE, ("a2", frozenset({7}))]
