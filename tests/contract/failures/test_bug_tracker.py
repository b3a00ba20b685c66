"""Hold bug trackers to one contract, the fake and Jira."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import pytest

from service.domain.values.errors import NotFound, Permanent
from service.ports.failures.bugs import Bug
from tests.support.failures.jira_model import URL, JiraModel, issue
from tests.support.failures.tracker import FakeBugTracker

if TYPE_CHECKING:
    from service.ports.failures.bugs import BugTracker

TITLE = "Intermittent failure of ep_testsuite"


class BugSite(Protocol):
    """A bug tracker in which a test can file bugs."""

    comments: list[tuple[str, str]]

    def tracker(self, *, may_post: bool = True) -> BugTracker: ...

    def file(self, key: str, state: str, *, is_done: bool) -> None: ...


class FakeSite(FakeBugTracker):
    def tracker(self, *, may_post: bool = True) -> BugTracker:
        self.url, self.may_post = URL, may_post
        return self

    def file(self, key: str, state: str, *, is_done: bool) -> None:
        self.bugs[key] = Bug(title=TITLE, state=state, is_closed=is_done, url=f"{URL}/browse/{key}")


class JiraSite(JiraModel):
    def file(self, key: str, state: str, *, is_done: bool) -> None:
        self.issues[key] = issue(key, TITLE, state, is_done=is_done)


class TestBugTracker:
    @pytest.fixture(params=[FakeSite, JiraSite])
    def site(self, request: pytest.FixtureRequest) -> BugSite:
        made: BugSite = request.param()
        made.file("MB-37948", "In Progress", is_done=False)
        made.file("MB-12", "Closed", is_done=True)
        return made

    @pytest.mark.parametrize("bug", ["MB-37948", f"{URL}/browse/MB-37948"])
    def test_a_bug_is_found_by_its_key_and_by_its_address(self, site: BugSite, bug: str) -> None:
        assert site.tracker().look(bug) == Bug(
            title=TITLE, state="In Progress", is_closed=False, url=f"{URL}/browse/MB-37948"
        )

    def test_a_closed_bug_is_reported_as_closed(self, site: BugSite) -> None:
        found = site.tracker().look("MB-12")
        assert found is not None
        assert (found.state, found.is_closed) == ("Closed", True)

    @pytest.mark.parametrize("bug", ["MB-1", "#12", "", "https://elsewhere.example.com/browse/MB-12"])
    def test_unknown_and_foreign_bugs_are_none(self, site: BugSite, bug: str) -> None:
        assert site.tracker().look(bug) is None
        with pytest.raises(NotFound):
            site.tracker().post_count(bug, "12 builds")
        assert site.comments == []

    def test_a_count_becomes_a_comment(self, site: BugSite) -> None:
        site.tracker().post_count(f"{URL}/browse/MB-12", "12 builds of 340 in 30 days\nsee the page")
        assert site.comments == [("MB-12", "12 builds of 340 in 30 days\nsee the page")]

    def test_a_posted_comment_is_not_repeated(self, site: BugSite) -> None:
        for link in ("https://ci.example.com/failures/1", "https://ci.example.com/failures/2"):
            site.tracker().post_count("MB-12", f"12 failed builds\n{link}")
        assert len(site.comments) == 1
        site.tracker().post_count("MB-37948", "12 failed builds")
        site.tracker().post_count("MB-12", "13 failed builds")
        assert len(site.comments) == 3

    def test_nothing_is_posted_unless_it_is_allowed(self, site: BugSite) -> None:
        with pytest.raises(Permanent, match="not allowed"):
            site.tracker(may_post=False).post_count("MB-12", "12 builds")
        assert site.comments == []
