"""Acting on a change in a browser: without scripts, by the keyboard alone, and on a narrow screen."""

from __future__ import annotations

from dataclasses import replace
from importlib import resources
from typing import TYPE_CHECKING

import pytest
from fastapi import FastAPI
from fastapi.responses import HTMLResponse
from playwright.sync_api import expect

from service.adapters.access.recent_answers import RecentAnswers
from service.domain.access.caller import Role
from service.domain.project.job_kinds import JobKind
from service.domain.project.project_file import Permission
from service.domain.review.change import Account
from service.domain.review.form_commands import line_of
from service.domain.runs.states import RunState
from service.domain.runs.vote import Outcome, Result
from service.domain.verdict.inference.verdict import Verdict
from service.ports.review.shown import ShownRequest
from service.steps.review.offered_actions import ActionOffers
from tests.support.access.callers import Callers
from tests.support.fakes import FakeReviewServer
from tests.support.memory.store import MemoryStore
from tests.support.reading.add_patch_set import add_patch_set
from tests.support.reading.fake_reading import FakeReading
from tests.support.reading.views import NOW, build_view, change_view, comparison
from tests.support.store_samples import change
from tests.support.web import build_app, serving

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Page

pytestmark = [pytest.mark.browser, pytest.mark.timeout(120)]

LONG = "CB3ExecutorBench/OneShotScheduleRun/real_time/threads:4"


@pytest.fixture
def store() -> MemoryStore:
    store = MemoryStore()
    with store.transaction() as tx:
        tx.changes.upsert(change())
    return store


@pytest.fixture
def reading() -> FakeReading:
    reading = FakeReading()
    slower = build_view(
        1,
        1,
        result=Result.FAILURE,
        outcome=Outcome.SLOWER,
        blamed=(LONG,),
        permissions=tuple(Permission),
        groups={"rerun": "committers", "override": "reviewers"},
    )
    view = change_view(7, "Speed up", run_id=1, run_state=RunState.FINISHED)
    add_patch_set(reading, view, [(slower, [comparison(1, LONG, 0.8, Verdict.SLOWER)])])
    page = reading.patch_set_rows[0]
    reading.patch_set_rows[0] = replace(page, patch_set=replace(page.patch_set, id=1))
    return reading


@pytest.fixture
def person(browser: Browser, reading: FakeReading, store: MemoryStore) -> Iterator[Page]:
    """The narrow browser of a reviewer, which runs no scripts."""
    callers = Callers()
    server = FakeReviewServer(
        accounts={"al@example.com": Account("1", "Al Ray")},
        members={("1", "committers"), ("1", "reviewers")},
    )
    offers = ActionOffers(RecentAnswers({"gerrit": server}))
    app = build_app(reading, access=callers.access(), offers=offers, store=store)
    with serving(app) as address:
        app.state.access = callers.access(base_url=address)
        context = browser.new_context(
            base_url=address, viewport={"width": 390, "height": 844}, java_script_enabled=False
        )
        secret = callers.sign_in(Role.REVIEWER)
        name = app.state.access.address.session_cookie
        context.add_cookies([{"name": name, "value": secret, "url": address, "sameSite": "Lax"}])
        yield context.new_page()
        context.close()


def requests(store: MemoryStore) -> list[str]:
    return [line_of(each.command) if each.command else each.text for each in store.memory.comment]


def test_a_failure_is_overridden_by_the_keyboard_alone(person: Page, store: MemoryStore) -> None:
    person.goto("/changes/7")
    person.locator("summary", has_text="Override the failure").focus()
    person.keyboard.press("Enter")
    person.keyboard.press("Tab")
    person.keyboard.type("MB-123")
    person.keyboard.press("Tab")
    person.keyboard.type("known slow")
    person.keyboard.press("Enter")
    person.wait_for_url("**/changes/7/1#m1")
    assert requests(store) == ["override kv-engine-cv-perf MB-123 known slow"]


def test_a_slower_row_is_accepted_on_a_narrow_screen(person: Page, store: MemoryStore) -> None:
    person.goto("/changes/7")
    row = person.locator(".rows details.action")
    row.locator("summary").click()
    row.get_by_label("Reason").fill("the lock is needed")
    assert row.get_by_role("button").bounding_box()["x"] < 390  # type: ignore[index]
    row.get_by_role("button").click()
    person.wait_for_url("**/changes/7/1#m1")
    assert requests(store) == [f"accept {LONG} the lock is needed"]


def test_the_forms_and_the_requests_are_accessible_on_a_phone(person: Page, reading: FakeReading) -> None:
    asked = ShownRequest(
        id=1, person="Al Ray", text=f"accept {LONG} wanted", created_at=NOW, is_pending=False, answer="no"
    )
    reading.patch_set_rows[0] = replace(reading.patch_set_rows[0], requests=(asked,))
    person.goto("/changes/7")
    browser = person.context.browser
    assert browser is not None
    context = browser.new_context(
        storage_state=person.context.storage_state(), viewport={"width": 320, "height": 700}
    )
    page = context.new_page()
    page.goto(person.url)
    page.evaluate("document.querySelectorAll('details').forEach((each) => each.open = true)")
    page.evaluate(resources.files("axe_playwright_python").joinpath("axe.min.js").read_text())
    found = page.evaluate("axe.run().then((all) => all.violations.map((v) => [v.id, v.nodes[0].html]))")
    assert (page.locator("section.actions form").count(), found) == (3, [])
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    context.close()


@pytest.mark.parametrize("others", [0, 2])
def test_only_failures_of_the_job_of_the_link_become_known(
    person: Page, reading: FakeReading, store: MemoryStore, others: int
) -> None:
    [slower] = reading.runs[0].builds
    failed = [
        replace(slower, id=k, job=f"unit-{k}", kind=JobKind("ctest"), outcome=Outcome.FAILED, blamed=())
        for k in range(2, 3 + others)
    ]
    reading.runs[0] = replace(reading.runs[0], builds=tuple(failed))
    person.goto("/changes/7/1?known=unit-2#actions")
    expect(person.locator("details.action[open]")).to_have_count(1)
    expect(person.locator("main").get_by_role("checkbox", checked=True, include_hidden=True)).to_have_count(1)
    form = person.locator("details.action[open]")
    expect(form.locator("summary")).to_be_in_viewport()
    form.get_by_label("Bug").fill("MB-123")
    form.get_by_label("Reason").fill("it waits too long")
    form.get_by_role("button").click()
    person.wait_for_url("**/changes/7/1#m1")
    assert requests(store) == ["override unit-2 MB-123 known-failure it waits too long"]


def test_a_form_without_a_reason_is_not_sent(person: Page, store: MemoryStore) -> None:
    person.goto("/changes/7")
    form = person.locator("section.actions details.action", has_text="Override the failure")
    form.locator("summary").click()
    form.get_by_label("Bug").fill("MB-123")
    form.get_by_role("button").click()
    assert form.get_by_label("Reason").evaluate("field => field.validity.valueMissing")
    assert requests(store) == []


@pytest.mark.parametrize(
    ("host", "title"),
    [
        ("localhost", "Not signed in"),  # another site: the browser sends no cookie
        ("127.0.0.1", "Not allowed"),  # another port of the same site: the cookie comes with another origin
    ],
)
def test_a_form_of_another_origin_changes_nothing(
    person: Page, store: MemoryStore, host: str, title: str
) -> None:
    person.goto("/changes/7")
    form = person.locator("section.actions form").first
    address, ticket = (
        person.url.partition("/changes")[0],
        form.locator("[name=ticket]").get_attribute("value"),
    )
    evil = FastAPI()

    @evil.get("/")
    def page() -> HTMLResponse:
        fields = f'<input name="ticket" value="{ticket}"><input name="action" value="recheck">'
        target = f"{address}/changes/7/1/actions"
        return HTMLResponse(f'<form method="post" action="{target}">{fields}<button>Win</button></form>')

    with serving(evil) as elsewhere:
        person.goto(elsewhere.replace("127.0.0.1", host))
        person.get_by_role("button").click()
        person.wait_for_url("**/actions")
    assert person.title().startswith(title)
    assert requests(store) == []
