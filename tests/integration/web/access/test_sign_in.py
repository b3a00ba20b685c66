"""Sign-in and sign-out in the application, with a real identity provider over HTTP."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final

import pytest

from dashboards.rendering import sign_in_page
from service.adapters.access.oidc import OidcProvider
from service.domain.access.caller import Role
from service.domain.access.needs import Need
from service.ports.access import SignInAttempt
from service.steps.access.sign_in import ProviderSignIn
from service.web.access.address import Address
from service.web.access.attempt_cookie import StoredAttempt, encode, return_path
from service.web.access.rate_limits import RateLimits
from service.web.access.route_rights import RIGHTS
from service.web.access.sign_in import CALLBACK, WaysIn, create_sign_in
from service.web.application import assemble
from tests.support.access.browser import Browser
from tests.support.access.callers import BASE_URL, Callers, who_router
from tests.support.access.provider import CLIENT_ID, CLIENT_SECRET, make_call, running_provider
from tests.support.memory.tokens import MemoryTokens

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tests.support.access.provider import Provider

SESSION: Final = "__Host-benchgate"
ATTEMPT: Final = "__Host-benchgate-sign-in"

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def provider() -> Iterator[Provider]:
    with running_provider() as running:
        running.add_person("al", name="Alice", email="al@example.com", email_verified=True, groups=["perf"])
        running.add_person("op", name="Olga", groups=["ops", "perf"])
        yield running


@pytest.fixture(scope="module")
def identity(provider: Provider) -> OidcProvider:
    return OidcProvider(provider.issuer, CLIENT_ID, CLIENT_SECRET, make_call)


class Site:
    def __init__(self, identity: OidcProvider, role_groups: Mapping[Role, list[str]]) -> None:
        self.callers = Callers()
        self.refusals: list[tuple[str, str, str]] = []
        ways = WaysIn(
            sessions=self.callers.sessions,
            tokens=MemoryTokens(),
            address=Address(BASE_URL),
            limits=RateLimits(),
            provider=ProviderSignIn(
                provider=identity,
                sessions=self.callers.sessions,
                role_groups=role_groups,
                callback=f"{BASE_URL}{CALLBACK}",
                record_refusal=lambda *refusal: self.refusals.append(refusal),
            ),
        )
        routers = [create_sign_in(ways, sign_in_page), who_router()]
        access = ways.access({**RIGHTS, ("GET", "/who"): Need.READ}, is_public=False)
        self.app = assemble(routers, access=access, version="0.1.0")

    def browser(self) -> Browser:
        return Browser(self.app)


GROUPS: Final = {Role.REVIEWER: ["perf"], Role.OPERATOR: ["ops"]}


@pytest.fixture
def site(identity: OidcProvider) -> Site:
    return Site(identity, GROUPS)


def begin(browser: Browser, wanted: str = "/who") -> str:
    """Press the link for signing in; return the provider's address."""
    answer = browser.get(f"/sign-in/begin?return={wanted}")
    assert answer.status_code == 303
    return answer.headers["location"]


def callback(query: Mapping[str, str]) -> str:
    return f"{CALLBACK}?{'&'.join(f'{name}={value}' for name, value in query.items())}"


def sign_in(browser: Browser, provider: Provider, subject: str = "al") -> None:
    answer = browser.get(callback(provider.approve(begin(browser), subject)))
    assert (answer.status_code, answer.headers["location"]) == (303, "/who")


def test_a_person_signs_in_and_returns_to_the_page_that_asked(site: Site, provider: Provider) -> None:
    browser = site.browser()
    refused = browser.get("/who")
    assert refused.headers["location"] == "/sign-in?return=%2Fwho"
    page = browser.get(refused.headers["location"])
    assert '<a class="button" href="/sign-in/begin?return=%2Fwho">' in page.text
    sign_in(browser, provider)
    assert browser.get("/who").json() == "reviewer al"
    assert ATTEMPT not in browser.cookies


@pytest.mark.parametrize(("subject", "role"), [("op", "operator"), ("al", "reviewer"), ("new", "reader")])
def test_the_groups_decide_the_role(site: Site, provider: Provider, subject: str, role: str) -> None:
    browser = site.browser()
    sign_in(browser, provider, subject)
    assert browser.get("/who").json() == f"{role} {subject}"


def test_the_cookies_are_for_this_host_only_and_scripts_cannot_read_them(
    site: Site, provider: Provider
) -> None:
    browser = site.browser()
    begun = browser.get("/sign-in/begin")
    assert begun.headers["set-cookie"].endswith("; Path=/; HttpOnly; SameSite=Lax; Max-Age=600; Secure")
    answer = browser.get(callback(provider.approve(begun.headers["location"], "al")))
    session, attempt = answer.headers.get_list("set-cookie")
    assert session.startswith(f"{SESSION}=")
    assert session.endswith("; Path=/; HttpOnly; SameSite=Lax; Max-Age=43200; Secure")
    assert attempt == f"{ATTEMPT}=; Path=/; HttpOnly; SameSite=Lax; Max-Age=0; Secure"
    assert answer.headers["cache-control"] == "no-store"


def test_signing_in_again_changes_the_secret_and_ends_the_session_before(
    site: Site, provider: Provider
) -> None:
    browser, other = site.browser(), site.browser()
    sign_in(browser, provider)
    before = browser.cookies[SESSION]
    sign_in(browser, provider)
    assert browser.cookies[SESSION] != before
    other.cookies[SESSION] = before
    assert other.get("/who").status_code == 303


def test_a_secret_that_an_attacker_planted_is_not_signed_in(site: Site, provider: Provider) -> None:
    browser, attacker = site.browser(), site.browser()
    browser.cookies[SESSION] = attacker.cookies[SESSION] = "A" * 43
    sign_in(browser, provider)
    assert attacker.get("/who").status_code == 303


def test_a_forged_state_is_refused_and_asks_the_provider_nothing(site: Site, provider: Provider) -> None:
    browser = site.browser()
    query = provider.approve(begin(browser), "al")
    answer = browser.get(callback({**query, "state": "forged"}))
    assert answer.status_code == 403
    assert "does not belong to the sign-in that this browser began last" in answer.text
    assert SESSION not in browser.cookies
    assert site.refusals == [], "anybody can send such a request"
    assert browser.get(callback(query)).status_code == 303, "and nobody else can end an attempt"


def test_the_answer_to_another_browser_signs_nobody_in(site: Site, provider: Provider) -> None:
    """Otherwise a link of an attacker would sign people in as the attacker."""
    attacker, victim = site.browser(), site.browser()
    query = provider.approve(begin(attacker), "al")
    assert victim.get(callback(query)).status_code == 403
    begin(victim)
    assert victim.get(callback(query)).status_code == 403
    assert SESSION not in victim.cookies


def test_an_answer_works_once(site: Site, provider: Provider) -> None:
    browser = site.browser()
    address = begin(browser)
    attempt = browser.cookies[ATTEMPT]
    query = provider.approve(address, "al")
    assert browser.get(callback(query)).status_code == 303
    assert browser.get(callback(query)).status_code == 403
    browser.cookies[ATTEMPT] = attempt
    assert browser.get(callback(query)).status_code == 403


def test_the_later_of_two_tabs_signs_in_and_the_earlier_says_why_it_cannot(
    site: Site, provider: Provider
) -> None:
    browser = site.browser()
    first, second = begin(browser, "/first"), begin(browser, "/second")
    early = browser.get(callback(provider.approve(first, "al")))
    assert early.status_code == 403
    assert "another tab began one later" in early.text
    late = browser.get(callback(provider.approve(second, "al")))
    assert (late.status_code, late.headers["location"]) == (303, "/second")


@pytest.mark.parametrize("cookie", ["", "x", "e30=", "bnVsbA==", "W10=", "eyJzdGF0ZSI6IDF9", "A" * 5000])
def test_a_forged_attempt_cookie_is_refused(site: Site, provider: Provider, cookie: str) -> None:
    browser = site.browser()
    query = provider.approve(begin(browser), "al")
    browser.cookies[ATTEMPT] = cookie
    assert browser.get(callback(query)).status_code == 403
    assert SESSION not in browser.cookies


@pytest.mark.parametrize(
    "wanted",
    [
        "//evil.example",
        "/\\evil.example",
        "\\\\evil.example",
        "https://evil.example",
        "evil.example",
        "javascript:alert(1)",
        "/\t/evil.example",
        "/\n/evil.example",
        "/a b",
        "/a\\..\\b",
        "",
        "/" + "a" * 2000,
        "/\x00",
        "/é",
    ],
)
def test_the_return_path_never_leads_to_another_site(wanted: str) -> None:
    assert return_path(wanted) == "/"


@pytest.mark.parametrize("wanted", ["/", "/changes/4712?q=a%20b&show=slower", "/job/x/1/#top", "/a//b"])
def test_a_path_of_benchgate_is_returned_to(wanted: str) -> None:
    assert return_path(wanted) == wanted


@pytest.mark.parametrize("wanted", ["//evil.example", "/%5Cevil.example", "https:%2F%2Fevil.example"])
def test_a_foreign_return_path_leads_to_the_first_page(site: Site, provider: Provider, wanted: str) -> None:
    browser = site.browser()
    assert "evil" not in browser.get(f"/sign-in?return={wanted}").text
    answer = browser.get(callback(provider.approve(begin(browser, wanted), "al")))
    assert answer.headers["location"] == "/"


def test_a_person_without_a_group_is_refused_and_recorded(identity: OidcProvider, provider: Provider) -> None:
    site = Site(identity, {Role.READER: ["staff"], **GROUPS})
    browser = site.browser()
    provider.add_person("eve", name="Eve <b>", groups=["guests"])
    answer = browser.get(callback(provider.approve(begin(browser), "eve")))
    assert answer.status_code == 403
    assert "No group of Eve &lt;b&gt; may sign in here; ask an operator of Benchgate to admit" in answer.text
    assert SESSION not in browser.cookies
    [(person, address, reason)] = site.refusals
    assert (person, address) == ("eve", "127.0.0.1")
    assert reason.startswith("no group of Eve <b> may sign in here")


def test_a_provider_cannot_claim_the_user_of_this_machine(site: Site, provider: Provider) -> None:
    browser = site.browser()
    provider.add_person("local", groups=["ops"])
    answer = browser.get(callback(provider.approve(begin(browser), "local")))
    assert answer.status_code == 403
    assert "ask an operator of the provider for another subject" in answer.text
    assert "group" not in answer.text


def test_a_denial_is_shown_with_its_reason(site: Site, provider: Provider) -> None:
    browser = site.browser()
    address = begin(browser)
    state = address.split("state=")[1].split("&")[0]
    answer = browser.get(callback({"error": "access_denied", "state": state}))
    assert answer.status_code == 403
    assert "The identity provider refused to sign you in: access_denied." in answer.text
    assert ATTEMPT not in browser.cookies


@pytest.mark.parametrize(
    "query",
    [
        {"error": "alice was refused by the provider: account locked"},
        {"error": "access_denied", "code": "x"},
        {"code": ""},
        {"code": "x", "iss": "https://evil.example"},
        {},
    ],
)
def test_nobody_writes_into_the_audit_log_by_a_forged_answer(site: Site, query: Mapping[str, str]) -> None:
    """The browser can invent the cookie as well as the answer, and the provider was asked nothing."""
    browser = site.browser()
    forged = SignInAttempt(url="", state="x", nonce="y", verifier="z")
    browser.cookies[ATTEMPT] = encode(StoredAttempt(forged, "/"))
    answer = browser.get(callback({"state": "x", **query}))
    assert answer.status_code == 403
    assert "identity provider" in answer.text
    assert site.refusals == []


def test_a_code_that_the_provider_refuses_is_recorded(site: Site) -> None:
    browser = site.browser()
    forged = SignInAttempt(url="", state="x", nonce="y", verifier="z")
    browser.cookies[ATTEMPT] = encode(StoredAttempt(forged, "/"))
    assert browser.get(callback({"state": "x", "code": "guessed"})).status_code == 403
    [(person, address, reason)] = site.refusals
    assert (person, address) == ("", "127.0.0.1")
    assert reason.startswith("the identity provider refused: invalid_grant")


def test_the_page_says_that_the_provider_is_down(site: Site) -> None:
    down = Site(OidcProvider("http://127.0.0.1:1", CLIENT_ID, CLIENT_SECRET, make_call), GROUPS)
    answer = down.browser().get("/sign-in/begin")
    assert answer.status_code == 503
    assert "the identity provider does not answer" in answer.text


def test_signing_out_ends_the_session_here_and_removes_the_cookie(site: Site, provider: Provider) -> None:
    browser, copy = site.browser(), site.browser()
    sign_in(browser, provider)
    copy.cookies = dict(browser.cookies)
    answer = browser.post("/sign-out")
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    assert SESSION not in browser.cookies
    assert copy.get("/who").status_code == 303


def test_signing_out_everywhere_ends_a_second_browser_and_no_other_person(
    site: Site, provider: Provider
) -> None:
    first, second, other = site.browser(), site.browser(), site.browser()
    sign_in(first, provider)
    sign_in(second, provider)
    sign_in(other, provider, "op")
    assert first.post("/sign-out/everywhere").status_code == 303
    assert second.get("/who").status_code == 303
    assert SESSION not in second.cookies
    assert other.get("/who").json() == "operator op"


@pytest.mark.parametrize("path", ["/sign-out", "/sign-out/everywhere"])
@pytest.mark.parametrize("origin", ["https://evil.example", "null"])
def test_another_site_cannot_sign_a_person_out(
    site: Site, provider: Provider, path: str, origin: str
) -> None:
    browser = site.browser()
    sign_in(browser, provider)
    assert browser.post(path, headers={"Origin": origin}).status_code == 403
    assert browser.get(path).status_code == 405
    assert browser.get("/who").json() == "reviewer al"


@pytest.mark.parametrize("wait", [timedelta(hours=2), timedelta(hours=12)])
def test_after_the_end_of_the_session_a_person_signs_in_again(
    site: Site, provider: Provider, wait: timedelta
) -> None:
    browser = site.browser()
    sign_in(browser, provider)
    site.callers.sessions.now += wait
    assert browser.get("/who").headers["location"] == "/sign-in?return=%2Fwho"
    assert browser.post("/sign-out").status_code == 401
    sign_in(browser, provider)
    assert browser.get("/who").json() == "reviewer al"


def test_flooding_the_sign_in_is_refused(site: Site, provider: Provider) -> None:
    query = provider.approve(begin(browser := site.browser()), "al")
    statuses = [site.browser().get("/sign-in/begin").status_code for _ in range(59)]
    assert set(statuses) == {303}
    for path in ("/sign-in/begin", callback(query)):
        answer = browser.get(path)
        assert answer.status_code == 429
        assert 1 <= int(answer.headers["retry-after"]) <= 60
    assert SESSION not in browser.cookies


def test_requests_that_ask_the_provider_nothing_keep_nobody_from_signing_in(
    site: Site, provider: Provider
) -> None:
    for path, status in (("/sign-in", 200), (f"{CALLBACK}?state=x&code=y", 403)):
        assert {site.browser().get(path).status_code for _ in range(100)} == {status}
    sign_in(site.browser(), provider)
