"""Overrides on the pages and in the API."""

from __future__ import annotations

import re
from dataclasses import replace
from html import unescape
from itertools import product
from typing import TYPE_CHECKING, Any

import pytest

from service.domain.runs.overrides import OverrideKind
from service.domain.runs.states import RunState
from service.domain.runs.vote import Outcome, Result
from service.ports.runs.decisions import ReviewState
from tests.support.reading.add_patch_set import add_patch_set
from tests.support.reading.fake_reading import FakeReading
from tests.support.reading.sample_project import (
    HOSTILE_CHANGE,
    HOSTILE_NAMES,
    OVERRIDDEN,
    REGRESSION,
    sample_project,
)
from tests.support.reading.views import NOW, build_view, change_view, override_view
from tests.support.web import build_app, build_pages, call, later

if TYPE_CHECKING:
    from fastapi import FastAPI

APP = later(lambda: build_app(sample_project()))
OVERRIDE = "overridden by Bob Reviewer: ep_unit_tests time out on this host (https://bugs.example/MB-37948)"
ACCEPT = "CB3ExecutorBench/* accepted by Dana Meyer: safer locks are worth it"


def page(path: str) -> str:
    answer = call(APP, "GET", path)
    assert answer.status_code == 200
    return answer.text


def words(html: str) -> str:
    """The visible text of a part of a page."""
    lines = html.replace("<small", " <small")  # each is a line of its own
    return " ".join(unescape(re.sub(r"<[^>]*>", "", lines)).split())


def rows_decided(text: str) -> list[str]:
    """The rows of the section on what people decided."""
    section = text.partition('id="overrides"')[2].partition("</section>")[0]
    return re.findall(r"<tr.*?</tr>", section.partition("<tbody>")[2], re.DOTALL)


def get(path: str) -> Any:  # noqa: ANN401 - whatever JSON holds
    answer = call(APP, "GET", f"/api/v1{path}")
    assert answer.status_code == 200, answer.text
    return answer.json()


@pytest.mark.parametrize("path", [f"/changes/{OVERRIDDEN}", "/runs/52"])
def test_a_waived_build_shows_its_override(path: str) -> None:
    measured, tested = re.findall(r'<section class="build".*?</section>', page(path), re.DOTALL)
    assert ACCEPT in words(measured)
    assert OVERRIDE not in words(measured)
    assert OVERRIDE in words(tested)


@pytest.mark.parametrize("path", [f"/changes/{REGRESSION}", "/runs/41"])
def test_a_page_without_overrides_has_no_section_for_them(path: str) -> None:
    text = page(path)
    assert 'class="waived"' not in text
    assert "Overrides" not in text


def test_a_change_lists_overrides_newest_first_with_person_reason_and_bug() -> None:
    assert "\n".join(words(row) for row in rows_decided(page(f"/changes/{OVERRIDDEN}"))) == (
        "2026-11-21 02:34 Bob Reviewer overrode the failed builds ep_unit_tests time out on this host "
        "waives kv_engine.linux/77 https://bugs.example/MB-37948\n"
        "2026-11-21 02:31 Dana Meyer accepted that CB3ExecutorBench/* is slower or removed safer locks "
        "are worth it waives kv-engine-cv-perf/5910 –\n"
        "2026-11-21 02:27 Dana Meyer revoked the overrides and accepts so far –\n"
        "2026-11-21 02:22 Jo Park overrode the failed builds revoked all of it is known MB-1\n"
        "2026-11-21 02:05 Sam Okafor allowed the code to run –"
    )


def test_only_revoked_overrides_are_struck_through() -> None:
    rows = rows_decided(page(f"/changes/{OVERRIDDEN}"))
    assert ["<s>" in row for row in rows] == [False, False, False, True, False]


def test_a_bug_with_a_url_is_a_link_without_a_referrer() -> None:
    first, *others = rows_decided(page(f"/changes/{OVERRIDDEN}"))
    assert '<a href="https://bugs.example/MB-37948" rel="noopener noreferrer">' in first
    assert not [row for row in others if "noopener" in row]


@pytest.mark.parametrize(
    "bug", ["javascript:alert(1)", 'https://a" onclick="alert(1)', "data:text/html,x", "//evil.example"]
)
def test_a_bug_of_another_kind_is_text(bug: str) -> None:
    reading = FakeReading()
    add_patch_set(
        reading, change_view(1, "x"), [], overrides=[override_view(OverrideKind.OVERRIDE, "Bob", bug=bug)]
    )
    [row] = rows_decided(call(build_pages(reading), "GET", "/changes/1").text)
    assert "<a " not in row
    assert words(row).endswith(bug)


HOSTILE_OVERRIDES = list(product(OverrideKind, HOSTILE_NAMES))


@pytest.fixture(scope="module")
def hostile_pages() -> FastAPI:
    """Pages of one change for each of the hostile overrides, numbered from 1."""
    reading = FakeReading()
    for number, (kind, name) in enumerate(HOSTILE_OVERRIDES, 1):
        override = override_view(kind, name, reason=name, bug=name, filter=name, sentence=name)
        build = build_view(number, 10, outcome=Outcome.FAILED, result=Result.FAILURE, waived_by=name)
        change = change_view(number, "x", run_id=number, run_state=RunState.FINISHED, updated_at=NOW)
        revoked = replace(override, is_active=False)
        add_patch_set(reading, change, [(build, [])], overrides=[override, revoked])
    return build_pages(reading)


@pytest.mark.parametrize(
    ("number", "name"), [(number, name) for number, (_, name) in enumerate(HOSTILE_OVERRIDES, 1)]
)
def test_hostile_overrides_stay_text(hostile_pages: FastAPI, number: int, name: str) -> None:
    for path in (f"/changes/{number}", f"/runs/{number}"):
        text = call(hostile_pages, "GET", path).text
        assert not re.search(r"<img src=x|<a href=.https://evil|\u202e|\b49\b", text)
        assert words(name.replace("\u202e", "")[:60].replace("<", "&lt;")) in words(text)


def test_a_decision_shows_the_review_servers_problem_with_its_vote() -> None:
    reading = sample_project()
    note = "label not granted: <Verified>"
    reading.runs = [
        replace(
            run,
            decisions=tuple(
                replace(decision, review_state=ReviewState.SENT, review_note=note)
                for decision in run.decisions
            ),
        )
        for run in reading.runs
    ]

    text = call(build_app(reading), "GET", f"/changes/{REGRESSION}").text

    summary = text.partition('<details class="decision"')[2].partition("</summary>")[0]
    assert words(summary).endswith("posted; label not granted: <Verified>")


def test_the_api_returns_all_overrides_and_the_builds_they_waive() -> None:
    found = get(f"/changes/{OVERRIDDEN}/patch-sets/1")
    newest, *_, undone, trusted = found["overrides"]
    assert newest == {
        "kind": "override",
        "who": "Bob Reviewer",
        "reason": "ep_unit_tests time out on this host",
        "bug": "https://bugs.example/MB-37948",
        "filter": "",
        "at": "2026-11-21T02:34:00Z",
        "is_active": True,
        "waives": [{"job": "kv_engine.linux", "number": 77}],
        "sentence": OVERRIDE,
        "levels": [],
    }
    assert (undone["is_active"], trusted["kind"]) == (False, "trust")
    assert [build["waived_by"] for build in found["builds"]] == [ACCEPT, OVERRIDE]
    assert [build["waived_by"] for build in get("/runs/52")["builds"]] == [ACCEPT, OVERRIDE]
    assert get("/runs/52")["run"]["label"] == "Verified"


def test_a_build_outside_a_run_has_no_waiver() -> None:
    assert "waived_by" not in get("/builds/kv-engine-cv-perf/5910")["build"]


def test_the_api_returns_hostile_overrides_unchanged() -> None:
    found = get(f"/changes/{HOSTILE_CHANGE}/patch-sets/1")["overrides"]
    assert [each["reason"] for each in found][: len(HOSTILE_NAMES)] == list(HOSTILE_NAMES)


def test_the_document_describes_overrides() -> None:
    schemas = get("/openapi.json")["components"]["schemas"]
    assert set(schemas["Override"]["properties"]) == {
        *("kind", "who", "reason", "bug", "filter", "at", "is_active", "waives", "sentence", "levels")
    }
    assert set(schemas["OverrideKind"]["enum"]) == set(OverrideKind)
    for whole, part in (("PatchSetWithBuilds", "BuildWithComparisons"), ("RunWithBuilds", "BuildOfRun")):
        assert schemas[whole]["properties"]["builds"]["items"]["$ref"].endswith(f"/{part}")
        assert "waived_by" in schemas[part]["properties"]
