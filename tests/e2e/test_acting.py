"""From a form of the change's page to a new vote, through real processes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.access.page_forms import form_of, signed_in

if TYPE_CHECKING:
    from collections.abc import Iterator

    import httpx

    from tests.e2e.conftest import RunningSite

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def browser(running: RunningSite) -> Iterator[httpx.Client]:
    """The browser of the user of this machine, signed in."""
    with signed_in(running, "Somebody Else") as client:
        yield client


@pytest.fixture(scope="module")
def change(running: RunningSite) -> int:
    """The number of a change with a −1."""
    running.feed(running.project.propose(10, {"time.txt": "150"}).event())
    assert running.wait_for_vote(10) == -1
    return 10


def test_an_override_on_the_page_turns_the_vote(
    running: RunningSite, browser: httpx.Client, change: int
) -> None:
    path, fields = form_of(browser, change, "override")
    answer = browser.post(path, data={**fields, "bug": "MB-123", "reason": "slow on purpose"})
    place, _, anchor = answer.headers["location"].partition("#")
    assert (answer.status_code, place) == (303, f"/changes/{change}/1")
    running.wait(lambda: running.vote(change) == 1, "the +1")
    # The name is that of the account on the review server, and not the one that the session claims.
    assert "overridden by local: slow on purpose (MB-123)" in running.messages(change)[-1].replace("\\", "")
    page = browser.get(f"/changes/{change}").text
    assert f'id="{anchor}"' in page
    assert "override tiny-perf MB-123 slow on purpose" in page
    assert "Somebody Else" not in page


def test_the_override_is_undone_on_the_page(running: RunningSite, browser: httpx.Client, change: int) -> None:
    running.wait(lambda: running.vote(change) == 1, "the +1")
    path, fields = form_of(browser, change, "override undo")
    assert browser.post(path, data=fields).status_code == 303
    running.wait(lambda: running.vote(change) == -1, "the −1")
    before = len(running.messages(change))
    assert browser.post(path, data=fields).status_code in {303, 400}
    assert len(running.messages(change)) == before


def test_another_site_cannot_act(running: RunningSite, browser: httpx.Client, change: int) -> None:
    running.wait(lambda: running.vote(change) == -1, "the −1")
    path, fields = form_of(browser, change, "override")
    answer = browser.post(
        path,
        data={**fields, "bug": "MB-1", "reason": "forged by another site"},
        headers={"Origin": "https://evil.example.com"},
    )
    assert answer.status_code == 403
    assert not any("forged" in message for message in running.messages(change))
