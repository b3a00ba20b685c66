"""Use a known failure's page with a keyboard, a screen reader or a phone."""

from __future__ import annotations

from datetime import timedelta
from importlib import resources
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect
from typing_extensions import override

from service.adapters.access.recent_answers import RecentAnswers
from service.domain.failures.evidence import Ground, Proposal, Rate, explaining_machines
from service.domain.failures.known import TriageState
from service.domain.values.search import EVERYTHING
from service.ports.failures.reading import (
    DayRow,
    EndingKnown,
    FailureReading,
    KnownDetail,
    KnownRow,
    KnownStatus,
    PatternMatches,
    SightingRow,
)
from service.steps.access.override_rights import OverrideRights
from service.steps.failures.change_known import KnownChanges
from service.web.failures.changes import PageKnownChanges
from tests.support.memory.store import MemoryStore
from tests.support.reading.sample_project import sample_project
from tests.support.reading.views import NOW
from tests.support.web import build_app, serving

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from playwright.sync_api import Page

    from service.domain.failures.known import Scope
    from service.domain.failures.output.linear import Pattern
    from service.domain.values.search import Words

pytestmark = [pytest.mark.browser, pytest.mark.timeout(120)]

HOSTS = {"perf-01": Rate(9, 12), "perf-02": Rate(0, 30)}
ROW = KnownRow(
    id=3, state=TriageState.CONFIRMED, kind="test", subject="ep_testsuite_dcp.value_eviction.comp_active",
    text="Failed: waited D; giving up\nWhich is: N", instance="review", project="kv_engine", branch="master",
    job="kv-engine-cv-perf", host="", bug="MB-37948", tracked=None, reason="known intermittent failure",
    owner="Ada L", assignee="", created_at=NOW, expires_at=NOW + timedelta(days=30), is_expired=False,
    failed=9, builds=42, since=4, last_seen_at=NOW, is_unseen=False, waives=True,
)  # fmt: skip
SEEN = tuple(
    SightingRow(
        job="kv-engine-cv-perf", number=5904 + place, machine="perf-01",
        finished_at=NOW - timedelta(hours=7 * place),
        line="1/2 Test #1: ep_testsuite_dcp.value_eviction.comp_active ***Failed", change_address=f"{place}",
        patch_set=1, run_id=41, is_waived=place == 0,
    )
    for place in range(9)
)  # fmt: skip
DETAIL = KnownDetail(
    row=ROW,
    days=(DayRow(day=NOW.date(), failed=9, builds=42),),
    sightings=SEEN,
    hosts=HOSTS,
    machines=explaining_machines(HOSTS),
    proposal=Proposal((Ground.UNRELATED_CHANGES,), 9),
    groups=("reviewers",),
    matched=3,
)


class OneKnown(FailureReading):
    """A project with one known failure."""

    @override
    def known_failures(
        self, status: KnownStatus, limit: int, words: Words = EVERYTHING, before: int | None = None
    ) -> Sequence[KnownRow]:
        return [ROW]

    @override
    def ending(self, days: int, limit: int) -> Sequence[EndingKnown]:
        return []

    @override
    def known_failure(self, known_id: int) -> KnownDetail:
        return DETAIL

    @override
    def statuses(self, words: Words = EVERYTHING) -> Mapping[KnownStatus, int]:
        return {KnownStatus.ACTIVE: 1}

    @override
    def projects(self) -> Sequence[tuple[str, str]]:
        return [("review", "kv_engine")]

    @override
    def groups_of(self, scope: Scope) -> tuple[str, ...]:
        return DETAIL.groups

    @override
    def matching(self, pattern: Pattern, scope: Scope) -> PatternMatches:
        return PatternMatches(0, 0, 0, (), is_cut=False)


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    nobody = OverrideRights(RecentAnswers({}))
    known = PageKnownChanges(KnownChanges(MemoryStore()), nobody, lambda _: OneKnown())
    with serving(build_app(sample_project(), known=known)) as address:
        yield address


@pytest.mark.parametrize("width", [1280, 390])
def test_its_figures_are_tables_with_headers_that_are_all_in_view(page: Page, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    page.goto("/failures/3")
    page.evaluate(resources.files("axe_playwright_python").joinpath("axe.min.js").read_text())
    found = page.evaluate("axe.run().then((all) => all.violations.map((v) => [v.id, v.nodes[0].html]))")
    assert found == []
    rates = page.get_by_role("group", name="Rate").locator("tbody tr")
    for place, texts in enumerate((("All", "9", "42", "21 %"), ("perf-01", "75 %"), ("perf-02", "0 %"))):
        for text in texts:
            expect(rates.nth(place)).to_contain_text(text)
    evidence = page.get_by_role("group", name="Evidence")
    for header, value in (("Unrelated changes", "9"), ("Machines with it", "1"), ("MB-37948 matched", "3")):
        row = evidence.get_by_role("row").filter(has=page.get_by_role("rowheader", name=header))
        expect(row.get_by_role("cell")).to_have_text(value)
    rights = page.locator("main th, main td").evaluate_all(
        "all => all.map(each => each.getBoundingClientRect().right)"
    )
    assert max(rights) <= width
    assert page.evaluate("document.documentElement.scrollWidth") == width


def test_the_keyboard_reaches_every_area_that_scrolls_by_its_name(page: Page) -> None:
    page.goto("/failures/3")
    for name in ("Text of the failure", "Rate", "Evidence", "Builds with it"):
        area = page.get_by_role("group", name=name, exact=True)
        expect(area).to_have_count(1)
        area.focus()
        expect(area).to_be_focused()
