"""From the sign-in at a provider to an override on a real Gerrit and in the audit log, in a real browser."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import pytest
from playwright.sync_api import expect
from sqlalchemy import create_engine

from service.adapters.embedded.postgres import EmbeddedPostgres
from tests.browser.conftest import browser
from tests.support.access.provider import CLIENT_ID, CLIENT_SECRET, running_provider

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Locator, Page

    from tests.e2e.gerrit.server import GerritServer, Proposal
    from tests.e2e.gerrit.site import GerritSite
    from tests.support.access.provider import Provider

__all__ = ["browser"]  # the fixture

pytestmark = [pytest.mark.nightly, pytest.mark.e2e, pytest.mark.browser, pytest.mark.timeout(300)]

ROLES: Final = {"reader": ["all"], "reviewer": ["perf"], "operator": ["ops"]}
_LOOPBACK: Final = re.compile(r"http://(localhost|127\.0\.0\.1):\d+/")
# A trigger refuses changes also to a superuser, until they switch it off.
_CHANGE_A_BYTE: Final = (
    "ALTER TABLE audit.entry DISABLE TRIGGER ALL",
    "UPDATE audit.entry SET actor = chr(ascii(actor) # 1) || substr(actor, 2) WHERE kind = 'override'",
    "ALTER TABLE audit.entry ENABLE ALWAYS TRIGGER refuse_changes",
)


@pytest.fixture(scope="module")
def provider(gerrit: GerritServer) -> Iterator[Provider]:
    """A provider; its people have the e-mail addresses of Gerrit's accounts, and other names."""
    with running_provider() as running:
        for user in ("alice", "bob", "mallory"):
            email = gerrit.description["accounts"][user]["email"]
            running.add_person(user, name="Admin", email=email, email_verified=True, groups=["perf"])
        running.add_person("olga", name="Olga Operator", groups=["ops"])
        yield running


@pytest.fixture(scope="module")
def site_settings(provider: Provider) -> dict[str, str]:
    """The settings of a Benchgate on which the provider's people sign in."""
    return {
        "BENCHGATE_OIDC_ISSUER": provider.issuer,
        "BENCHGATE_OIDC_CLIENT_ID": CLIENT_ID,
        "BENCHGATE_OIDC_CLIENT_SECRET": CLIENT_SECRET,
        "BENCHGATE_ROLE_GROUPS": json.dumps(ROLES),
    }


@pytest.fixture(scope="module")
def slower(site: GerritSite) -> Proposal:
    """A change with a −1."""
    proposal = site.gerrit.propose({"time.txt": "150"})
    site.wait_for(-1, proposal)
    return proposal


@contextmanager
def signed_in(browser: Browser, site: GerritSite, subject: str, path: str = "/") -> Iterator[Page]:
    """A page in a browser of its own; its owner signed in at the provider and came back to ``path``."""
    context = browser.new_context(base_url=site.site.base_url)
    context.set_default_timeout(30_000)
    # The provider's page asks for a style sheet from elsewhere.
    context.route(lambda url: not _LOOPBACK.match(url), lambda route: route.abort())
    page = context.new_page()
    page.goto(path)
    page.get_by_role("link", name="Sign in", exact=True).click()
    page.get_by_role("link", name="Sign in at your identity provider").click()
    page.locator("input[name=sub]").fill(subject)
    page.get_by_role("button", name="Authorize").click()
    page.wait_for_url(f"{site.site.base_url}{path}")
    yield page
    context.close()


def opened_form(page: Page) -> Locator:
    """The form that overrides the failure, opened and filled in."""
    form = page.locator("section.actions details.action", has_text="Override the failure")
    form.locator("summary").click()
    form.get_by_label("Bug").fill("MB-123")
    form.get_by_label("Reason").fill("slow on purpose")
    return form.get_by_role("button")


def verify(site: GerritSite) -> tuple[int, str]:
    """The exit code and the output of ``benchgate audit verify``."""
    command = [sys.executable, "-m", "service.cli", "audit", "verify", "--home", str(site.site.home)]
    done = subprocess.run(command, env={**os.environ}, check=False, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def change_a_byte(site: GerritSite) -> None:
    """Change a bit of who overrode, as a superuser of the database can; the second time, change it back."""
    administrator = create_engine(EmbeddedPostgres(site.site.home / "postgres").administrator_url)
    with administrator.begin() as connection:
        for statement in _CHANGE_A_BYTE:
            connection.exec_driver_sql(statement)
    administrator.dispose()


def test_a_person_signs_in_and_overrides_a_failure_on_record(
    site: GerritSite, browser: Browser, slower: Proposal
) -> None:
    with signed_in(browser, site, "bob", f"/changes/{slower.number}") as page:
        opened_form(page).click()
        page.wait_for_url(f"**/changes/{slower.number}/1#m*")
        message = site.wait_for(1, slower)
        assert "overridden by Bob Reviewer: slow on purpose (MB-123)" in message
        page.reload()
        row = page.locator("table.overrides tbody tr")
        expect(row).to_contain_text("Bob Reviewer")
        expect(row).to_contain_text("MB-123")

    with signed_in(browser, site, "olga") as page:
        page.get_by_role("link", name="Account").click()
        page.get_by_role("link", name="Audit log").click()
        entry = page.locator("tbody tr", has_text="override")
        expect(entry).to_contain_text("Bob Reviewer")
        expect(entry).to_contain_text("MB-123")

    code, output = verify(site)
    assert (code, "fault" in output) == (0, False), output
    change_a_byte(site)
    code, output = verify(site)
    assert code == 1
    assert re.search(r"^fault: entry \d+ was changed", output, re.MULTILINE), output
    change_a_byte(site)
    code, output = verify(site)
    assert code == 0, output


def test_a_person_outside_the_group_is_offered_nothing_and_refused(
    site: GerritSite, browser: Browser, slower: Proposal
) -> None:
    with signed_in(browser, site, "mallory", f"/changes/{slower.number}") as page:
        expect(page.locator("section.actions form")).to_have_count(0)
        statuses = page.evaluate(
            """async path => {
                const body = new URLSearchParams({action: "recheck", ticket: "forged"});
                const [posted, got] = [await fetch(path, {method: "POST", body}), await fetch(path)];
                return [posted.status, got.status];
            }""",
            f"/changes/{slower.number}/1/actions",
        )
        assert statuses == [403, 405]


def test_signing_out_everywhere_ends_the_session_of_another_browser(
    site: GerritSite, browser: Browser
) -> None:
    proposal = site.gerrit.propose({"time.txt": "160"})
    site.wait_for(-1, proposal)
    with (
        signed_in(browser, site, "bob", f"/changes/{proposal.number}") as other,
        signed_in(browser, site, "bob") as page,
    ):
        button = opened_form(other)
        page.get_by_role("link", name="Account").click()
        page.get_by_role("button", name="Sign out everywhere").click()
        expect(page.get_by_role("link", name="Sign in", exact=True)).to_be_visible()
        button.click()
        expect(other).to_have_title(re.compile("Not signed in"))
        other.goto(f"/changes/{proposal.number}")
        expect(other.locator("section.actions")).to_have_count(0)
    assert site.vote_on(proposal) == -1
