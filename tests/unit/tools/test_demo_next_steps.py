"""Follow the links that the demo prints at its end."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast
from urllib.parse import parse_qs, urlsplit

import pytest

from service.adapters.access.sign_in_secret import renew_secret
from service.cli.services.child_processes import Site
from service.web.access.attempt_cookie import return_path
from tests.support.fakes import FakeReviewServer
from tools.demo.backend import Uploaded
from tools.demo.console import ConsoleSite
from tools.demo.next_steps import closing_lines
from tools.demo.repository import Commit, DemoRepository
from tools.demo.scenario import SCENARIOS

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from service.wiring.control import Control

BASE = "http://127.0.0.1:8080"
FAILING, SLOWER = (
    Uploaded(upload.change, upload.patch_set, Commit(upload, "1" * 40, "2" * 40))
    for upload in (SCENARIOS["replica"][0], SCENARIOS["executor"][1])
)


class OnConsole:
    """The console review server of a site whose user signs in with a secret."""

    def __init__(self, home: Path) -> None:
        self.secret = renew_secret(home)
        plane = cast("Control", SimpleNamespace(server=FakeReviewServer()))
        self.site = ConsoleSite(DemoRepository(home), plane, Site(home, 8080, (), "", "", "", {}))

    def form(self, failing: Uploaded | None, slower: Uploaded | None) -> str:
        """The page to which the only link leads after signing in with the secret."""
        [link] = links(self.site.how_to_answer(failing, slower))
        parts = urlsplit(link)
        query = parse_qs(parts.query, strict_parsing=True)
        assert (parts.scheme, parts.netloc, parts.path) == ("http", "127.0.0.1:8080", "/sign-in")
        assert query["secret"] == [self.secret]
        return return_path(query["return"][0])


@pytest.fixture
def console(tmp_path: Path) -> OnConsole:
    return OnConsole(tmp_path)


def links(lines: Sequence[str]) -> list[str]:
    """The link of each line."""
    found = [re.findall(r"http\S+$", line) for line in lines]
    assert all(len(each) == 1 for each in found), lines
    return [link for (link,) in found]


def ending(
    failing: Uploaded | None = None,
    *answer: str,
    slower: Uploaded | None = None,
    has_history: bool = False,
    has_benchmarks: bool = False,
) -> tuple[str, list[str]]:
    """The heading, and the lines below it."""
    heading, *lines = closing_lines(
        BASE, answer, failing, slower, has_history=has_history, has_benchmarks=has_benchmarks
    )
    return heading, lines


def test_the_link_signs_in_and_opens_the_form_that_makes_the_failure_known(console: OnConsole) -> None:
    assert console.form(FAILING, SLOWER) == "/changes/69/1?known=replica-tests#actions"


def test_without_a_failing_test_the_slower_change_can_be_overridden(console: OnConsole) -> None:
    assert console.form(None, SLOWER) == "/changes/62/1#actions"


def test_without_a_minus_one_there_is_nothing_to_answer(console: OnConsole) -> None:
    assert console.site.how_to_answer(None, None) == []


def test_the_answer_comes_first_then_the_next_change_and_the_pages_of_the_history() -> None:
    heading, lines = ending(FAILING, "- answer", has_history=True, has_benchmarks=True)
    assert heading.endswith("What you can do now:")
    assert lines[0] == "- answer"
    assert links(lines[1:]) == [
        f"{BASE}/",
        f"{BASE}/claims",
        f"{BASE}/regressions",
        f"{BASE}/trends?q=TaskStatsBench%2FLogQTime",
    ]


def test_without_a_history_the_trends_have_what_was_measured_and_no_regressions_are_promised() -> None:
    _, lines = ending(FAILING, "- answer", has_benchmarks=True)
    assert links(lines[1:]) == [f"{BASE}/", f"{BASE}/claims", f"{BASE}/trends"]


def test_a_slower_change_leads_to_what_made_it_slower() -> None:
    _, lines = ending(slower=SLOWER, has_benchmarks=True)
    assert links(lines) == [f"{BASE}/changes/62/1", f"{BASE}/claims", f"{BASE}/trends"]


def test_without_a_minus_one_there_are_pages_to_look_at() -> None:
    heading, lines = ending(has_benchmarks=True)
    assert heading.endswith("What you can do now:")
    assert links(lines) == [f"{BASE}/claims", f"{BASE}/trends"]


def test_without_anything_to_do_there_is_no_heading_for_it() -> None:
    assert ending() == (f"done; the dashboard stays at {BASE} until Ctrl-C.", [])
