"""Serve pages and API if two review servers both have a change 1."""

from __future__ import annotations

from dataclasses import replace

import pytest

from service.domain.runs.states import RunState
from tests.support.reading.add_patch_set import add_patch_set
from tests.support.reading.fake_reading import FakeReading
from tests.support.reading.views import build_view, change_view
from tests.support.web import build_app, call, later


def two_servers() -> FakeReading:
    reading = FakeReading()
    for place, instance in enumerate(("core", "edge"), start=1):
        change = change_view(
            1,
            f"A change of {instance}",
            id=place,
            instance=instance,
            run_id=40 + place,
            run_state=RunState.FINISHED,
        )
        add_patch_set(reading, change, [(build_view(place, 70 + place), [])])
        add_patch_set(reading, replace(change, patch_set=2, revision=f"{place}" * 40, run_id=None), [])
    return reading


APP = later(lambda: build_app(two_servers()))


@pytest.mark.parametrize("path", ["/changes/1", "/changes/1/1"])
def test_a_number_that_both_have_is_a_page_that_links_both(path: str) -> None:
    answer = call(APP, "GET", path)
    assert answer.status_code == 404
    assert "Several review servers have a change 1: core~1, edge~1." in answer.text
    for address in ("core~1", "edge~1"):
        assert f'<a href="/changes/{address}">{address}</a>' in answer.text


@pytest.mark.parametrize("path", ["1", "1/patch-sets", "1/patch-sets/1"])
def test_a_number_that_both_have_is_a_problem_that_names_both(path: str) -> None:
    answer = call(APP, "GET", f"/api/v1/changes/{path}")
    assert (answer.status_code, answer.headers["content-type"]) == (404, "application/problem+json")
    assert answer.json()["detail"] == "several review servers have a change 1: core~1, edge~1"


@pytest.mark.parametrize(("instance", "run"), [("core", 41), ("edge", 42)])
def test_pages_of_a_change_link_only_to_its_own(instance: str, run: int) -> None:
    other = {"core": "edge", "edge": "core"}[instance]
    for path in (f"/changes/{instance}~1", f"/changes/{instance}~1/1", f"/runs/{run}"):
        text = call(APP, "GET", path).text
        assert f"A change of {instance}" in text
        assert f'"/changes/{instance}~1/1"' in text
        assert f"/changes/{other}" not in text
        assert "/changes/1" not in text


def test_the_list_links_both() -> None:
    text = call(APP, "GET", "/").text
    for instance in ("core", "edge"):
        assert f'<a href="/changes/{instance}~1"><bdi>A change of {instance}</bdi></a>' in text
        assert f"{instance}~1, patch set 2" in text


@pytest.mark.parametrize("instance", ["core", "edge"])
def test_the_api_answers_the_change_of_the_named_server(instance: str) -> None:
    change = call(APP, "GET", f"/api/v1/changes/{instance}~1").json()["change"]
    assert (change["instance"], change["number"], change["address"]) == (instance, 1, f"{instance}~1")
    detail = call(APP, "GET", f"/api/v1/changes/{instance}~1/patch-sets/1").json()
    assert [run["change_address"] for run in detail["runs"]] == [f"{instance}~1"]
    assert detail["change"]["subject"] == f"A change of {instance}"
    measured = call(APP, "GET", f"/api/v1/changes/{instance}~1/patch-sets")
    assert measured.json() == {"items": [], "next": None}


@pytest.mark.parametrize("path", ["/changes/none~1", "/changes/core~2", "/changes/core~x", "/changes/~1"])
def test_an_address_that_names_no_change_is_not_found(path: str) -> None:
    answer = call(APP, "GET", path)
    assert answer.status_code == 404
    assert "/changes/" not in answer.text


def test_a_bare_number_that_one_server_has_is_found() -> None:
    reading = two_servers()
    add_patch_set(reading, change_view(9, "Only of core", instance="core"), [])
    assert "Only of core" in call(build_app(reading), "GET", "/changes/9").text


def test_links_to_a_review_server_lead_to_the_own_one() -> None:
    urls = {"core": "https://core.example", "edge": "https://edge.example"}
    app = build_app(two_servers(), review_urls=urls)
    for instance, run in (("core", 41), ("edge", 42)):
        build = f"/job/kv-engine-cv-perf/{run + 30}/"
        for path in (f"/changes/{instance}~1/1", f"/runs/{run}", build):
            text = call(app, "GET", path).text
            assert {name for name, url in urls.items() if url in text} == {instance}
    text = call(app, "GET", "/").text
    for url in urls.values():
        assert f'{url}/c/kv_engine/+/1/2"' in text
