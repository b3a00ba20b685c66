"""Answer each of fifteen questions of a person in at most two clicks, on pages from PostgreSQL.

A question begins on the overview or at a link of a message on Gerrit. Links and buttons are found by role and
name, as a person reads them and a screen reader says them. The answer must be visible: what is folded or
hidden is no answer. Typing into a field and Enter are not clicks.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

import pytest
from playwright.sync_api import expect

from service.domain.access.caller import Role
from tests.browser.task_site import FIRST, LAST

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from playwright.sync_api import Browser, Page

    from tests.browser.task_site import TaskSite

pytestmark = [pytest.mark.browser, pytest.mark.integration, pytest.mark.timeout(180)]
MOST_CLICKS: Final = 2
OVERVIEW: Final = "/"
MESSAGE: Final = "/runs/{run_id}#v1"  # a message of Gerrit ends with it
BUILD: Final = "/job/{job}/{number}/"  # a message has one for each build
FAILED_BUILD: Final = "/job/{failed}/"


@dataclass(frozen=True)
class Link:
    """A link to click."""

    name: str


@dataclass(frozen=True)
class Button:
    """A button to click."""

    name: str


@dataclass(frozen=True)
class Opening:
    """A summary to click, behind which the answer is folded."""

    name: str


@dataclass(frozen=True)
class Field:
    """A text to type into a field, and Enter if it is the last one."""

    label: str
    text: str
    is_last: bool = False


@dataclass(frozen=True)
class File(Link):
    """A link to click that saves a file, in which the answer is."""


@dataclass(frozen=True)
class Task:
    """A question, where it comes up, the way to its answer, and the words of the answer in their order."""

    question: str
    start: str
    way: Sequence[Link | Button | Opening | Field]
    answer: Sequence[str]


TASKS: Final = (
    Task(
        "Why did my change get −1?",
        MESSAGE,
        [],
        ["−1", "1 of 2 results is slower; worst: BM_Hash items/s −10.0 % [−12.0, −8.0], 8 pairs"],
    ),
    Task(
        "Is it real?",
        BUILD,
        [Button("Samples of BM_Hash")],
        ["BM_Hash", "slower", "−10.0 %", "[−12.0, −8.0]", "base", "patch", "pair in the order measured"],
    ),
    Task(
        "Who overrode the failure, and why?",
        OVERVIEW,
        [Link("Take the lock early")],
        ["Overrides", "Bob Reviewer", "overrode the failed builds", "the pool is old", "MB-1"],
    ),
    Task(
        "What got slower this week?",
        OVERVIEW,
        [],
        ["In the last 7 days", "1 found", "1 new regression", "BM_Scan +8.0 %, by Ann"],
    ),
    Task(
        "Which commit made BM_Scan slower since last month?",
        OVERVIEW,
        [Link("Regressions")],
        ["in the last 30 days", "BM_Scan", "+8.0 %", "Scan by blocks", "Ann"],
    ),
    Task(
        "What had the gate said before the merge?",
        OVERVIEW,
        [Link("1 new regression"), Link("BM_Scan")],
        ["This commit made BM_Scan slower", "+8.0 % [+7.0, +9.0]", "The gate had said: undecided"],
    ),
    Task(
        "How do these two commits compare?",
        OVERVIEW,
        [
            Link("Trends"),
            Link("Compare two commits"),
            Field("From", FIRST),
            Field("To", LAST, is_last=True),
        ],
        [FIRST[:10], "to", LAST[:10], "2 same", "distant commits"],
    ),
    Task(
        "How noisy is BM_Scan, and does it vote?",
        OVERVIEW,
        [Link("Benchmarks")],
        ["BM_Scan", "±1.1 %", "29 for 2 %", "yes, with a control; 0 of 40 A/A pairs"],
    ),
    Task(
        "When is it my change's turn?",
        OVERVIEW,
        [Link("Batch notifications")],
        [
            "1st in the queue of pool perf",
            "perf-01 takes no benchmarks",
            "other work takes 100 % of its CPUs",
        ],
    ),
    Task(
        "Which machine takes no benchmarks, and why?",
        OVERVIEW,
        [Link("Machines")],
        ["lint-01 takes no benchmarks", "other work takes 100 % of its CPUs"],
    ),
    Task(
        "Which known failures end soon?",
        OVERVIEW,
        [],
        ["ep.expiry", "known failure, expires on", "ep.replica", "its bug is closed"],
    ),
    Task(
        "How do I make this failure known?",
        FAILED_BUILD,
        [
            Link("Make it a known failure"),
            Field("Bug", "MB-12"),
            Field("Reason", "it waits too long"),
            Button("Override"),
        ],
        ["Requests from this page", "override linux MB-12 known-failure it waits too long", "Al Ray"],
    ),
    Task(
        "How do I repeat the measurement on my machine?",
        MESSAGE,
        [Opening("What now?")],
        ["Repeat it on your machine", "benchgate gate --job perf"],
    ),
    Task(
        "How do I get these rows into a spreadsheet?",
        BUILD,
        [File("CSV")],
        ["verdict,benchmark,metric", "slower,BM_Hash,items_per_second,executor,-10.0,-12.0,-8.0,10.0,9.0"],
    ),
    Task(
        "How do I show this row to a colleague?",
        BUILD,
        [Link("link")],  # the address of the page that it opens
        ["BM_Hash", "slower", "−10.0 %", "pair in the order measured"],
    ),
)


class Reader:
    """A person with two clicks."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.clicks = 0
        self.file = ""

    def take(self, step: Link | Button | Opening | Field) -> None:
        match step:
            case Field():
                field = self.page.get_by_role("textbox", name=step.label).first
                field.fill(step.text)
                if step.is_last:
                    field.press("Enter")
            case File():
                with self.page.expect_download() as saved:
                    self._click("link", step.name)
                self.file = saved.value.path().read_text()
            case Link():
                self._click("link", step.name)
            case Button():
                self._click("button", step.name)
            case Opening():
                self._count(step.name)
                self.page.get_by_text(step.name).filter(visible=True).first.click()

    def sees(self, *words: str) -> None:
        """Expect words in this order, with anything between them, in the saved file or on the screen."""
        shown = re.compile(".*?".join(map(re.escape, words)), re.DOTALL)
        if self.file:
            assert shown.search(self.file)
        else:
            expect(self.page.get_by_role("main")).to_contain_text(shown, use_inner_text=True)

    def _count(self, name: str) -> None:
        self.clicks += 1
        assert self.clicks <= MOST_CLICKS, f"{name} is one click too many"

    def _click(self, role: Literal["link", "button"], name: str) -> None:
        self._count(name)
        self.page.get_by_role(role, name=name).filter(visible=True).first.click()


@pytest.fixture
def reader(browser: Browser, tasks: TaskSite) -> Iterator[Reader]:
    context = tasks.sign_in(browser, Role.REVIEWER)
    yield Reader(context.new_page())
    context.close()


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.question)
def test_a_question_is_answered_in_two_clicks(reader: Reader, tasks: TaskSite, task: Task) -> None:
    reader.page.goto(task.start.format(**tasks.values))
    for step in task.way:
        reader.take(step)
    reader.sees(*task.answer)


def test_a_third_click_is_refused(reader: Reader) -> None:
    reader.page.goto(OVERVIEW)
    for link in ("Regressions", "Machines"):
        reader.take(Link(link))
    with pytest.raises(AssertionError, match="Changes is one click too many"):
        reader.take(Link("Changes"))
