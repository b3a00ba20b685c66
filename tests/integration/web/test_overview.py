"""The first page: the week, what needs somebody, and how to find a change."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from html import unescape
from typing import Final

import pytest

from dashboards.review.overview import Overview
from service.domain.trunk.regression import RegressionList, RegressionState
from service.domain.trunk.week import Week
from service.ports.failures.reading import EndingKnown
from service.ports.trunk import Regression, WeekReport
from tests.support.reading.sample_standings import BUSY, sample_standings
from tests.support.reading.views import machine_view
from tests.support.trunk import shown_regression
from tests.support.web import build_pages, call

NEW: Final = shown_regression("HTB/<b>", ratio=1.081)
OPEN: Final = replace(
    shown_regression("Queue", ratio=1.02), list=RegressionList.OPEN, state=RegressionState.CONFIRMED
)
KNOWN: Final = EndingKnown(
    id=3, name="ep.expiry", bug="MB-1", expires_at=datetime(2026, 3, 5, tzinfo=UTC), is_bug_closed=False
)


def page(query: str = "", overview: Overview | None = None) -> str:
    app = build_pages(sample_standings(), overview=overview or Overview())
    return call(app, "GET", f"/{query}").text


def report(week: Week, *worst: Regression) -> Overview:
    return Overview(week=lambda _: WeekReport(week, worst))


def needs(overview: Overview | None = None) -> list[str]:
    """The lines about what needs somebody."""
    return lines_in(page("", overview))


def lines_in(text: str) -> list[str]:
    section = re.search(r'<section class="needs".*?</section>', text, re.DOTALL)
    lines = re.findall(r"<li>(.*?)</li>", section[0], re.DOTALL) if section else []
    return [unescape(re.sub("<[^>]+>", "", line)) for line in lines]


def changes_in(text: str) -> int:
    return len(re.findall(r'<a href="/changes/\d+"><bdi>', text))


def test_words_find_changes_and_stay_in_the_field() -> None:
    everything = changes_in(page())
    assert everything > 1
    assert changes_in(page("?q=no+such")) == 0
    assert "No change matches." in page("?q=no+such")
    found = page("?q=%3Cb%3E&cursor=")
    assert "<b>" not in found


def test_operators_find_changes_and_links_write_them() -> None:
    text = page()
    for written in ("owner:%22Dana+Meyer%22", "project:kv_engine", "branch:master", "vote:-1", "is:waiting"):
        assert f'href="/?q={written.replace(":", "%3A")}"' in text
    assert changes_in(page("?q=owner:%22Dana+Meyer%22")) == changes_in(text)
    assert changes_in(page("?q=is:waiting")) == 2
    assert changes_in(page("?q=project:other")) == 0


@pytest.mark.parametrize(
    ("query", "says"),
    [("is:x", "is:x: there is no such operator; there are owner:"), ("is:mine", "sign in")],
)
def test_an_operator_that_cannot_be_used_says_so_and_stays_in_the_field(query: str, says: str) -> None:
    app = build_pages(sample_standings())
    answer = call(app, "GET", f"/?q={query}")
    assert answer.status_code == 400
    assert says in unescape(answer.text.replace("<wbr>", ""))
    assert f'value="{query}"' in answer.text


def test_a_person_who_signed_in_finds_the_own_changes() -> None:
    mine = Overview(names=lambda _: ("Dana Meyer", "dana@example.com"))
    assert changes_in(page("?q=is:mine", mine)) == changes_in(page())
    assert changes_in(page("?q=-is:mine", mine)) == 0


def test_the_page_begins_with_the_week() -> None:
    week = Week(measured=41, found=1, open=2, untriaged=1)
    text = page("", report(week))
    assert '<p class="sentence">In the last 7 days, 41 merged commits were measured; regressions:' in text
    assert "In the last" not in page("?q=x", report(week))
    assert "In the last" not in page("", report(Week()))


def test_regressions_are_named_with_the_worst_of_each_list() -> None:
    week = Week(open=5, untriaged=3)
    first, second, *_ = needs(report(week, NEW, OPEN))
    assert first == "3 new regressions: the worst is HTB/<b> +8.1 %, by Ann"
    assert second == "2 open regressions: the worst is Queue +2.0 %, by Ann"


def test_builds_that_wait_say_why_and_machines_that_take_none() -> None:
    assert needs() == [
        f"2 builds wait for pool perf: the oldest since 02:06 UTC; perf-01 takes no benchmarks: {BUSY}",
        "perf-02: has not reported since 02:16 UTC",
    ]


def test_builds_that_wait_for_busy_machines_need_nobody_for_half_an_hour() -> None:
    reading = sample_standings()
    reading.machine_rows = [machine_view("perf-01", is_busy=True)]
    assert lines_in(call(build_pages(reading), "GET", "/").text) == []
    queue = reading.condition().queues[0]
    assert queue.oldest_at is not None
    later = replace(reading.condition(), now=queue.oldest_at + timedelta(days=1))
    reading.machine_rows = [machine_view("perf-01", is_busy=True, last_seen_at=later.now)]
    reading.condition = lambda: later  # type: ignore[method-assign]
    [line] = lines_in(call(build_pages(reading), "GET", "/").text)
    assert line.startswith("2 builds wait for pool perf: the oldest since ")
    assert ", 02:06 UTC" in line


def test_only_the_list_is_asked_for_again_and_not_if_nothing_matches() -> None:
    week = report(Week(measured=1, open=1, untriaged=1), NEW)
    assert 'id="list" aria-label="Changes" data-refresh=' in page("", week)
    again = page("?part=list", week)
    assert changes_in(again) == changes_in(page("", week))
    assert "Needs somebody" not in again
    assert "data-refresh" in page("?q=is:waiting")
    assert "data-refresh" not in page("?q=no+such")


def test_a_search_of_votes_says_how_far_it_looks() -> None:
    assert "Votes are searched in the 10,000 changes" in page("?q=vote:-1")
    assert "Votes are searched" not in page("?q=is:open")


def test_a_change_without_an_owner_links_to_no_search() -> None:
    reading = sample_standings()
    assert "q=owner%3A" in call(build_pages(reading), "GET", "/").text
    reading.patch_set_rows = [
        replace(each, change=replace(each.change, owner="")) for each in reading.patch_set_rows
    ]
    assert "q=owner%3A" not in call(build_pages(reading), "GET", "/").text


def test_known_failures_that_end_are_named_and_the_list_has_the_others() -> None:
    closed = replace(KNOWN, is_bug_closed=True, expires_at=datetime(2026, 5, 1, tzinfo=UTC))
    lines = needs(Overview(ending=lambda _: [KNOWN, closed]))
    assert "ep.expiry: known failure, expires on 5 March (MB-1)" in lines
    assert any("its bug is closed (MB-1); it still waives builds until 1 May" in line for line in lines)
    assert needs(Overview(ending=lambda _: [KNOWN] * 6))[-1].startswith("More known failures")
