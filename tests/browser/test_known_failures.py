"""Pages of known failures: for everybody and for a reviewer, on a phone and on a wide screen."""

from __future__ import annotations

from importlib import resources
from typing import TYPE_CHECKING, Final

import pytest
from playwright.sync_api import expect

from service.domain.access.caller import Role
from service.domain.failures.failure import Failure, FailureKind
from service.domain.runs.vote import Outcome
from service.steps.failures.match_known import propose_known
from tests.integration.postgres.failures.known_site import Site
from tests.support.web import serving

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Page, ViewportSize

    from tests.support.postgres import Server

pytestmark = [pytest.mark.browser, pytest.mark.integration, pytest.mark.timeout(120)]

LONG: Final = (
    "ep-engine_ep_unit_tests.PersistentAndEphemeral/ConnectionTest.ReplicaSendsEveryMutationInOrder/0"
)
FLAKY: Final = Failure(
    FailureKind.TEST,
    LONG,
    "Expected equality of these values: cb::engine_errc::success; producer->step()",
    f"170/409 Test #167: {LONG} ...***Failed 29.49 sec",
    "engines/ep/tests/connection_test.cc:612",
)
CRASH: Final = Failure(FailureKind.CRASH, "memcached_testapp", "segmentation fault", "2/9 Test #2: memcached")
OTHER: Final = Failure(FailureKind.TEST, "ep.other", "Which is: 3", "1/2 Test #1: ep.other ...***Failed")
KNOWN, PATTERN = 1, 2
PAGES: Final = (
    "/failures",
    *(f"/failures?status={status}" for status in ("active", "expired", "closed")),
    f"/failures/{KNOWN}",
    f"/failures/{PATTERN}",
)
PHONE: Final[ViewportSize] = {"width": 390, "height": 844}
WIDE: Final[ViewportSize] = {"width": 1280, "height": 900}


@pytest.fixture(scope="module")
def failures(server: Server) -> Iterator[tuple[Site, str]]:
    """A site with known failures in all lists, which everybody may see, and its address."""
    with server.database() as database:
        site = Site(database)
        for number in range(7, 27):
            site.fail(number, FLAKY if number < 15 else OTHER)
        known, pattern = site.make_known(failure=FLAKY), site.make_pattern()
        assert (known, pattern) == (KNOWN, PATTERN)
        run = site.fail(27, Failure(FailureKind.TEST, "ep.expiry", "x", "1/2 Test #1: ep.expiry"))
        site.fail(28, CRASH)
        site.fail(29, OTHER, outcome=Outcome.PASSED)
        database.change(
            "UPDATE build SET machine = CASE WHEN id <= 10 THEN 'perf-01' ELSE 'vm-lab-2' END,"
            " finished_at = now() - id * interval '1 day' + interval '1 hour' WHERE id <= 20"
        )
        with site.store.transaction() as tx:
            tx.failures.keep_matches(run, {(21, 0): pattern})
        site.make_known(failure=CRASH)
        database.change("UPDATE known_failure SET expires_at = now() - interval '1 hour' WHERE id = 3")
        propose_known(site.store)
        site.publish(*range(7, 30))
        with serving(site.app) as address:
            site.app.state.access = site.callers.access(base_url=address)
            yield site, address


@pytest.fixture(params=[(PHONE, "al"), (WIDE, None)], ids=["phone, signed in", "wide, signed out"])
def view(request: pytest.FixtureRequest) -> tuple[ViewportSize, str | None]:
    """The size of a window, and the person who opens the pages; None: everybody."""
    found: tuple[ViewportSize, str | None] = request.param
    return found


@pytest.fixture
def person(view: tuple[ViewportSize, str | None]) -> str | None:
    return view[1]


@pytest.fixture
def window(
    browser: Browser, failures: tuple[Site, str], view: tuple[ViewportSize, str | None]
) -> Iterator[Page]:
    """A window of a person; the test fails if a script of it does."""
    (site, address), (size, person) = failures, view
    context = browser.new_context(base_url=address, viewport=size)
    if person:
        secret, name = (
            site.callers.sign_in(Role.REVIEWER, person),
            site.app.state.access.address.session_cookie,
        )
        context.add_cookies([{"name": name, "value": secret, "url": address, "sameSite": "Lax"}])
    page, faults = context.new_page(), list[str]()
    page.on("pageerror", lambda error: faults.append(str(error)))
    yield page
    context.close()
    assert faults == []


def violations(page: Page) -> list[list[str]]:
    """Return the rules of accessibility that a page breaks."""
    page.evaluate(resources.files("axe_playwright_python").joinpath("axe.min.js").read_text())
    found: list[list[str]] = page.evaluate(
        "axe.run().then((all) => all.violations.map((v) => [v.id, v.nodes[0].html]))"
    )
    return found


def is_as_wide_as_its_window(page: Page) -> bool:
    return bool(page.evaluate("document.documentElement.scrollWidth <= innerWidth"))


@pytest.mark.parametrize("address", PAGES)
def test_a_page_of_known_failures_is_accessible_and_as_wide_as_its_window(
    window: Page, address: str, person: str | None
) -> None:
    answer = window.goto(address)
    assert answer is not None
    assert answer.status == 200
    assert violations(window) == []
    assert is_as_wide_as_its_window(window)
    assert window.get_by_role("link", name="+ Pattern").count() == (address not in PAGES[4:] and bool(person))


def test_a_list_leads_to_the_evidence_of_each(window: Page) -> None:
    window.goto("/failures?status=active")
    row = window.locator(".known tbody tr", has_text="ConnectionTest")
    expect(row).to_contain_text("8 of 23")
    row.get_by_role("link").first.click()
    window.wait_for_url(f"**/failures/{KNOWN}")
    expect(window.locator("h1")).to_have_text(LONG)
    expect(window.locator(".rates tbody tr").first).to_have_text("All82335 %19 % to 55 %")
    expect(window.get_by_label("Builds with it").locator("tbody tr")).to_have_count(8)


def test_only_a_person_gets_the_form_of_a_known_failure(window: Page, person: str | None) -> None:
    window.goto(f"/failures/{KNOWN}")
    assert window.get_by_role("button", name="Save").count() == bool(person)
    if person:
        window.get_by_label("Assignee").fill("Ann Lee")
        window.get_by_role("button", name="Save").click()
        expect(window.locator("main")).to_contain_text("assigned to Ann Lee")


@pytest.mark.parametrize("view", [(PHONE, "al"), (WIDE, "al")], ids=["phone", "wide"], indirect=True)
class TestNewPattern:
    def fill(self, page: Page, pattern: str) -> None:
        page.goto("/failures?status=active")
        page.get_by_role("link", name="+ Pattern").click()
        page.get_by_role("textbox", name="Pattern").fill(pattern)
        page.get_by_label("Branch").fill("master")
        page.get_by_label("Job").fill("linux")
        page.get_by_label("Bug").fill("MB-61234")
        page.get_by_label("Reason").fill("the replica is slow")
        page.get_by_role("button", name="Show what it would have matched").click()

    @pytest.mark.parametrize(
        ("pattern", "problem"),
        [
            ("Test #(167", "not a regular expression of RE2: missing )"),
            ("Failure", "the pattern matches failures of any kind"),
        ],
    )
    def test_a_wrong_pattern_is_refused_with_a_reason_and_kept(
        self, window: Page, pattern: str, problem: str
    ) -> None:
        self.fill(window, pattern)
        alert = window.get_by_role("alert")
        expect(alert).to_contain_text(problem)
        expect(alert).to_be_in_viewport()
        expect(window.get_by_role("textbox", name="Pattern")).to_have_value(pattern)
        expect(window.get_by_label("Bug")).to_have_value("MB-61234")
        assert window.get_by_role("button", name="known").count() == 0
        assert violations(window) == []
        assert is_as_wide_as_its_window(window)

    def test_a_pattern_is_shown_against_the_last_30_days_and_then_saved(self, window: Page) -> None:
        own = window.evaluate("innerWidth")  # each window adds a pattern of its own
        self.fill(window, f"(Test #167: .*ConnectionTest|{own} x)")
        expect(window.locator("main")).to_contain_text("It would have matched 8 of 22 failures, in 8 builds.")
        assert violations(window) == []
        assert is_as_wide_as_its_window(window)
        window.get_by_role("button", name="Make these failures known").click()
        expect(window.locator("h1")).to_contain_text("Test #167")
        expect(window.locator(".rates tbody tr")).to_have_text("All00––")
        assert is_as_wide_as_its_window(window)
