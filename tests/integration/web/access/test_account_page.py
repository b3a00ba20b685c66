"""Make tokens on the account page, by forms that only that session's page can send, each once."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import pytest

from service.domain.access.caller import Role
from tests.support.access.callers import Callers
from tests.support.memory.tokens import MemoryTokens
from tests.support.web import build_account, call

if TYPE_CHECKING:
    from collections.abc import Mapping

    import httpx

NEW: Final = "/account/tokens"


class Site:
    """The application, used by browsers with sessions."""

    def __init__(self) -> None:
        self.tokens = MemoryTokens()
        self.callers = Callers()
        self.app = build_account(self.callers.access(), tokens=self.tokens)

    def browser(self, role: Role = Role.READER, subject: str = "al") -> Browser:
        return Browser(self, self.callers.as_person(role, subject))


class Browser:
    """One session."""

    def __init__(self, site: Site, headers: Mapping[str, str]) -> None:
        self._site = site
        self.headers = headers

    def page(self) -> str:
        return call(self._site.app, "GET", "/account", headers=self.headers).text

    def ticket(self, path: str) -> str:
        """Copy the ticket of a form from the page."""
        form = rf'action="{path}">\s*<input type="hidden" name="ticket" value="([^"]+)"'
        found = re.search(form, self.page())
        assert found is not None
        return found[1]

    def post(self, path: str, fields: Mapping[str, str], **more: str) -> httpx.Response:
        return call(self._site.app, "POST", path, headers={**self.headers, **more}, data=dict(fields))

    def create(self, ticket: str = "", **fields: str) -> httpx.Response:
        wanted = {
            "name": "ci",
            "scopes": "read",
            "days": "30",
            "ticket": ticket or self.ticket(NEW),
            **fields,
        }
        return self.post(NEW, wanted)


@pytest.fixture
def site() -> Site:
    return Site()


def test_a_new_token_is_shown_once_and_kept_from_caches(site: Site) -> None:
    browser = site.browser()
    answer = browser.create()
    (text,) = set(re.findall(r"bgt_[\w-]{43}", answer.text))
    assert answer.headers["cache-control"] == "no-store"
    assert site.tokens.find(text) is not None
    assert "bgt_" not in browser.page()
    assert "ci</bdi>" in browser.page()


def test_the_same_form_creates_one_token(site: Site) -> None:
    browser = site.browser()
    ticket = browser.ticket(NEW)
    assert browser.create(ticket).status_code == 200
    again = browser.create(ticket)
    assert again.status_code == 403
    assert again.json()["detail"] == "this form was sent already or is out of date; reload the page"
    assert len(site.tokens.list()) == 1


def test_another_persons_token_does_not_spoil_an_open_form(site: Site) -> None:
    operator = site.browser(Role.OPERATOR, "olga")
    ticket = operator.ticket(NEW)
    assert site.browser(subject="al").create().status_code == 200
    assert operator.create(ticket).status_code == 200
    assert len(site.tokens.list()) == 2


def test_a_twice_revoked_token_stays_revoked(site: Site) -> None:
    browser = site.browser()
    browser.create()
    path = f"{NEW}/1/revoke"
    ticket = browser.ticket(path)
    assert [browser.post(path, {"ticket": ticket}).status_code for _ in range(2)] == [303, 303]
    assert site.tokens.list()[0].revoked_at is not None


def test_a_form_of_another_session_is_refused(site: Site) -> None:
    ticket = site.browser(subject="mallory").ticket(NEW)
    assert site.browser().create(ticket).status_code == 403
    assert not site.tokens.list()


def test_a_form_for_another_action_is_refused(site: Site) -> None:
    browser = site.browser()
    browser.create()
    assert browser.create(browser.ticket(f"{NEW}/1/revoke")).status_code == 403
    assert len(site.tokens.list()) == 1


@pytest.mark.parametrize("origin", ["https://evil.example.com", "null"])
def test_a_form_of_another_site_is_refused(site: Site, origin: str) -> None:
    browser = site.browser()
    fields = {"name": "ci", "scopes": "read", "days": "30", "ticket": browser.ticket(NEW)}
    assert browser.post(NEW, fields, Origin=origin).status_code == 403
    assert not site.tokens.list()


def test_a_link_creates_nothing(site: Site) -> None:
    browser = site.browser()
    path = f"{NEW}?name=ci&scopes=read&days=30&ticket={browser.ticket(NEW)}"
    assert call(site.app, "GET", path, headers=browser.headers).status_code in {404, 405}
    assert not site.tokens.list()


@pytest.mark.parametrize("scope", ["operate", "report:kv/cv-perf"])
def test_only_an_operator_gives_these_scopes(site: Site, scope: str) -> None:
    refused = site.browser(Role.REVIEWER).create(scopes=scope)
    assert refused.status_code == 403
    assert "needs the role operator" in refused.json()["detail"]
    assert site.browser(Role.OPERATOR).create(scopes=f"read {scope}").status_code == 200


@pytest.mark.parametrize(
    ("fields", "where"),
    [
        ({"days": "0"}, "days"),
        ({"days": "91"}, "days"),
        ({"days": "٣"}, "days"),
        ({"days": ""}, "days"),
        ({"name": " "}, "name"),
        ({"name": "a\nb"}, "name"),
        ({"scopes": ""}, "scope"),
        ({"scopes": "everything"}, "scope"),
    ],
)
def test_fields_that_cannot_be_used_are_named(site: Site, fields: Mapping[str, str], where: str) -> None:
    answer = site.browser().create(**fields)
    assert answer.status_code == 400
    assert answer.json()["detail"].startswith(f"{where}: ")
    assert not site.tokens.list()


def test_a_person_revokes_their_own_token_and_not_that_of_another(site: Site) -> None:
    owner, other = site.browser(subject="al"), site.browser(subject="mallory")
    owner.create()
    assert "ci</bdi>" not in other.page()
    forged = other.post(f"{NEW}/1/revoke", {"ticket": other.ticket(NEW)})
    assert forged.status_code == 403
    path = f"{NEW}/1/revoke"
    answer = owner.post(path, {"ticket": owner.ticket(path)})
    assert (answer.status_code, answer.headers["location"]) == (303, "/account")
    assert site.tokens.list()[0].revoked_at is not None
    assert "revoked" in owner.page()


def test_an_operator_sees_and_revokes_all_tokens_and_reads_the_audit_log(site: Site) -> None:
    site.browser(subject="al").create()
    operator = site.browser(Role.OPERATOR, "olga")
    assert "ci</bdi>" in operator.page()
    assert 'href="/audit"' in operator.page()
    assert 'href="/audit"' not in site.browser().page()
    path = f"{NEW}/1/revoke"
    assert operator.post(path, {"ticket": operator.ticket(path)}).status_code == 303
    assert site.tokens.list()[0].revoked_at is not None


def test_a_hostile_name_is_no_markup(site: Site) -> None:
    browser = site.browser()
    browser.create(name="<img src=x onerror=alert(1)>")
    assert "<img src=x" not in browser.page()
