"""Show the page and the text of a log in chunks, also while it grows."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from dashboards.pages import create_pages
from dashboards.rendering import Pages
from service.domain.runs.states import BuildState
from service.steps.runs.check_health import HealthCheck
from service.web.application import assemble
from tests.support.access.callers import Callers
from tests.support.reading.sample_project import sample_project
from tests.support.web import build_app, build_pages, call
from tests.unit.domain.building.logs.stored import StoredBytes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fastapi import FastAPI

LOG = "/job/kv-engine-cv-perf/5904/log"
TEXT = b"first\n" + b"x" * (5 << 20) + b"\nlast"
APP = build_app(replace(sample_project(), log_bytes=len(TEXT)), logs={"log": TEXT})


def app_with(*chunks: bytes, end: bytes = b"", is_growing: bool = False) -> FastAPI:
    """The application with one log."""
    reading, stored = sample_project(), StoredBytes()
    build = reading.build("kv-engine-cv-perf", 5904).build
    reading.logs[build.id] = stored.log(*chunks, end=end, is_growing=is_growing)
    return build_pages(reading, logs=stored.found)


def lines_in(page: str) -> list[str]:
    return re.findall(
        r'id="L\d+"><a href="#L\d+">(\d+</a>.*?)</span>(?=<span class="line|<span class="gap|</pre>)', page
    )


def test_a_page_shows_lines_with_numbers_and_colours_and_nothing_is_markup() -> None:
    text = call(app_with(b"<b>one\n\x1b[1;31merror: <x>\x1b[0m!\n"), "GET", LOG).text
    assert lines_in(text) == [
        "1</a>&lt;b&gt;one",
        '2</a><span class="bold colour-red">error: &lt;x&gt;</span>!',
    ]


def test_pages_of_a_long_log_lead_to_each_other() -> None:
    app = app_with(
        *(b"".join(b"line %06d\n" % n for n in range(k, k + 50_000)) for k in range(0, 150_000, 50_000))
    )
    last = call(app, "GET", LOG).text
    assert "149999" in last
    [older] = re.findall(r'href="([^"]*)">Older lines', last)[:1]
    before = call(app, "GET", older).text
    numbers = [int(line.partition("<")[0]) for line in lines_in(before)]
    assert numbers == list(range(140_001, 145_001))
    [newer] = re.findall(r'href="([^"]*)">Newer lines', before)[:1]
    assert lines_in(call(app, "GET", newer).text)[0] == "145001</a>line 145000"
    assert lines_in(call(app, "GET", f"{LOG}?start=0").text)[0] == "1</a>line 000000"


def test_an_omitted_middle_is_reported_between_the_stored_lines() -> None:
    app = app_with(b"head\n", b"gap:134000000", b"tail\n")
    last = call(app, "GET", LOG).text
    assert "134 MB of the log are left out here" in last
    assert "134 MB in the middle are not stored" in last
    assert lines_in(last) == ["2</a>tail"]
    assert lines_in(call(app, "GET", f"{LOG}?end=5").text) == ["1</a>head"]


def test_the_text_adds_no_words_and_a_header_names_the_gaps() -> None:
    app = app_with(b"head\n", b"gap:1000", b"tail\n", end=b"end")
    answer = call(app, "GET", f"{LOG}.txt")
    assert answer.content == b"head\ntail\nend"
    assert answer.headers["benchgate-log-gaps"] == "5+1000"
    part = call(app, "GET", f"{LOG}.txt", headers={"Range": "bytes=3-6"})
    assert (part.status_code, part.content, part.headers["content-range"]) == (206, b"d\nta", "bytes 3-6/13")


def test_the_text_of_a_growing_log_is_read_on_by_ranges() -> None:
    running = app_with(b"one\n", end=b"two\nthr", is_growing=True)
    first = call(running, "GET", f"{LOG}.txt")
    assert first.content == b"one\ntwo\nthr"
    nothing = call(running, "GET", f"{LOG}.txt", headers={"Range": "bytes=11-"})
    assert (nothing.status_code, nothing.headers["content-range"]) == (416, "bytes */11")
    ended = app_with(b"one\n", b"two\nthree\n")
    more = call(ended, "GET", f"{LOG}.txt", headers={"Range": "bytes=11-"})
    assert (more.status_code, more.content) == (206, b"ee\n")
    assert more.headers["etag"] != first.headers["etag"]


def test_the_text_of_a_growing_log_has_only_what_will_stay() -> None:
    app = app_with(b"head\n", b"gap:1000", end=b"newest", is_growing=True)
    answer = call(app, "GET", f"{LOG}.txt")
    assert (answer.content, "benchgate-log-gaps" in answer.headers) == (b"head\n", False)
    assert "newest" in call(app, "GET", LOG).text


def test_a_page_of_a_running_build_leads_to_the_lines_that_come() -> None:
    text = call(app_with(b"one\n", end=b"two\nthr", is_growing=True), "GET", LOG).text
    assert f'<a href="{LOG}?start=8">Load newer lines</a>' in text
    assert 'data-next="8" data-growing data-last>' in text
    assert '<span class="line unfinished" id="L3"><a href="#L3">3</a>thr</span></pre>' in text
    assert "/static/log-" in text
    ended = call(app_with(b"one\n"), "GET", LOG).text
    assert "data-growing" not in ended
    assert "/static/log-" not in ended


def test_a_running_build_without_a_log_yet_has_a_page_that_waits_for_it() -> None:
    text = call(app_with(is_growing=True), "GET", LOG).text
    assert 'data-next="0" data-growing data-last></pre>' in text


def test_a_build_that_ended_without_a_log_has_no_page_of_it() -> None:
    reading = sample_project()
    detail = reading.build("kv-engine-cv-perf", 5904)
    reading.logs[detail.build.id] = replace(StoredBytes().log(), name="")
    assert call(build_pages(reading), "GET", LOG).status_code == 404


def test_the_search_links_each_line_with_the_text() -> None:
    app = app_with(b"one\nan Error: <b>\n", b"no\nerror 2\n")
    text = call(app, "GET", f"{LOG}?q=error").text
    assert re.findall(r'<li><a href="([^"]*)">(\d+)</a> <code>(.*?)</code>', text) == [
        (f"{LOG}?around=4#L2", "2", "an Error: &lt;b&gt;"),
        (f"{LOG}?around=21#L4", "4", "error 2"),
    ]
    exact = call(app, "GET", f"{LOG}?q=Error&exact=true").text
    assert re.findall(r'<li><a href="[^"]*">(\d+)</a>', exact) == ["2"]
    assert "None." in call(app, "GET", f"{LOG}?q=nowhere").text


def test_a_long_search_has_a_link_to_go_on() -> None:
    app = app_with(b"match\n" * 150)
    text = call(app, "GET", f"{LOG}?q=match&exact=true").text
    assert text.count("<li>") == 100
    [link] = re.findall(r'href="([^"]*)">Search on from', text)
    assert link == f"{LOG}?q=match&amp;start=600&amp;exact=true"
    assert call(app, "GET", link.replace("&amp;", "&")).text.count("<li>") == 50


@pytest.mark.parametrize("query", ["start=-1", "end=x", "start=99999999999999999999", f"q={'x' * 201}"])
def test_a_wrong_address_of_a_page_is_not_found(query: str) -> None:
    assert call(app_with(b"one\n"), "GET", f"{LOG}?{query}").status_code == 404


def test_a_place_after_the_end_shows_nothing_and_leads_back() -> None:
    text = call(app_with(b"one\n"), "GET", f"{LOG}?start=1000").text
    assert lines_in(text) == []
    assert "Older lines" in text


def test_the_page_of_a_build_shows_the_newest_lines_while_it_runs() -> None:
    app = app_with(b"one\n", end=b"two\nthr", is_growing=True)
    text = call(app, "GET", LOG.removesuffix("log")).text
    assert "below: its newest lines" in text
    assert "two\nthr</pre>" in text


def test_the_page_of_a_queued_build_says_that_the_log_will_come() -> None:
    reading = sample_project()
    sample = reading.build("kv-engine-cv-perf", 5904)
    queued = replace(sample.build, state=BuildState.QUEUED, result=None, phase="")
    reading.about[queued.id] = {"build": queued}
    text = call(build_pages(reading), "GET", LOG.removesuffix("log")).text
    assert "The log appears when a machine writes it." in text


def test_a_long_log_opens_at_its_end_on_a_page_that_leads_back() -> None:
    text = call(APP, "GET", LOG).text
    assert '<a href="/job/kv-engine-cv-perf/5904/">' in text
    assert f'<a href="{LOG}.txt">as text</a>' in text
    assert text.count("x") < (256 << 10) + 1000
    assert '<span class="line unfinished" id="L3"><a href="#L3">3</a>last</span></pre>' in text


def test_the_whole_log_is_served_as_text() -> None:
    answer = call(APP, "GET", f"{LOG}.txt", headers={"Accept-Encoding": "identity"})
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    assert answer.content == b"first\n" + b"x" * (5 << 20) + b"\nlast"
    assert answer.headers["content-length"] == str(len(answer.content))


@pytest.mark.parametrize(
    ("wanted", "part", "place"),
    [
        ("bytes=0-4", b"first", "0-4"),
        ("bytes=5242886-", b"\nlast", "5242886-5242890"),
        ("bytes=-4", b"last", "5242887-5242890"),
        ("bytes=5242887-99999999", b"last", "5242887-5242890"),
    ],
)
def test_a_range_of_a_log_is_served(wanted: str, part: bytes, place: str) -> None:
    answer = call(APP, "GET", f"{LOG}.txt", headers={"Range": wanted})
    assert (answer.status_code, answer.content) == (206, part)
    assert answer.headers["content-range"] == f"bytes {place}/5242891"


def test_a_range_beyond_the_end_of_a_log_is_refused() -> None:
    answer = call(APP, "GET", f"{LOG}.txt", headers={"Range": "bytes=5242891-"})
    assert (answer.status_code, answer.headers["content-range"]) == (416, "bytes */5242891")


@pytest.mark.parametrize("wanted", ["bytes=0-1,4-5", "lines=1-2", "bytes=-", "bytes=a-b"])
def test_a_range_of_another_form_is_ignored(wanted: str) -> None:
    assert call(APP, "HEAD", f"{LOG}.txt", headers={"Range": wanted}).status_code == 200


def test_only_the_wanted_part_of_a_log_is_read() -> None:
    taken: list[int] = []

    def chunks() -> Iterator[bytes]:
        for _ in range(64):
            taken.append(1 << 20)
            yield b"x" * (1 << 20)

    reading = replace(sample_project(), log_bytes=64 << 20)
    health = HealthCheck(reading)
    pages = create_pages(lambda _: reading, pages=Pages(health), stream_log=lambda _: chunks())
    app = assemble([pages], access=Callers().access(), version="0.1.0")
    answer = call(app, "HEAD", f"{LOG}.txt")
    assert (answer.headers["content-length"], taken) == (str(64 << 20), [])
    part = call(app, "GET", f"{LOG}.txt", headers={"Range": "bytes=2000000-2000999"})
    assert (len(part.content), sum(taken)) == (1000, 2 << 20)


def test_a_build_without_a_stored_log_is_still_shown() -> None:
    answer = call(build_pages(sample_project()), "GET", "/job/kv-engine-cv-perf/5904/")
    assert "The log is no longer stored." in answer.text
