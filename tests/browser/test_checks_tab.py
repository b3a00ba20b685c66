"""Open Gerrit's Checks tab in a browser, which decides whether it sends Benchgate's cookie."""

from __future__ import annotations

import subprocess
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

import pytest
from fastapi import FastAPI
from fastapi.responses import HTMLResponse, Response

from service.domain.access.caller import Role
from tests.support.access.callers import Callers
from tests.support.access.checks_tab import PRIVATE, PUBLIC, checks_app
from tests.support.web import serving

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Page

PLUGIN: Final = Path(__file__).parents[2] / "dashboards" / "gerrit-checks" / "plugin"
# The parts of Gerrit's page that the plug-in uses.
GERRIT_PAGE: Final = """<!doctype html><script>
window.Gerrit = { install: (plugin) => plugin({
  restApi: () => ({ getLoggedIn: async () => true }),
  checks: () => ({ register: (provider) => { window.provider = provider; }, announceUpdate: () => {} }),
}) };
</script><script src="/benchgate-checks.js"></script>"""
ASK: Final = """(change) => provider.fetch({
  changeNumber: change, patchsetNumber: 1, changeInfo: { status: "NEW", is_private: change === %d },
}).then((answer) => [answer.responseCode, answer.runs?.length ?? 0, answer.links?.length ?? 0])"""
# With the numbers of runs and of links.
SHOWN: Final = ["OK", 1, 0]
LINKED: Final = ["OK", 0, 1]
REFUSED: Final = ["NOT_LOGGED_IN", 0, 0]

pytestmark = pytest.mark.browser


class Site:
    """A Gerrit and a Benchgate on ports of one host, ``localhost``; Gerrit is also ``127.0.0.1``.

    Browsers count hosts as one site by name, whatever the ports are.
    """

    def __init__(self, *, is_public: bool, gerrit_host: str, other_gerrit: str = "") -> None:
        self.callers = Callers()
        self.is_public = is_public
        self.gerrit_host = gerrit_host
        self.other_gerrit = other_gerrit

    @contextmanager
    def running(self) -> Iterator[None]:
        gerrit = FastAPI()
        with serving(gerrit) as gerrit_address:
            self.gerrit = f"http://{self.gerrit_host}:{urlsplit(gerrit_address).port}"
            access = self.callers.access(is_public=self.is_public, base_url="http://localhost:8080")
            self.cookie = access.address.session_cookie
            with serving(checks_app(access, self.gerrit, self.other_gerrit)) as address:
                self.benchgate = f"http://localhost:{urlsplit(address).port}"
                self._serve(gerrit)
                yield

    def _serve(self, gerrit: FastAPI) -> None:
        plugin = subprocess.run([PLUGIN, self.benchgate], check=True, capture_output=True, text=True).stdout

        @gerrit.get("/")
        def page() -> HTMLResponse:
            return HTMLResponse(GERRIT_PAGE)

        @gerrit.get("/benchgate-checks.js")
        def script() -> Response:
            return Response(plugin, media_type="text/javascript")


@contextmanager
def opened(browser: Browser, site: Site, *, is_signed_in: bool) -> Iterator[Page]:
    context = browser.new_context()
    if is_signed_in:
        context.add_cookies(
            [
                {
                    "name": site.cookie,
                    "value": site.callers.sign_in(Role.READER),
                    "url": site.benchgate,
                    "httpOnly": True,
                    "sameSite": "Lax",
                }
            ]
        )
    page = context.new_page()
    page.goto(site.gerrit)
    yield page
    context.close()


def ask(page: Page, change: int) -> Any:  # noqa: ANN401 - JSON
    return page.evaluate(ASK % PRIVATE, change)


@pytest.mark.parametrize(
    ("host", "is_public", "is_signed_in", "expected"),
    [
        ("localhost", False, True, [SHOWN, SHOWN]),
        ("localhost", False, False, [REFUSED, REFUSED]),
        ("localhost", True, True, [SHOWN, SHOWN]),
        ("localhost", True, False, [SHOWN, LINKED]),
        ("127.0.0.1", False, True, [REFUSED, REFUSED]),
        ("127.0.0.1", True, True, [SHOWN, LINKED]),
    ],
)
def test_a_gerrit_on_the_same_site_shows_what_the_person_may_see(
    browser: Browser, host: str, *, is_public: bool, is_signed_in: bool, expected: list[list[object]]
) -> None:
    site = Site(is_public=is_public, gerrit_host=host)
    with site.running(), opened(browser, site, is_signed_in=is_signed_in) as page:
        assert [ask(page, change) for change in (PUBLIC, PRIVATE)] == expected


@pytest.mark.parametrize(
    ("other_gerrit", "address"), [("", f"{PUBLIC}"), ("https://other.example", f"gerrit~{PUBLIC}")]
)
def test_the_button_opens_the_page_of_the_patch_set(
    browser: Browser, other_gerrit: str, address: str
) -> None:
    """The address names the Gerrit if there are several, which may have a change of the same number."""
    site = Site(is_public=False, gerrit_host="localhost", other_gerrit=other_gerrit)
    with site.running(), opened(browser, site, is_signed_in=False) as page:
        with page.context.expect_page() as tab:
            page.evaluate(
                "(change) => provider.fetch({changeNumber: change, patchsetNumber: 1, changeInfo: {}})"
                ".then((answer) => answer.loginCallback())",
                PUBLIC,
            )
        assert tab.value.url == f"{site.benchgate}/changes/{address}/1"


def test_the_link_for_a_private_change_names_its_gerrit(browser: Browser) -> None:
    site = Site(is_public=True, gerrit_host="localhost", other_gerrit="https://other.example")
    with site.running(), opened(browser, site, is_signed_in=False) as page:
        (url,) = page.evaluate(
            "(change) => provider.fetch({changeNumber: change, patchsetNumber: 1, changeInfo: "
            "{is_private: true}}).then((answer) => answer.links.map((link) => link.url))",
            PRIVATE,
        )
        assert url == f"{site.benchgate}/changes/gerrit~{PRIVATE}/1"
