"""Show on the pages of changes, runs, builds and machines what a reader needs."""

from __future__ import annotations

import unicodedata
from dataclasses import replace

import pytest

from service.domain.runs.states import BuildState, RunState
from service.domain.verdict.inference.verdict import Verdict
from tests.support.reading.add_patch_set import add_patch_set
from tests.support.reading.fake_reading import FakeReading
from tests.support.reading.sample_project import sample_project
from tests.support.reading.sample_standings import sample_standings
from tests.support.reading.views import build_view, change_view, comparison
from tests.support.web import GERRIT, build_app, build_pages, call, later

APP = later(lambda: build_app(sample_project(), logs={"log": b"compiled\n"}))


def test_the_notes_of_a_build_are_on_its_page_and_not_in_its_message() -> None:
    page = call(APP, "GET", "/changes/4712/2").text

    assert page.count("3 of 27 pairs were disturbed by other work") == 1
    assert page.count("15 of 21 results are the same") == 2, "among the causes, and in the message"


def test_a_vote_for_a_change_with_undecided_results_says_how_many() -> None:
    reading = FakeReading()
    change = change_view(
        7, "Stripe", run_id=1, run_state=RunState.FINISHED, vote=1, header="Build Successful"
    )
    rows = [comparison(1, "BM_wide", 1.895, Verdict.UNDECIDED), comparison(2, "BM_same", 1.0, Verdict.SAME)]
    add_patch_set(reading, change, [(build_view(1, 1), rows)])
    app = build_pages(reading)
    for path, badges in (("/", 1), ("/changes/7", 3), ("/runs/1", 3), ("/job/kv-engine-cv-perf/1/", 1)):
        text = call(app, "GET", path).text  # of the vote, the build and the decision
        assert text.count('<span class="badge busy"') == text.count("· 1 undecided</span>") == badges, path
        assert "good" not in text
    assert "BM_wide" in call(app, "GET", "/changes/7").text


def test_the_votes_of_patch_sets_with_undecided_results_say_how_many() -> None:
    text = call(APP, "GET", "/changes/4720").text
    chips = text.partition('aria-label="Patch sets"')[2].partition("</nav>")[0]
    assert chips.count('<span class="busy">') == 3
    assert chips.count("+1 · 1 undecided") == 1
    assert chips.count("+1 · 1 slower, not counted") == 2


@pytest.mark.parametrize(
    "path", ["/changes/4712", "/changes/4712/2", "/runs/41", "/job/kv-engine-cv-perf/5904/"]
)
def test_a_failed_patch_set_says_what_to_do_now(path: str) -> None:
    text = call(APP, "GET", path).text
    steps = text.partition("What now?")[2].partition("</section>")[0]
    assert [line.partition("</code>")[0] for line in steps.split("<code>")[1:]] == [
        "benchgate gate --job kv-engine-cv-perf --seed 5f0c2a7e",
        "recheck kv-engine-cv-perf",
        "accept PureFollyExecutorBench/OneShotScheduleRun/real_time/threads: REASON",
        "override kv-engine-cv-perf BUG-ID REASON",
    ]


def test_a_green_or_outdated_patch_set_proposes_no_comment() -> None:
    assert "What now?" not in call(APP, "GET", "/changes/4711").text
    outdated = call(APP, "GET", "/changes/4720/1").text
    assert 'outdated: <a href="/changes/4720/3">patch set 3</a> is the newest' in outdated


def test_a_drawing_has_a_zero_and_marks_what_lies_beyond_its_ends() -> None:
    text = call(APP, "GET", "/changes/4711").text
    assert '<span class="axis"><span>−100 %</span><span>0</span><span>+100 %</span></span>' in text
    assert '<text class="cut" x="240" y="16" text-anchor="end">×53.1 »</text>' in text
    assert text.count("▸") == text.count('class="expand"')


@pytest.mark.parametrize(
    ("path", "addresses"),
    [
        ("/", ["c/kv_engine/+/4712/2"]),
        ("/changes/4712", ["c/kv_engine/+/4712/2", f"q/{'c0ffee12' * 5}", f"q/{'9' * 40}"]),
        ("/changes/4721", [f"q/{'8' * 40}", f"q/{'7' * 40}"]),
        ("/runs/41", ["c/kv_engine/+/4712/2", f"q/{'c0ffee12' * 5}", f"q/{'9' * 40}"]),
        ("/job/kv-engine-cv-perf/5904/", [f"q/{'c0ffee12' * 5}", f"q/{'9' * 40}"]),
    ],
)
def test_changes_and_commits_are_linked_to_the_review_server(path: str, addresses: list[str]) -> None:
    text = call(build_pages(sample_project(), review_urls={"gerrit": GERRIT}), "GET", path).text
    for address in addresses:
        assert f'<a href="{GERRIT}/{address}" rel="noopener noreferrer">' in text
    assert GERRIT not in call(APP, "GET", path).text


def test_a_change_names_the_parent_that_it_was_measured_against() -> None:
    assert "against its parent <code>9999999999</code>" in call(APP, "GET", "/changes/4712").text


def test_empty_pages_explain_how_they_fill() -> None:
    empty = build_pages(FakeReading())
    assert "The first change appears here when" in call(empty, "GET", "/").text
    assert "benchgate worker --pool" in call(empty, "GET", "/machines").text
    assert "No series yet" in call(empty, "GET", "/trends").text


def test_a_machine_that_takes_no_builds_shows_its_obstacle() -> None:
    reading = sample_project()
    reading.machine_rows = [replace(reading.machine_rows[0], build=None, obstacle="others use <all> CPUs")]

    assert (
        "takes no benchmarks: others use &lt;all&gt; CPUs"
        in call(build_pages(reading), "GET", "/machines").text
    )


def test_machines_that_share_a_host_are_shown_below_its_name() -> None:
    reading = sample_project()
    first, second = reading.machine_rows
    assert "Host <bdi>perf-01" not in call(build_pages(reading), "GET", "/machines").text
    reading.machine_rows = [first, second, replace(first, name="perf-01/lint", pool="lint")]

    text = call(build_pages(reading), "GET", "/machines").text
    places = [text.index(name) for name in ("Host <bdi>perf-01", "perf-01/lint", "Host <bdi>perf-02")]
    assert places == sorted(places)


def test_the_page_of_the_machines_says_what_each_of_the_next_builds_waits_for() -> None:
    reading = sample_standings()
    running = [build_view(9000 + n, 9000 + n, state=BuildState.RUNNING) for n in range(60)]
    reading.runs[0] = replace(reading.runs[0], builds=(*reading.runs[0].builds, *running))
    text = call(build_pages(reading), "GET", "/machines").text
    waits = [f"{place} in the queue of pool perf; perf-01 takes" for place in ("1st", "2nd")]
    places = [text.index(each) for each in (">Pool <bdi>perf</bdi></h3>", *waits)]
    assert places == sorted(places)


def test_control_characters_of_a_patch_set_reach_no_page() -> None:
    hostile = "first\tline\r\n\x1b[31mred\x1b[0m\x07\x00 \u202egnp.exe\nlast"
    reading = FakeReading()
    change = change_view(
        7, "Stripe", run_id=1, run_state=RunState.FINISHED, vote=1, header="Build Successful"
    )
    add_patch_set(reading, change, [(build_view(1, 1), [])], message=hostile)
    reading.patch_set_rows = [replace(reading.patch_set_rows[0], message=hostile)]
    log = hostile.encode() + b"\xff"
    app = build_pages(replace(reading, log_bytes=len(log)), logs={"log": log})
    build = "/job/kv-engine-cv-perf/1"
    for path in ("/changes/7", "/runs/1", f"{build}/", f"{build}/log", f"{build}/log.txt"):
        text = call(app, "GET", path).text
        assert not {c for c in text if c not in "\n\t" and unicodedata.category(c) in {"Cc", "Cf"}}, path
        assert "first\tline" in text
