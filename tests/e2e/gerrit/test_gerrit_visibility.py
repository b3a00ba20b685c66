"""A real Gerrit decides what accounts, and readers without one, may see."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest

from service.adapters.review.gerrit.review import GerritReview
from service.adapters.system.json_client import Password
from service.domain.values.errors import NotFound
from service.domain.values.identity import ChangeKey

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.e2e.gerrit.server import GerritServer

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]


@pytest.fixture
def server(gerrit: GerritServer) -> Iterator[GerritReview]:
    password = gerrit.description["accounts"]["buildbot"]["password"]
    with closing(GerritReview("gerrit", gerrit.url, Password("buildbot", password))) as server:
        yield server


def account_of(server: GerritReview, gerrit: GerritServer, user: str) -> str:
    account = server.account_of(gerrit.description["accounts"][user]["email"])
    assert account is not None, user
    assert account.name == gerrit.description["accounts"][user]["name"]
    return account.id


def seen(server: GerritReview, gerrit: GerritServer, number: int) -> set[str]:
    """Return who sees a change: two people, and "" for readers without an account."""
    people = {"": None, **{user: account_of(server, gerrit, user) for user in ("alice", "mallory")}}
    return {user for user, account in people.items() if server.visible(account, {number, 99999}) == {number}}


def test_a_person_is_linked_by_their_exact_address(server: GerritReview, gerrit: GerritServer) -> None:
    email = gerrit.description["accounts"]["alice"]["email"]
    alice = server.account_of(email)
    assert alice is not None
    assert server.account_of(email.upper()) == alice
    for other in (email[:-1], email.partition("@")[0], "", "nobody@example.com", '"', f'{email}" OR "'):
        assert server.account_of(other) is None, other


def test_an_inactive_account_is_linked_to_nobody(server: GerritReview, gerrit: GerritServer) -> None:
    email = gerrit.description["accounts"]["mallory"]["email"]
    account = account_of(server, gerrit, "mallory")
    gerrit.rest("admin", "DELETE", f"/accounts/{account}/active")
    try:
        assert server.account_of(email) is None
    finally:
        gerrit.rest("admin", "PUT", f"/accounts/{account}/active")


def test_a_public_change_turns_private(server: GerritReview, gerrit: GerritServer) -> None:
    change = gerrit.propose({"note.txt": "private later"}).number
    assert seen(server, gerrit, change) == {"", "alice", "mallory"}
    gerrit.rest("alice", "POST", f"/changes/{change}/private", {})
    assert seen(server, gerrit, change) == set(), "Benchgate's own account does not see it either"
    with pytest.raises(NotFound):
        server.change(ChangeKey("gerrit", change))

    gerrit.rest("alice", "POST", f"/changes/{change}/reviewers", {"reviewer": "buildbot", "state": "CC"})
    assert server.change(ChangeKey("gerrit", change)).is_private
    assert seen(server, gerrit, change) == {"alice"}
    gerrit.rest("alice", "POST", f"/changes/{change}/reviewers", {"reviewer": "mallory", "state": "CC"})
    assert seen(server, gerrit, change) == {"alice", "mallory"}
    gerrit.rest("alice", "DELETE", f"/changes/{change}/private")
    assert seen(server, gerrit, change) == {"", "alice", "mallory"}


def test_many_changes_are_asked_about_at_once(server: GerritReview, gerrit: GerritServer) -> None:
    change = gerrit.propose({"note.txt": "one of many"}).number
    mallory = account_of(server, gerrit, "mallory")
    for account in (None, mallory):
        assert change in server.visible(account, range(1, 251))
    assert server.visible("99999999", {change}) == frozenset()


def test_a_closed_project_is_read_by_its_readers_only(server: GerritReview, gerrit: GerritServer) -> None:
    change, project, branch = gerrit.propose({"note.txt": "closed"}).number, gerrit.project, gerrit.branch
    alice, mallory = (account_of(server, gerrit, user) for user in ("alice", "mallory"))
    gerrit.rest("admin", "PUT", "/groups/alone", {"members": ["alice"]})

    def can_read() -> list[bool]:
        return [server.can_read(account, project, branch) for account in (None, alice, mallory)]

    assert can_read() == [True, True, True]
    assert not server.can_read(None, project, "no-such-branch")
    rules = {
        group: {"action": "ALLOW"} for group in ("Service Users", "Administrators", "alone", "Project Owners")
    }
    closed = {
        ref: {"permissions": {"read": {"exclusive": True, "rules": rules}}}
        for ref in ("refs/*", "refs/heads/*")
    }
    path = f"/projects/{quote(project, safe='')}/access"
    before = gerrit.rest("admin", "GET", path)["local"]
    gerrit.rest("admin", "POST", path, {"add": closed})
    try:
        assert can_read() == [False, True, False]
        assert seen(server, gerrit, change) == {"alice"}
    finally:
        # Removing these takes the other permissions with them, and other tests need those to vote.
        removed: dict[str, Any] = {ref: {"permissions": {"read": {}}} for ref in closed}
        gerrit.rest("admin", "POST", path, {"remove": removed})
        gerrit.rest("admin", "POST", path, {"add": before})
    assert can_read() == [True, True, True]
    assert gerrit.rest("admin", "GET", path)["local"]["refs/heads/*"] == before["refs/heads/*"]
