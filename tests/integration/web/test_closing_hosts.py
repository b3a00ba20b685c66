"""Operators drain and resume hosts on the page of machines; readers see who did it and why."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from html import unescape
from typing import TYPE_CHECKING, Final

import pytest

from service.domain.access.caller import Role
from service.domain.machines.closures import Closure
from service.ports.access import NewSession
from tests.support.access.browser import Browser
from tests.support.access.callers import Callers
from tests.support.memory.store import MemoryStore
from tests.support.reading.sample_project import sample_project
from tests.support.reading.views import NOW
from tests.support.web import build_app

if TYPE_CHECKING:
    import httpx

HOSTILE: Final = "<i>\u202enew kernel"


class Site:
    """The application with two hosts, used by one person."""

    def __init__(self, role: Role, name: str = "Al") -> None:
        self.store, self.reading, callers = MemoryStore(), sample_project(), Callers()
        for each in self.reading.machine_rows:
            self.store.register(each.host)
        self.host = self.reading.machine_rows[0].host
        app = build_app(self.reading, access=callers.access(), store=self.store)
        self.browser = Browser(app)
        self.browser.cookies["__Host-benchgate"] = callers.sessions.open(
            NewSession(subject="al", name=name, email="al@example.com", role=role)
        )

    def post(self, **fields: str) -> httpx.Response:
        tickets = re.findall(r'name="ticket" value="([^"]+)"', self.browser.get("/machines").text)
        given = {"host": self.host, "reason": "new kernel", **fields}
        return self.browser.post("/machines", {"ticket": tickets[0] if tickets else "", **given})


def test_an_operator_drains_a_host_and_resumes_it() -> None:
    site = Site(Role.OPERATOR)
    end = datetime.now(UTC).replace(microsecond=0) + timedelta(days=7)
    assert site.post(until=f"{end:%Y-%m-%dT%H:%M:%S}").headers["location"] == "/machines"
    [(host, closure)] = site.store.memory.closures
    assert (host, closure.reason, closure.closed_by) == (site.host, "new kernel", "Al")
    assert closure.ends_at == end
    assert site.post(reopen="yes").status_code == 303
    acts = [(each.kind, each.actor, each.subject) for each in site.store.memory.audit]
    assert acts == [("host closed", "al", f"host {host}"), ("host reopened", "al", f"host {host}")]


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"reason": "x"}, "Reason: must say why"),
        ({"until": "tomorrow"}, "Until: must be like 2026-11-28T14:00, in UTC, not 'tomorrow'"),
        ({"until": "2020-01-01T00:00"}, "Until: must be later than"),
        ({"from": "9999-12-31T23:59-14:00"}, "From: must be within a year"),
        ({"host": "nowhere"}, "No machine of a host nowhere"),
        ({"ticket": "made up"}, "form"),
    ],
)
def test_what_cannot_be_stored_is_refused_with_its_field(fields: dict[str, str], problem: str) -> None:
    site = Site(Role.OPERATOR)
    answer = site.post(**fields)
    assert (answer.status_code // 100, problem in unescape(answer.text)) == (4, True)
    assert site.store.memory.closures == []


@pytest.mark.parametrize(
    ("name", "shown"), [("", "an operator"), ("al@example.com", "an operator"), ("Al", "Al")]
)
def test_no_reader_learns_the_address_of_an_operator(name: str, shown: str) -> None:
    site = Site(Role.OPERATOR, name)
    assert site.post().status_code == 303
    [(_, closure)] = site.store.memory.closures
    assert closure.closed_by == shown


def test_a_host_with_planned_maintenance_can_be_drained_at_once() -> None:
    site = Site(Role.OPERATOR)
    first = site.reading.machine_rows[0]
    drains = f'Drain<span class="unseen"> {first.host}'
    for begins_in, offered in ((timedelta(hours=1), True), (-timedelta(hours=1), False)):
        closure = Closure(begins_at=NOW + begins_in, reason="new kernel", closed_by="ann")
        site.reading.machine_rows[0] = replace(first, closure=closure)
        page = site.browser.get("/machines").text
        assert ("Cancel maintenance of" in page, drains in page) == (offered, offered)


def test_others_have_no_form_and_no_right() -> None:
    site = Site(Role.REVIEWER)
    assert 'action="/machines"' not in site.browser.get("/machines").text
    assert site.post().status_code == 403


def test_readers_see_who_drained_a_host_and_why_as_text() -> None:
    site = Site(Role.READER)
    closure = Closure(begins_at=NOW - timedelta(hours=1), reason=HOSTILE, closed_by="<b>ann")
    first = site.reading.machine_rows[0]
    site.reading.machine_rows[0] = replace(first, closure=closure)
    page = site.browser.get("/machines").text
    assert "by <bdi>&lt;b&gt;ann</bdi>: <bdi>&lt;i&gt;" in page
    assert "\u202e" not in page
    assert f"{first.host} is drained." in page
    assert "drained by &lt;b&gt;ann" in site.browser.get("/").text
