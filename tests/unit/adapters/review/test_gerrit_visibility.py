"""Gerrit says what accounts, and readers without one, may see; its answer is never widened."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from service.adapters.review.gerrit.review import GerritReview
from service.adapters.review.gerrit.visibility import BATCH
from service.adapters.system.json_client import Password
from service.domain.review.change import Account
from service.domain.values.errors import NotFound, Refused, Transient
from service.domain.values.identity import ChangeKey
from tests.support.review.gerrit_model import SECRET, URL, GerritModel

if TYPE_CHECKING:
    from collections.abc import Sequence

ALICE, BOB = "1000002", "1000003"
FIRST = "1" * 40


@pytest.fixture
def model() -> GerritModel:
    return GerritModel()


@pytest.fixture
def server(model: GerritModel) -> GerritReview:
    return GerritReview("gerrit", URL, Password("buildbot", SECRET), transport=model.transport)


def answering(document: object, status: int = 200) -> GerritReview:
    """A server that gives every request the same answer."""
    response = httpx.Response(
        status,
        text=f")]}}'\n{json.dumps(document)}",
        headers={"Content-Type": "text/plain" if status >= 400 else "application/json"},
    )
    transport = httpx.MockTransport(lambda _: response)
    return GerritReview("gerrit", URL, Password("buildbot", SECRET), transport=transport)


def seen(server: GerritReview, *numbers: int) -> dict[str | None, frozenset[int]]:
    return {who: server.visible(who, numbers) for who in (None, ALICE, BOB)}


def test_a_private_change_is_visible_to_its_people_only(model: GerritModel, server: GerritReview) -> None:
    model.upload(7, FIRST)
    model.upload(8, "2" * 40)
    assert seen(server, 7, 8) == {None: {7, 8}, ALICE: {7, 8}, BOB: {7, 8}}
    model.changes[7].flags["is_private"] = True
    model.changes[7].watchers.add("buildbot")
    assert seen(server, 7, 8) == {None: {8}, ALICE: {7, 8}, BOB: {8}}
    model.changes[7].watchers.add("bob")
    assert seen(server, 7, 8) == {None: {8}, ALICE: {7, 8}, BOB: {7, 8}}


def test_a_change_that_benchgates_account_cannot_see_is_visible_to_nobody(
    model: GerritModel, server: GerritReview
) -> None:
    model.upload(7, FIRST)
    model.changes[7].flags["is_private"] = True
    assert seen(server, 7) == {None: frozenset(), ALICE: frozenset(), BOB: frozenset()}
    with pytest.raises(NotFound):
        server.change(ChangeKey("gerrit", 7))


def test_a_closed_project_is_read_by_its_readers_only(model: GerritModel, server: GerritReview) -> None:
    model.upload(7, FIRST)
    assert server.can_read(None, "kv_engine", "master")
    assert not server.can_read(None, "kv_engine", "stable")
    model.readers["kv_engine"] = {"buildbot", "bob"}
    assert seen(server, 7) == {None: frozenset(), ALICE: frozenset(), BOB: {7}}
    can_read = {who: server.can_read(who, "kv_engine", "master") for who in (None, ALICE, BOB)}
    assert can_read == {None: False, ALICE: False, BOB: True}


def test_one_request_asks_about_a_hundred_changes(model: GerritModel, server: GerritReview) -> None:
    for number in range(1, 2 * BATCH + 2):
        model.upload(number, f"{number:040}")
    assert server.visible(None, range(1, 2 * BATCH + 1)) == frozenset(range(1, 2 * BATCH + 1))
    assert len(model.requests) == 2
    assert server.visible(BOB, ()) == frozenset()
    assert len(model.requests) == 2


def test_a_question_for_readers_without_account_carries_no_credentials(
    model: GerritModel, server: GerritReview
) -> None:
    model.upload(7, FIRST)
    server.visible(None, {7})
    server.can_read(None, "kv_engine", "master")
    assert [request.headers.get("Authorization") for request in model.requests] == [None, None]
    assert {request.url.path for request in model.requests} == {"/r/changes/"}


@pytest.mark.parametrize("status", [302, 401, 403])
def test_a_server_that_wants_a_sign_in_shows_nothing_to_anybody_else(status: int) -> None:
    assert answering("Unauthorized", status).visible(None, {7}) == frozenset()
    assert not answering("Unauthorized", status).can_read(None, "kv_engine", "master")
    with pytest.raises(Refused):
        answering("Unauthorized", status).visible(BOB, {7})


def test_an_unavailable_server_gives_no_answer() -> None:
    for who in (None, BOB):
        with pytest.raises(Transient):
            answering("", 503).visible(who, {7})


@pytest.mark.parametrize("account", ["1000009", "bob", "self", '1 OR visibleto:"x'])
def test_an_account_that_does_not_exist_sees_nothing(
    model: GerritModel, server: GerritReview, account: str
) -> None:
    model.upload(7, FIRST)
    assert server.visible(account, {7}) == frozenset()
    assert not server.can_read(account, "kv_engine", "master")


@pytest.mark.parametrize(("project", "branch"), [("^.*", "master"), ("kv_engine", "^.*"), ('k" OR "', "m")])
def test_the_name_of_a_branch_is_never_a_pattern(
    model: GerritModel, server: GerritReview, project: str, branch: str
) -> None:
    model.upload(7, FIRST)
    assert not server.can_read(None, project, branch)
    assert model.requests == []


def test_a_number_not_asked_for_is_never_visible() -> None:
    assert answering([{"_number": 8}, {"_number": 7}, {}]).visible(None, {7}) == {7}


@pytest.mark.parametrize("email", ["bob@example.com", "BOB@Example.com"])
def test_a_person_is_linked_by_their_address(server: GerritReview, email: str) -> None:
    assert server.account_of(email) == Account(BOB, "Bob Reviewer")


def known(*emails: str, **more: object) -> Sequence[dict[str, Any]]:
    return [
        {"_account_id": number, "name": "Bob", "email": email, **more}
        for number, email in enumerate(emails, start=1)
    ]


@pytest.mark.parametrize(
    ("email", "accounts"),
    [
        ("bob@exam", known("bob@example.com")),  # Gerrit finds what begins like this
        ("bob@example.com", known("bob@example.com", "Bob@example.com")),  # two accounts: neither
        ("bob@example.com", known("bob@example.com", inactive=True)),
        ("bob@example.com", [{"_account_id": 1, "name": "Bob"}]),  # found by another of its addresses
        ("kim@example.com", known("\u212aim@example.com")),  # the Kelvin sign's lower case is k
        ("stra\u00dfe@example.com", known("strasse@example.com")),
        ("bob", known("bob")),
        ('bob@example.com" OR "@', known('bob@example.com" OR "@')),
    ],
)
def test_another_address_links_to_nobody(email: str, accounts: object) -> None:
    assert answering(accounts).account_of(email) is None


def test_a_page_does_not_wait_long_for_an_answer_and_a_step_does(
    model: GerritModel, server: GerritReview
) -> None:
    model.upload(7, FIRST)
    model.groups["testers"] = set()
    for permissions in (server.for_pages(), server):
        permissions.visible(BOB, {7})
        permissions.account_of("bob@example.com")
        permissions.is_member(BOB, "testers")
    waits = [request.extensions["timeout"]["read"] for request in model.requests]
    assert waits == [5.0, 5.0, 5.0, 30.0, 30.0, 30.0]
