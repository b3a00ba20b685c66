"""Acting on a change from its page: the forms, the requests they store, and the attempts that are refused."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final
from urllib.parse import urlencode

import pytest

from service.adapters.access.recent_answers import RecentAnswers
from service.domain.access.caller import Role, TokenHolder
from service.domain.access.scopes import ScopeKind, TokenScope
from service.domain.project.project_file import Permission
from service.domain.review.change import Account, CommentSource
from service.domain.review.form_commands import line_of
from service.domain.runs.states import RunState
from service.domain.runs.vote import Outcome, Result
from service.domain.values.errors import Transient
from service.domain.verdict.inference.verdict import Verdict
from service.ports.review.shown import ShownRequest
from service.steps.review.offered_actions import ActionOffers
from service.web.access.tickets import ticket_for
from tests.support.access.callers import BASE_URL, Callers
from tests.support.fakes import FakeReviewServer
from tests.support.memory.store import MemoryStore
from tests.support.reading.add_patch_set import add_patch_set
from tests.support.reading.fake_reading import FakeReading
from tests.support.reading.views import NOW, build_view, change_view, comparison
from tests.support.store_samples import change
from tests.support.web import build_acting, call

if TYPE_CHECKING:
    import httpx

    from service.ports.review.shown import PatchSetDetail

PATH: Final = "/changes/7/1/actions"
FORM: Final = "application/x-www-form-urlencoded"
OVERRIDE: Final = {"action": "override", "job": "perf", "bug": "MB-1", "reason": "flaky machine"}
BLAMED: Final = ("BM_Checksum/64", "BM_Checksum/512")
SLOWER: Final = build_view(
    1,
    1,
    job="perf",
    result=Result.FAILURE,
    outcome=Outcome.SLOWER,
    blamed=BLAMED,
    permissions=tuple(Permission),
    groups={"rerun": "committers", "override": "reviewers"},
)


PEOPLE: Final = {"al@example.com": Account("1000003", "Al Ray"), "eve@example.com": Account("6", "Eve")}
MEMBERS: Final = {("1000003", "committers"), ("1000003", "reviewers")}


@dataclass
class Site:
    """An application with a change that is slower; Al is in both groups of the review server, Eve in none."""

    reading: FakeReading = field(default_factory=FakeReading)
    store: MemoryStore = field(default_factory=MemoryStore)
    callers: Callers = field(default_factory=Callers)
    accounts: FakeReviewServer = field(
        default_factory=lambda: FakeReviewServer(accounts=dict(PEOPLE), members=set(MEMBERS))
    )

    def __post_init__(self) -> None:
        with self.store.transaction() as tx:
            self.patch_set_id = tx.changes.upsert(change()).patch_set_id
        view = change_view(7, "Speed up", run_id=1, run_state=RunState.FINISHED)
        rows = [comparison(n, name, 0.8, Verdict.SLOWER) for n, name in enumerate(BLAMED, 1)]
        add_patch_set(self.reading, view, [(SLOWER, rows)])
        self.change_page(patch_set=replace(self.page.patch_set, id=self.patch_set_id))
        offers = ActionOffers(RecentAnswers({"gerrit": self.accounts}))
        access = self.callers.access()
        self.app = build_acting(self.reading, access, self.store, offers)

    @property
    def page(self) -> PatchSetDetail:
        return self.reading.patch_set_rows[0]

    def upload(self) -> None:
        """Upload a second patch set, which is slower too."""
        newer = change_view(7, "Speed up", run_id=2, run_state=RunState.FINISHED, patch_set=2)
        add_patch_set(self.reading, newer, [(replace(SLOWER, id=2, number=2), ())])

    def change_page(self, **changes: object) -> None:
        self.reading.patch_set_rows[0] = replace(self.page, **changes)  # type: ignore[arg-type]

    @property
    def requests(self) -> list[tuple[str, str, str]]:
        """The account, the name and the command of each stored request, as people write it."""
        assert all(each.source is CommentSource.PAGE for each in self.store.memory.comment)
        stored = self.store.memory.comment
        return [(each.account, each.person, line_of(each.command)) for each in stored if each.command]

    def sign_in(self, role: Role = Role.REVIEWER, subject: str = "al") -> Browser:
        return Browser(self, dict(self.callers.as_person(role, subject)))


@dataclass
class Browser:
    """The browser of a person; ``headers`` are those of a form on a page of Benchgate."""

    site: Site
    headers: dict[str, str]

    def read(self, path: str = "/changes/7/1") -> str:
        answer = call(self.site.app, "GET", path, headers=self.headers)
        assert answer.status_code == 200
        return answer.text

    def tickets(self) -> list[str]:
        return re.findall(r'name="ticket" value="([^"]+)"', self.read())

    def act(self, path: str = PATH, *, ticket: str = "", **fields: str) -> httpx.Response:
        """Send a form, with a ticket of the page unless one is given."""
        ticket = ticket or self.tickets()[0]
        return self.send(urlencode({**(fields or OVERRIDE), "ticket": ticket}), path)

    def send(self, body: str, path: str = PATH) -> httpx.Response:
        headers = {"Content-Type": FORM, **self.headers}
        return call(self.site.app, "POST", path, content=body, headers=headers)


@pytest.fixture
def site() -> Site:
    return Site()


class TestPage:
    def test_the_page_offers_the_forms_that_make_sense(self, site: Site) -> None:
        text = site.sign_in().read()
        section = text[text.index('<section class="actions"') :]
        section = section[: section.index("</section>")]
        assert re.findall(r"<summary>([^<]+)</summary>", section) == [
            "Run again: perf",
            "Accept what is slower or removed",
            "Override the failure: perf",
        ]
        assert f'<form method="post" action="{PATH}"' in section

    def test_a_slower_row_has_a_form_for_its_benchmark(self, site: Site) -> None:
        text = site.sign_in().read()
        assert re.findall(r'<summary aria-label="([^"]+)">', text) == [f"Accept: {name}" for name in BLAMED]
        for name in BLAMED:
            assert f'<input type="hidden" name="filter" value="{name}">' in text

    def test_each_form_has_a_ticket_of_its_own_and_each_response_others(self, site: Site) -> None:
        browser = site.sign_in()
        first, second = browser.tickets(), browser.tickets()
        assert len({*first, *second}) == 10

    @pytest.mark.parametrize("role", [None, Role.READER])
    def test_a_caller_who_may_not_act_sees_no_form(self, site: Site, role: Role | None) -> None:
        browser = Browser(site, {}) if role is None else site.sign_in(role)
        text = browser.read()
        assert 'method="post"' not in text
        assert "Act on this patch set" not in text

    def test_a_person_outside_the_groups_sees_why_instead_of_forms(self, site: Site) -> None:
        text = site.sign_in(subject="eve").read()
        assert 'method="post"' not in text
        words = text.replace("<wbr>", "")
        assert "Only members of reviewers may override, accept and undo; Eve is not one." in words
        assert "Only members of committers may run builds again, measure longer and cancel;" in words

    def test_while_the_review_server_is_down_the_page_says_so(self, site: Site) -> None:
        site.accounts.faults["is_member"] = Transient("connection refused")
        text = site.sign_in().read()
        assert 'method="post"' not in text
        assert "cannot say now which groups you are in (connection refused)" in text

    def test_requests_are_listed_with_their_state_and_reply(self, site: Site) -> None:
        waiting = ShownRequest(
            id=3, person="Al <b>", text="cancel", created_at=NOW, is_pending=True, answer=""
        )
        refused = replace(waiting, id=2, is_pending=False, answer="`cancel`: no run is in progress")
        site.change_page(requests=(waiting, refused, replace(refused, id=1, answer="")))
        text = Browser(site, {}).read()
        rows = re.findall(r'<tr id="m(\d)">(.*?)</tr>', text, re.DOTALL)
        assert [number for number, _ in rows] == ["3", "2", "1"]
        assert "Al &lt;b&gt;" in rows[0][1]
        assert [("waiting" in row, "no run is in progress" in row, "done" in row) for _, row in rows] == [
            (True, False, False),
            (False, True, False),
            (False, False, True),
        ]
        assert 'data-refresh="5"' in text


class TestRequest:
    def test_an_override_is_stored_by_the_account_of_the_review_server(self, site: Site) -> None:
        answer = site.sign_in().act()
        assert (answer.status_code, answer.headers["location"]) == (303, "/changes/7/1#m1")
        assert site.requests == [("1000003", "Al Ray", "override perf MB-1 flaky machine")]
        assert site.store.memory.hints == [("run_comment_commands", 1)]
        assert [each.signed_in_as for each in site.store.memory.comment] == ["al"]

    @pytest.mark.parametrize(
        ("form", "line"),
        [
            ({"action": "recheck", "job": "perf"}, "recheck perf"),
            (
                {"action": "accept", "filter": "BM_Checksum/", "reason": "so be it"},
                "accept BM_Checksum/ so be it",
            ),
            ({"action": "accept", "filter": "Checksum", "reason": "so be it"}, 'accept "Checksum" so be it'),
        ],
    )
    def test_each_form_is_a_command(self, site: Site, form: dict[str, str], line: str) -> None:
        assert site.sign_in().act(**form).status_code == 303
        assert [text for *_, text in site.requests] == [line]

    def test_the_groups_are_those_of_the_branch_when_the_command_runs(self, site: Site) -> None:
        """The page's groups are of the last run, and those of the branch may be others by now."""
        browser = site.sign_in(subject="eve")
        assert browser.tickets() == []
        assert browser.act(ticket=own_ticket(browser)).status_code == 303
        assert [account for account, *_ in site.requests] == ["6"]

    def test_a_replayed_form_is_stored_once(self, site: Site) -> None:
        browser = site.sign_in()
        ticket = browser.tickets()[0]
        assert browser.act(ticket=ticket).headers["location"] == "/changes/7/1#m1"
        again = browser.act(ticket=ticket, action="recheck", job="perf")
        assert (again.status_code, again.headers["location"]) == (303, "/changes/7/1#requests")
        assert len(site.requests) == 1


def own_ticket(browser: Browser) -> str:
    """A valid ticket of a session, although its page shows no form."""
    person = browser.site.callers.sessions.find(browser.headers["Cookie"].partition("=")[2])
    assert person is not None
    return ticket_for(person, f"POST {PATH}")


def refused(site: Site, answer: httpx.Response, status: int, *parts: str) -> None:
    assert site.store.memory.comment == []
    assert answer.status_code == status, answer.text
    problem = answer.json()
    for part in parts:
        assert part in problem["detail"]


class TestRefusals:
    @pytest.mark.parametrize(
        "headers",
        [
            {"Origin": "https://evil.example.com"},
            {"Origin": "null"},
            {"Origin": "https://bench.example.com.evil.example"},
            {"Origin": "http://bench.example.com"},
            {"Sec-Fetch-Site": "cross-site"},
            {"Sec-Fetch-Site": "same-site"},
            {},
        ],
    )
    def test_another_site_cannot_act(self, site: Site, headers: dict[str, str]) -> None:
        browser = site.sign_in()
        ticket = browser.tickets()[0]
        del browser.headers["Origin"]
        browser.headers |= headers
        refused(site, browser.act(ticket=ticket), 403, f"only pages at {BASE_URL} may send this")

    def test_no_get_acts(self, site: Site) -> None:
        browser = site.sign_in()
        query = urlencode({**OVERRIDE, "ticket": browser.tickets()[0]})
        answer = call(site.app, "GET", f"{PATH}?{query}", headers=browser.headers)
        refused(site, answer, 405)

    def test_an_expired_session_cannot_act(self, site: Site) -> None:
        browser = site.sign_in()
        ticket = browser.tickets()[0]
        site.callers.sessions.close_all("al")
        refused(site, browser.act(ticket=ticket), 401, "sign in")

    @pytest.mark.parametrize("ticket", ["x", "AAAA" * 20, "é"])
    def test_an_invented_ticket_is_refused(self, site: Site, ticket: str) -> None:
        refused(site, site.sign_in().act(ticket=ticket), 403, "this form was sent already")

    def test_a_missing_ticket_is_refused(self, site: Site) -> None:
        refused(site, site.sign_in().send(urlencode(OVERRIDE)), 403, "this form was sent already")

    def test_a_ticket_of_another_session_is_refused(self, site: Site) -> None:
        ticket = site.sign_in().tickets()[0]
        refused(site, site.sign_in().act(ticket=ticket), 403, "this form was sent already")

    def test_a_ticket_of_another_patch_set_is_refused(self, site: Site) -> None:
        browser = site.sign_in()
        ticket = browser.tickets()[0]
        site.upload()
        answer = browser.act("/changes/7/2/actions", ticket=ticket)
        refused(site, answer, 403, "this form was sent already or is out of date; reload the page")

    def test_a_members_ticket_is_useless_to_a_person_outside_the_group(self, site: Site) -> None:
        ticket_of_al = site.sign_in().tickets()[0]
        refused(site, site.sign_in(subject="eve").act(ticket=ticket_of_al), 403)

    def test_a_person_without_an_account_is_refused(self, site: Site) -> None:
        browser = site.sign_in(subject="zoe")
        answer = browser.act(ticket=own_ticket(browser))
        refused(site, answer, 403, "no account on the review server has zoe@example.com")

    def test_a_reader_is_refused(self, site: Site) -> None:
        answer = site.sign_in(Role.READER).act(ticket="x")
        refused(site, answer, 403, "this needs the role reviewer; yours is reader")

    def test_an_anonymous_caller_is_refused(self, site: Site) -> None:
        refused(site, Browser(site, {}).act(ticket="x"), 401, "this needs the role reviewer; sign in")

    @pytest.mark.parametrize("scope", [ScopeKind.READ, ScopeKind.OPERATE])
    def test_a_token_is_refused(self, site: Site, scope: ScopeKind) -> None:
        site.callers.tokens["bgt_x"] = TokenHolder(
            token_id=1, name="ci", scopes=frozenset({TokenScope(scope)})
        )
        answer = Browser(site, {"Authorization": "Bearer bgt_x"}).act(ticket="x")
        refused(site, answer, 403, "an API token cannot do this")

    def test_an_outdated_patch_set_is_refused(self, site: Site) -> None:
        browser = site.sign_in()
        ticket = browser.tickets()[0]
        site.upload()
        refused(site, browser.act(ticket=ticket), 400, "patch set 1 is outdated or its change is closed")

    def test_an_unreachable_review_server_is_a_temporary_refusal(self, site: Site) -> None:
        browser = site.sign_in()
        site.accounts.faults["account_of"] = Transient("connection refused")
        refused(site, browser.act(ticket=own_ticket(browser)), 503, "(connection refused)")

    @pytest.mark.parametrize(
        ("form", "part"),
        [
            ({"action": "cancel"}, "`cancel` does nothing on this patch set now; reload the page"),
            ({"action": "override undo"}, "`override undo` does nothing on this patch set now"),
            (
                {"action": "benchmark", "filter": "BM_", "pairs": "64"},
                "`benchmark` does nothing on this patch set now",
            ),
            ({"action": "recheck", "job": "other"}, "`recheck` does nothing on this patch set now"),
            ({"action": "recheck", "job": "all"}, "`recheck` does nothing on this patch set now"),
            ({**OVERRIDE, "job": "other"}, "`override` does nothing on this patch set now"),
            ({"action": "ok-to-test"}, "action: must be one of recheck"),
            ({"action": "hack"}, "action: must be one of recheck"),
            ({**OVERRIDE, "bug": "none"}, "override: write `override BUG-ID REASON`"),
            ({**OVERRIDE, "reason": ""}, "reason: is missing"),
        ],
    )
    def test_a_command_not_offered_is_refused(self, site: Site, form: dict[str, str], part: str) -> None:
        refused(site, site.sign_in().act(**form), 400, part)

    @pytest.mark.parametrize("end", ["\n", "\r\n", "\r", "\u2028", "\x0b", "\x85"])
    @pytest.mark.parametrize("name", ["reason", "bug"])
    def test_a_second_command_in_a_field_is_refused(self, site: Site, name: str, end: str) -> None:
        form = {**OVERRIDE, name: f"{OVERRIDE[name]}{end}cancel"}
        refused(site, site.sign_in().act(**form), 400, f"{name}: must be one line")

    def test_a_field_given_twice_is_refused(self, site: Site) -> None:
        browser = site.sign_in()
        body = urlencode([*OVERRIDE.items(), ("reason", "other"), ("ticket", browser.tickets()[0])])
        refused(site, browser.send(body), 400, "the form has a field twice")

    @pytest.mark.parametrize("path", ["/changes/8/1/actions", "/changes/7/9/actions"])
    def test_an_unknown_patch_set_is_not_found(self, site: Site, path: str) -> None:
        refused(site, site.sign_in().act(path), 404)

    def test_a_browser_gets_a_page_that_names_what_is_missing(self, site: Site) -> None:
        browser = site.sign_in(Role.READER)
        browser.headers["Accept"] = "text/html"
        answer = browser.act(ticket="x")
        assert answer.status_code == 403
        assert answer.headers["content-type"].startswith("text/html")
        assert "This needs the role reviewer; yours is reader." in answer.text
