"""Claims of commit messages: on pages, in the API and in the Checks tab."""

from __future__ import annotations

import re
from dataclasses import fields, replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from markupsafe import escape

from dashboards.claims.pages import LEGENDS
from service.domain.claims.answers import Answer, AnsweredClaim
from service.domain.claims.find import find_claims
from service.domain.claims.values import NearName
from service.domain.review.change import ChangeStatus
from service.domain.runs.states import RunState
from service.domain.values.identity import ChangeKey, RunKind
from service.ports.verdict import SeriesWithPoints
from tests.support.reading.add_patch_set import add_patch_set
from tests.support.reading.claimed import CLAIMS, CONFIRMED, NEAR, NO_BENCHMARK, RENAMED, SENTENCE, SMALLER
from tests.support.reading.fake_reading import FakeReading
from tests.support.reading.sample_project import REGRESSION, sample_project
from tests.support.reading.views import NOW, change_view, series_view, trend_point
from tests.support.web import GERRIT, build_app, build_pages, call

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from fastapi import FastAPI

    from service.ports.claims import ClaimedRun

RUN, UNCLAIMED = 41, 40
ONE = "Claims of the commit message: 1 of 1 benchmark"
HOSTILE = "BM_<img src=x onerror=alert(1)>\u202e/" + "x" * 300
TITLE = '<h2 id="claims">Claims</h2>'


def site(claims: Sequence[AnsweredClaim] = CLAIMS) -> FastAPI:
    reading = sample_project()
    reading.claimed[RUN] = claims
    return build_app(reading)


def page_of(app: FastAPI, path: str = f"/runs/{RUN}") -> str:
    answer = call(app, "GET", path)
    assert answer.status_code == 200
    return answer.text


@pytest.mark.parametrize("path", [f"/runs/{RUN}", f"/changes/{REGRESSION}", f"/changes/{REGRESSION}/2"])
def test_pages_of_a_run_show_each_claim_beside_what_was_measured(path: str) -> None:
    page = page_of(site(), path)
    section = page[page.index(TITLE) : page.index("What the answers mean")]
    assert f"<p>{SENTENCE}.</p>" in section
    assert '<span aria-hidden="true">✓</span> confirmed</span>' in section
    for text in ("−37.5 %</strong><small>5,459 → 3,410 ns<", "−38.8 %</strong><small>[−39.9, −37.6]<"):
        assert text in section
    assert "+20.0 %</strong><small>164 → 197 k/s<" in section
    assert "+4.1 %</strong><small>[+3.2, +5.0] by CPU time<" in section
    assert "the program is identical on both sides" in section
    folded = section[section.index("<summary>2 values not measurable here</summary>") :]
    assert f"not measurable here</span><small>{escape(NO_BENCHMARK.obstacle)}<" in folded
    assert (folded.count("<tr>"), section.count("<tr>"), 'line">24<' in folded) == (3, 3 + 4, True)


def test_pages_and_the_api_show_the_name_that_was_measured() -> None:
    app = site([RENAMED, NEAR, replace(NEAR, near=(*NEAR.near, NearName("MapBench/Insert", ("fixture",))))])
    page = page_of(app).replace("<wbr>", "")
    assert "real time, measured as <bdi>HashTableBench/Find</bdi></small>" in page
    other = '<bdi title="HashTableBench/Insert/threads:2">HashTableBench/Insert/threads:2</bdi>'
    assert f"{NEAR.obstacle}; {other} differs in fixture and threads</small>" in page
    assert f'{other} and <bdi title="MapBench/Insert">MapBench/Insert</bdi> differ in fixture and' in page
    found = call(app, "GET", f"/api/v1/runs/{RUN}/claims").json()["items"]
    assert [each["measured_benchmark"] for each in found] == ["HashTableBench/Find", "", ""]
    assert found[1]["near"] == [
        {"benchmark": "HashTableBench/Insert/threads:2", "differs": ["fixture", "threads"]}
    ]


def test_a_run_that_compares_in_several_jobs_says_which_one_answers() -> None:
    reading = sample_project()
    reading.claimed[RUN] = CLAIMS
    place, its = next((at, each) for at, each in enumerate(reading.runs) if each.run.id == RUN)
    told = f"<small>by {CONFIRMED.job}</small>"
    assert told not in page_of(build_app(reading))
    other = replace(its.builds[0], id=4999, job="another-job")
    reading.rows[other.id] = reading.rows[its.builds[0].id]
    reading.runs[place] = replace(its, builds=(*its.builds, other))
    assert page_of(build_app(reading)).count(told) == sum(each.job == CONFIRMED.job for each in CLAIMS)


def test_a_run_without_claims_has_no_section() -> None:
    app = site()
    for path in (f"/runs/{UNCLAIMED}", f"/changes/{REGRESSION}/1"):
        assert TITLE not in page_of(app, path)


def test_answers_of_an_unfinished_run_are_those_so_far() -> None:
    reading = sample_project()
    running = next(each.run for each in reading.runs if each.run.state is RunState.RUNNING)
    reading.claimed[running.id] = [CONFIRMED]
    page = page_of(build_pages(reading), f"/runs/{running.id}")
    assert "Claims of the commit message: 1 of 1 benchmark confirmed so far." in page


def test_hostile_names_stay_text() -> None:
    many = [
        replace(CONFIRMED, benchmark=f"{HOSTILE}{nth}", metric=HOSTILE, unit=HOSTILE, line=nth)
        for nth in range(200)
    ]
    near = tuple(NearName(f"{HOSTILE}{nth}", ("fixture",)) for nth in range(2))
    page = page_of(site([*many, replace(RENAMED, measured_benchmark=HOSTILE), replace(NEAR, near=near)]))
    assert "<img" not in page.replace('<img src="/static/', "")
    assert "\u202e" not in page
    assert f"/<wbr>{'x' * 31}…{'x' * 29}199</bdi>" in page


def test_the_api_has_every_field_of_the_claims_of_a_run() -> None:
    found = call(site(), "GET", f"/api/v1/runs/{RUN}/claims").json()["items"]
    assert [each["line"] for each in found] == [each.line for each in CLAIMS]
    assert found[1].keys() == {each.name for each in fields(AnsweredClaim)}
    assert (found[1]["answer"], found[1]["ratio"], found[3]["ratio"]) == ("confirmed", 0.612, None)


def test_the_api_tells_a_run_without_claims_from_none() -> None:
    assert call(site(), "GET", f"/api/v1/runs/{UNCLAIMED}/claims").json() == {"items": []}
    assert call(site(), "GET", "/api/v1/runs/999999/claims").status_code == 404


@pytest.mark.parametrize(("state", "so_far"), [(RunState.FINISHED, ""), (RunState.RUNNING, " so far")])
def test_the_checks_tab_counts_the_claims_that_a_build_answers(state: RunState, so_far: str) -> None:
    def message(claims: Sequence[AnsweredClaim]) -> str:
        reading = sample_project()
        reading.claimed[RUN] = claims
        reading.runs = [replace(each, run=replace(each.run, state=state)) for each in reading.runs]
        where = {"change": REGRESSION, "patchset": 2}
        runs = call(build_app(reading), "GET", "/api/v1/gerrit/checks", params=where).json()["runs"]
        found = {each["checkName"]: each["results"][0]["message"] for each in runs if each.get("results")}
        return str(found["kv-engine-cv-perf"])

    counts, same, smaller = message(CLAIMS).split("\n\n")[-3:]
    assert counts == f"{SENTENCE}{so_far}."
    assert (same[:14], smaller[:27]) == ("`BM_Parse/64`:", "`TaskStatsBench/LogQTime`: ")
    old = message([replace(RENAMED, answer=Answer.SMALLER)])
    assert "`HTB/Find`, measured as `HashTableBench/Find`: claimed −37.5 % real time, " in old
    assert "Claims" not in message([replace(CONFIRMED, job="another-job")])
    assert "Claims" not in message(())
    renamed = message([RENAMED]).split("\n\n")[-2:]
    assert renamed == [f"{ONE} confirmed{so_far}.", "`HTB/Find` was measured as `HashTableBench/Find`"]
    of_build = NearName("TaskStatsBench/LogQTime", ("fixture",))
    assert "Claims" not in message([NEAR])
    assert message([replace(NEAR, near=(of_build,))]).endswith(f"; `{of_build.benchmark}` differs in fixture")


def claimed_commits() -> FakeReading:
    """Two projects with a claim each, a merged commit and an old change."""
    reading = FakeReading()
    for number, project, subject in (
        (1, "kv_engine", "Pool <b>buffers</b>"),
        (2, "couchstore", "Flush once"),
        (3, "kv_engine", "Newer"),
        (4, "kv_engine", "Long ago"),
    ):
        change = change_view(number, subject, run_id=number, run_state=RunState.FINISHED, project=project)
        add_patch_set(reading, change, [])
        reading.claimed[number] = CLAIMS if number == 1 else [SMALLER]
    for nth, finished, kind in (
        (0, NOW - timedelta(days=3), RunKind.POST_SUBMIT),
        (3, NOW - timedelta(days=91), RunKind.CHECK),
    ):
        each = reading.runs[nth]
        reading.runs[nth] = replace(each, run=replace(each.run, finished_at=finished, kind=kind))
    return reading


def test_the_page_of_claims_lists_commits_by_project_the_newest_first() -> None:
    page = page_of(build_pages(claimed_commits(), review_urls={"gerrit": GERRIT}), "/claims")
    places = [page.index(f">{each}<") for each in ("couchstore", "Flush once", "kv_engine", "Newer")]
    places.append(page.index("Pool &lt;b&gt;buffers"))
    assert places == sorted(places)
    assert "Long ago" not in page
    assert "3 commits of the last 90 days" in page
    assert '<a href="/runs/1#claims">' in page
    assert (page.count("· merged<"), page.count("· in review<")) == (1, 2)
    assert '<span aria-hidden="true">&lt;</span> 1 smaller than claimed</span>' in page
    assert f'<a href="{GERRIT}/c/kv_engine/+/1/1" rel="noopener noreferrer">1, patch set 1</a>' in page


def listed(*changes: tuple[str, str, ChangeStatus]) -> str:
    """The page of claims of these changes: instance, project, status."""
    reading = FakeReading()
    for number, (instance, project, status) in enumerate(changes, 1):
        shown = replace(
            change_view(number, f"Change {number}", run_id=number, run_state=RunState.FINISHED),
            instance=instance,
            project=project,
            status=status,
        )
        add_patch_set(reading, shown, [])
        reading.claimed[number] = [SMALLER]
    return page_of(build_pages(reading), "/claims")


def test_the_page_of_claims_tells_what_became_of_a_change() -> None:
    page = listed(*(("gerrit", "kv", status) for status in ChangeStatus))
    found = re.findall(r"Change (\d)</bdi>.*?master · ([a-z ]+)<", page)
    assert sorted(found) == [("1", "in review"), ("2", "change merged"), ("3", "change abandoned")]


def test_projects_of_other_case_or_of_another_server_have_tables_of_their_own() -> None:
    places = (("a", "kv"), ("b", "kv"), ("a", "KV"), ("a", "b"))
    page = listed(*((*each, ChangeStatus.NEW) for each in places))
    assert re.findall(r"<h2>(.*)</h2>", page) == ["KV", "b", "kv on a", "kv on b"]


@pytest.mark.parametrize("count", [100, 101])
def test_only_the_newest_commits_with_claims_are_listed(count: int) -> None:
    page = listed(*[("gerrit", "kv", ChangeStatus.NEW)] * count)
    assert page.count("#claims") == 100
    assert ("The newest 100 commits of the last" in page) is (count > 100)


def test_a_commit_with_claims_of_another_version_says_so() -> None:
    class Later(FakeReading):
        def recent_claims(self, since: datetime, limit: int) -> Sequence[ClaimedRun]:
            return [replace(each, claims=()) for each in super().recent_claims(since, limit)]

    reading = Later()
    add_patch_set(reading, change_view(1, "One", run_id=1, run_state=RunState.FINISHED), [])
    reading.claimed[1] = [SMALLER]
    assert "of another version of Benchgate" in page_of(build_pages(reading), "/claims")


def test_claims_of_a_hidden_change_are_not_listed() -> None:
    reading = claimed_commits()
    reading.hidden.add(ChangeKey("gerrit", 3))
    assert "Newer" not in page_of(build_pages(reading.seen_by(None)), "/claims")


def test_a_trend_tells_how_the_claims_of_its_merged_commits_held() -> None:
    reading = claimed_commits()
    runs = [
        (1, RunKind.POST_SUBMIT),
        (2, RunKind.CHECK),
        (None, RunKind.POST_SUBMIT),
        (9, RunKind.POST_SUBMIT),
    ]
    points = tuple(trend_point(nth, 1.0, run_id=run, kind=kind) for nth, (run, kind) in enumerate(runs))
    reading.trends = [SeriesWithPoints(series_view(number, f"BM_{number}"), points) for number in (1, 2)]
    app = build_pages(reading)
    page = page_of(app, "/trends?series=1&range=all")
    assert page.count("#claims") == 1
    assert f'<small><a href="/runs/1#claims">{SENTENCE}</a></small>' in page
    assert "#claims" not in page_of(app, "/trends?series=1&series=2&range=all")
    cards = call(app, "GET", "/trends/1/figure.json?range=all").json()["cards"]
    told = [(each["claims"], each["run"]) for each in cards if "claims" in each]
    assert (len(cards), told) == (4, [(SENTENCE, "/runs/1#claims")])


def test_without_claims_the_page_says_what_one_is_with_an_example_that_is_read() -> None:
    page = page_of(build_pages(FakeReading()), "/claims")
    example = page[page.index("<pre>") + len("<pre>") : page.index("</pre>")]
    claims = find_claims(f"parse: Skip spaces at once\n\n{example}\n").claims
    assert {each.benchmark for each in claims} == {"BM_Parse/64"}
    assert "22.6 %" in page


def test_each_answer_has_a_sign_of_its_own_and_a_meaning() -> None:
    assert LEGENDS.keys() == set(Answer)
    assert len({each.sign for each in LEGENDS.values()}) == len(LEGENDS)
    page = page_of(build_pages(FakeReading()), "/claims")
    documented = (Path(__file__).parents[3] / "docs/user/claims.md").read_text(encoding="utf-8")
    for answer, legend in LEGENDS.items():
        assert f"{answer}</span></dt><dd>{legend.meaning}<" in page.replace("\n", "")
    table = re.findall(r"^\| ([a-z ]+) \| (.+) \|$", documented, re.MULTILINE)
    assert table[0] == ("answer", "meaning")
    assert table[1:] == [(str(answer), legend.meaning) for answer, legend in LEGENDS.items()]
