"""Explanations of slower benchmarks: on the page of the build, on a page of its own, and in the API."""

from __future__ import annotations

import gzip
import json
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

import pytest

from service.domain.verdict.explanation.assembly import Assembly, CodeRow, Line
from service.domain.verdict.explanation.causes import Cause, Kind
from service.domain.verdict.explanation.explanation import Explanation, Part, Stack, pack
from service.web.runs.explanations import ComparedCode, ComparedInstruction, ExplainedBenchmark, GrownLine
from tests.support.reading.explained import CODE, DISASSEMBLED, EXPLAINED, SOURCE
from tests.support.reading.sample_project import sample_project
from tests.support.web import GERRIT, build_api, build_pages, call

if TYPE_CHECKING:
    from collections.abc import Callable

    from fastapi import FastAPI

    from tests.support.reading.fake_reading import FakeReading

JOB, NUMBER = "kv-engine-cv-perf", 5904
BUILD = f"/job/{JOB}/{NUMBER}/"
API = f"/api/v1/builds/{JOB}/{NUMBER}/explanations"
HOSTILE = "BM_<img src=x onerror=alert(1)>"
NINE = tuple(Part(f"f{place}", 0.01, 0.0, 0.02) for place in range(9))
LONG = replace(EXPLAINED, benchmark="BM_Long", parts=NINE)


def site(*items: Explanation) -> FastAPI:
    return site_with(pack(items))


def site_with(packed: bytes, build: Callable[[FakeReading], FastAPI] = build_pages) -> FastAPI:
    reading = sample_project()
    reading.explained[reading.build(JOB, NUMBER).build.id] = packed
    return build(reading)


def page_of(app: FastAPI, path: str = BUILD) -> str:
    answer = call(app, "GET", path)
    assert answer.status_code == 200
    return answer.text


def test_a_build_says_what_grew_in_which_functions_and_links_the_flame_graph() -> None:
    page = page_of(site(EXPLAINED, LONG))
    section = page[page.index("Why it is slower") :]
    assert "100 % more allocations (1 → 2 per iteration), in kv::Store::set" in section
    for text in ("<strong>+6.2</strong>", "[+5.5, +6.9]", "[−3.6, −2.0]", "−1.6", "in no function"):
        assert text in section
    assert f'<a href="{BUILD}why/1">Flame graph<' in section
    assert f'<a href="{BUILD}why/2">All 9 functions, flame graph<' in section
    counted = page_of(site(DISASSEMBLED, replace(DISASSEMBLED, parts=())))
    assert 'why/1">Flame graph, code<' in counted
    assert 'why/2">Code<' in counted
    assert (">f4<" in section, ">f5<" in section) == (True, False)
    assert ">f8<" in page_of(site(EXPLAINED, LONG), f"{BUILD}why/2")


def test_a_build_without_explanations_does_not_mention_them() -> None:
    assert "Why it is slower" not in page_of(build_pages(sample_project()))


def test_what_could_not_be_explained_says_why_and_links_nothing() -> None:
    page = page_of(site(Explanation("s", "BM_a", obstacle="the program is stripped")))
    assert "Not explained: the program is stripped." in page
    assert "/why/" not in page
    page = page_of(site(replace(EXPLAINED, obstacle="the time is up")))
    assert "100 % more allocations" in page
    assert "in kv::crc32c; not complete: the time is up." in page


def test_a_damaged_explanation_is_a_sentence_on_an_otherwise_whole_page() -> None:
    packed = pack([EXPLAINED])[9:]
    app = site_with(packed)
    page = page_of(app)
    assert "The explanations cannot be read: they are damaged, or a later version wrote them." in page
    assert "PureFollyExecutorBench" in page
    answer = call(app, "GET", f"{BUILD}why/1")
    assert (answer.status_code, "they are damaged" in answer.text) == (404, True)
    assert call(site_with(packed, build_api), "GET", API).json() == {
        "items": [],
        "problem": "the explanations cannot be read: they are damaged, or a later version wrote them",
    }


def test_the_page_of_a_benchmark_has_its_flame_graph_and_what_is_not_drawn() -> None:
    page = page_of(site(EXPLAINED), f"{BUILD}why/1")
    assert '<svg class="flame"' in page
    assert "kv::crc32c\n+6.2 points: 9 % → 15.2 %</title>" in page
    assert "The widest frames are drawn; 1 other, with all that it calls, is not." in page
    gone = page[page.index("no time on these paths: ") :]
    assert ">kv::Stats::add</code></bdi> <span" in gone
    assert "::evict</code></bdi></span> (2 % on the parent" in gone
    grown = page[page.index("<details><summary>Frames that grew most") : page.index("The widest frames")]
    assert (grown.count('<th scope="row">'), 'data-label="parent">9 %<' in grown) == (12, True)
    assert "No stacks are stored" in page_of(site(replace(EXPLAINED, stacks=())), f"{BUILD}why/1")


def test_the_page_has_the_code_of_both_sides_with_lines_of_the_patch_set() -> None:
    reading = sample_project()
    by_a_library = Cause(Kind.LOCKS, CODE.function, 1.0, 2.0)
    found = replace(DISASSEMBLED, causes=(by_a_library, *DISASSEMBLED.causes))
    reading.explained[reading.build(JOB, NUMBER).build.id] = pack([found])
    page = page_of(build_pages(reading, review_urls={"gerrit": GERRIT}), f"{BUILD}why/1")
    assert (page.count("<tr id="), page.count("<details><summary>21 unchanged")) == (len(CODE.rows), 1)
    row = '<tr id="i23" class="added"><td>23</td><td>+</td><td></td><td></td><td>addq $0x8,(%rdi)</td>'
    assert f"{row}<td>128</td>" in page
    for side in ("", "b"):
        assert f'<a href="{GERRIT}/c/kv_engine/+/4712/2/{SOURCE}#{side}17" rel' in page
    assert ">+128<" in page
    assert "spends in a line, in instructions. A line" in page
    assert GERRIT not in page_of(site(DISASSEMBLED), f"{BUILD}why/1")


def test_lines_are_shown_where_instructions_were_too_large_to_store() -> None:
    page = page_of(site(replace(DISASSEMBLED, assembly=CODE._replace(rows=()))), f"{BUILD}why/1")
    assert ("crc32c.cc:17" in page, "No instructions are stored" in page) == (True, True)
    assert "Code of" not in page_of(site(EXPLAINED), f"{BUILD}why/1")


def test_launches_that_do_not_show_the_slow_down_have_no_graph_and_both_pages_say_so() -> None:
    app = site(replace(EXPLAINED, parts=(), sampled=-0.004))
    says = "The launches with samples do not show where the slow-down is: the time changed by −0.40 points"
    build, own = page_of(app), page_of(app, f"{BUILD}why/1")
    assert (says in build, says in own) == (True, True)
    assert ("<svg" in own[own.index('id="flames"') :], "Not drawn, because these" in own) == (False, True)


@pytest.mark.parametrize("place", [0, 2, 21, "x"])
def test_a_place_without_an_explanation_has_no_page(place: object) -> None:
    assert call(site(EXPLAINED), "GET", f"{BUILD}why/{place}").status_code == 404


def test_hostile_names_stay_text() -> None:
    parts, stacks = (Part(HOSTILE, 0.1, 0.0, 0.2),), (Stack((HOSTILE,), 1.0, 1.1),)
    code = Assembly(
        HOSTILE, (CodeRow(HOSTILE, f"{HOSTILE} #1", 1, 1, HOSTILE, 1),), (Line(HOSTILE, 1, 1, 2),), HOSTILE
    )
    found = Explanation(
        HOSTILE, HOSTILE, sampled=0.1, parts=parts, stacks=stacks, obstacle=HOSTILE, assembly=code
    )
    app = site(found)
    for path in (BUILD, f"{BUILD}why/1"):
        assert "<img" not in page_of(app, path).replace('<img src="/static/', "")


def explained(*items: Explanation, **params: object) -> Any:  # noqa: ANN401 - whatever JSON holds
    app = site_with(pack(items or (EXPLAINED, LONG)), build_api)
    return call(app, "GET", API, params=params).json()["items"]


def test_the_api_answers_explanations_with_the_stacks_of_one_if_asked() -> None:
    plain = explained()
    assert [(each["benchmark"], each["stacks"]) for each in plain] == [("BM_Hash", None), ("BM_Long", None)]
    causes = [(each["kind"], each["base"], each["patch"]) for each in plain[0]["causes"]]
    assert causes == [("allocations", 1, 2), ("instructions", 1204, 1588)]
    part = {"function": "kv::crc32c", "growth": 0.062, "low": 0.055, "high": 0.069, "new_callee": ""}
    assert plain[0]["parts"][0] == part
    first, second = explained(stacks=2)
    assert (first["stacks"], len(second["stacks"])) == (None, len(EXPLAINED.stacks))
    widest = max(EXPLAINED.stacks, key=lambda each: max(each.base, each.patch))
    assert second["stacks"][0]["frames"] == list(widest.frames)


def test_the_api_answers_lines_always_and_instructions_with_the_stacks() -> None:
    brief, whole = (each["assembly"] for each in explained(DISASSEMBLED, DISASSEMBLED, stacks=2))
    assert brief == {
        "function": CODE.function,
        "counted": CODE.counted,
        "lines": [each._asdict() for each in CODE.lines],
        "rows": None,
    }
    assert whole == {**brief, "rows": [each._asdict() for each in CODE.rows]}
    assert explained()[0]["assembly"] is None


@pytest.mark.parametrize(("place", "status"), [(0, 422), (2, 404), (20, 404), (21, 422)])
def test_the_api_has_no_stacks_of_an_item_that_is_not_there(place: int, status: int) -> None:
    app = site_with(pack([EXPLAINED]), build_api)
    assert call(app, "GET", API, params={"stacks": place}).status_code == status


def test_names_that_are_no_text_are_answered() -> None:
    rows = json.dumps([{**Explanation("s", "b\ud800").to_mapping(), "stacks": []}])
    packed = gzip.compress(rows.encode())
    assert "<bdi>b?" in page_of(site_with(packed))
    assert call(site_with(packed, build_api), "GET", API).json()["items"][0]["benchmark"] == "b?"


def test_the_api_has_every_field_of_an_explanation() -> None:
    assert ExplainedBenchmark.model_fields.keys() == {e.name for e in fields(Explanation)} - {"touched"}
    for model, row in ((ComparedCode, Assembly), (ComparedInstruction, CodeRow), (GrownLine, Line)):
        assert model.model_fields.keys() == set(row._fields)


def test_a_build_without_explanations_has_an_empty_list() -> None:
    app = build_api(sample_project())
    assert call(app, "GET", API).json() == {"items": [], "problem": ""}
    assert call(app, "GET", API.replace("5904", "77")).status_code == 404
