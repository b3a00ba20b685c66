"""Badges of the list and at the head of a page."""

from __future__ import annotations

import json
import os
import re
from html import unescape
from pathlib import Path

from tests.support.reading.sample_standings import (
    AGAIN,
    MERGED,
    ON_PROBATION,
    OVERRIDDEN,
    QUEUED,
    sample_standings,
)
from tests.support.web import build_app, call, later

APP = later(lambda: build_app(sample_standings()))
EXPECTED = {
    MERGED: "✕ merged: 1 of 1 is slower, −8.1 %",
    OVERRIDDEN: "✓ +1 · overridden MB-12",
    ON_PROBATION: "✓ +1 · 1 slower, not counted until 40 A/A pairs",
    QUEUED: "… queued, 1st",
    AGAIN: "✓ +1 · queued again, 2nd",
}


def words(markup: str) -> str:
    return " ".join(unescape(re.sub("<[^>]+>", " ", markup)).split())


def head(number: int) -> str:
    found = re.search(r'<p class="sentence">.*?</p>', call(APP, "GET", f"/changes/{number}").text, re.DOTALL)
    assert found is not None
    return words(found[0])


def test_the_list_says_what_each_vote_stands_on() -> None:
    rows = re.findall(r"<tr\b(?:(?!</tr>).)*/changes/.*?</tr>", call(APP, "GET", "/").text, re.DOTALL)
    badges = {int(re.findall(r"/changes/(\d+)", row)[0]): words(row.partition("</td>")[0]) for row in rows}
    assert badges == EXPECTED


def test_the_head_of_a_page_has_the_badge_of_the_list() -> None:
    assert {number: head(number).startswith(badge) for number, badge in EXPECTED.items()} == dict.fromkeys(
        EXPECTED, True
    )


def test_the_page_of_a_merged_change_leads_with_the_builds_after_the_merge() -> None:
    page = call(APP, "GET", f"/changes/{MERGED}").text
    assert "1 of 1 result is slower; worst: TaskStatsBench/" in page
    assert "/job/kv-engine-cv-perf/35/" in page
    assert "/job/kv-engine-cv-perf/30/" not in page


def test_a_build_says_of_its_slower_results_that_they_do_not_count() -> None:
    page = words(call(APP, "GET", "/job/kv-engine-cv-perf/32/").text)
    assert "✓ SUCCESS · 1 slower, not counted until 40 A/A pairs" in page
    assert "… queued, 2nd" in words(call(APP, "GET", "/job/kv-engine-cv-perf/34/").text)


WAITS = "1st in the queue of pool perf; perf-01 takes no benchmarks: other work takes 100 % of its CPUs"


def test_the_pages_of_a_change_and_of_a_build_say_why_it_waits() -> None:
    assert head(QUEUED) == f"… queued, 1st 0 of 1 build finished; the next one is {WAITS}."
    for path in (f"/changes/{QUEUED}", "/job/kv-engine-cv-perf/33/"):
        [facts] = re.findall(r'<section class="build".*?</header>', call(APP, "GET", path).text, re.DOTALL)
        assert words(facts) == f"kv-engine-cv-perf/33 … queued, 1st {WAITS}"


def test_a_build_that_is_run_again_says_so() -> None:
    page = words(call(APP, "GET", f"/changes/{AGAIN}").text)
    assert "kv-engine-cv-perf/34 … queued again, 2nd" in page


def test_the_api_describes_what_a_build_waits_for_as_recorded() -> None:
    """Set BENCHGATE_UPDATE_GOLDEN=1 to record a wanted change."""
    build = call(APP, "GET", "/api/v1/builds/kv-engine-cv-perf/33").json()["build"]
    properties = APP.openapi()["components"]["schemas"]["Build"]["properties"]
    described = {name: properties[name] for name in ("phase", "place", "waits")}
    text = json.dumps({"build": build, "schema": described}, indent=2, ensure_ascii=False) + "\n"
    golden = Path(__file__).parent / "golden" / "queued_build.json"
    if os.environ.get("BENCHGATE_UPDATE_GOLDEN"):
        golden.write_text(text, encoding="utf-8")
    assert text == golden.read_text(encoding="utf-8")
