from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from service.domain.measuring.metric import Better
from service.domain.project.job_kinds import JobKind
from service.domain.review.links import Links
from service.domain.runs.states import BuildState, RunState
from service.domain.runs.vote import CONSEQUENCES, Outcome, Result
from service.domain.values.identity import RunKind
from service.domain.verdict.inference.verdict import Verdict
from service.ports.runs.shown import RunWithBuilds
from service.web.application import assemble
from service.web.review.checks import create_gerrit_checks
from tests.support.access.callers import Callers
from tests.support.reading.add_patch_set import add_patch_set
from tests.support.reading.fake_reading import FakeReading
from tests.support.reading.sample_project import HOSTILE_CHANGE, HOSTILE_NAMES, REGRESSION, sample_project
from tests.support.reading.views import build_view, change_view, comparison, machine_view
from tests.support.web import call

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fastapi import FastAPI

    from service.ports.runs.shown import BuildOfRun
    from service.ports.verdict import Comparison

LINKS = Links("https://perf.example/")
PATH = "/api/v1/gerrit/checks"
JOB = "kv-engine-cv-perf"
OVERRIDDEN_BY = "overridden by Dana Meyer: known noise (MB-1)"


def app_of(reading: FakeReading) -> FastAPI:
    routers = [create_gerrit_checks(lambda _: reading, LINKS, {})]
    return assemble(routers, access=Callers().access(), version="0.1.0")


def checks(reading: FakeReading, change: int = 1, patchset: int = 1) -> Any:  # noqa: ANN401 - whatever JSON holds
    answer = call(app_of(reading), "GET", PATH, params={"change": change, "patchset": patchset})
    assert answer.status_code == 200, answer.text
    found = answer.json()
    assert found["responseCode"] == "OK"
    return found["runs"]


def one_result(build: BuildOfRun, rows: Sequence[Comparison] = ()) -> Any:  # noqa: ANN401 - ditto
    reading = FakeReading()
    change = change_view(1, "x", run_id=1, run_state=RunState.FINISHED)
    add_patch_set(reading, change, [(build, rows)])
    [run] = checks(reading)
    assert run["status"] == "COMPLETED"
    return run["results"][0] if run["results"] else None


def build_that(outcome: Outcome, **more: object) -> BuildOfRun:
    return build_view(7, 70, outcome=outcome, result=CONSEQUENCES[outcome].result, **more)


def reading_of(*runs: Sequence[BuildOfRun]) -> FakeReading:
    """A patch set with runs of these builds, oldest first."""
    reading = FakeReading()
    change = change_view(1, "x", run_id=1, run_state=RunState.FINISHED, patch_set=1)
    add_patch_set(reading, change, [(build, []) for build in runs[0]])
    first = reading.runs.pop().run
    for number, builds in enumerate(runs, start=1):
        is_finished = all(build.state is BuildState.FINISHED for build in builds)
        run = replace(first, id=number, state=RunState.FINISHED if is_finished else RunState.RUNNING)
        reading.runs.append(RunWithBuilds(run, tuple(builds), ()))
    return reading


def test_a_regression_is_an_error_with_its_figures_and_its_pages() -> None:
    measured, idle = checks(sample_project(), REGRESSION, 2)
    assert (measured["checkName"], measured["attempt"], measured["externalId"]) == (JOB, 1, f"{JOB}/5904")
    assert (measured["change"], measured["patchset"], measured["labelName"]) == (REGRESSION, 2, "Verified")
    assert measured["checkLink"] == f"https://perf.example/job/{JOB}/5904/"
    assert measured["startedTimestamp"] == "2026-11-21T02:08:00Z"
    [result] = measured["results"]
    assert result["category"] == "ERROR"
    assert result["summary"].startswith("2 of 21 results are slower; worst: PureFollyExecutorBench/OneShot")
    assert len(result["summary"]) == 80
    assert result["message"].count("\n\n") == 4
    assert [(tag["name"], tag["color"]) for tag in result["tags"]] == [
        ("−12.3 %", "pink"),
        ("perf-01", "gray"),
    ]
    assert result["tags"][0]["tooltip"].endswith("threads:4 items/s [−12.8, −11.8]")
    assert [(link["url"], link["primary"]) for link in result["links"]] == [
        (f"https://perf.example/job/{JOB}/5904/", True),
        ("https://perf.example/runs/41", False),
        ("https://perf.example/changes/4712/2#actions", False),
        (f"https://perf.example/job/{JOB}/5904/#log", False),
    ]
    assert (idle["checkName"], idle["status"], idle["results"]) == ("kv_engine.docs", "COMPLETED", [])
    assert idle["statusDescription"] == "not built: no path that concerns this job was touched"
    assert "startedTimestamp" not in idle


@pytest.mark.parametrize(
    ("outcome", "category"),
    [
        (Outcome.PASSED, "SUCCESS"),
        (Outcome.FAILED, "ERROR"),
        (Outcome.SLOWER, "ERROR"),
        (Outcome.MEASURED_NOTHING, "ERROR"),
        (Outcome.BROKEN, "ERROR"),
        (Outcome.REMOVED, "ERROR"),
        (Outcome.UNDECIDED, "WARNING"),
        (Outcome.UNDECIDED_WITHHELD, "WARNING"),
        (Outcome.NO_PARENT, "INFO"),
        (Outcome.CONFLICT, "WARNING"),
        (Outcome.PARENT_BROKEN, "WARNING"),
        (Outcome.MISCONFIGURED, "WARNING"),
        (Outcome.INFRASTRUCTURE, "WARNING"),
        (Outcome.CANCELLED, "INFO"),
        (Outcome.NOT_BUILT, None),
    ],
)
def test_every_outcome_has_its_category(outcome: Outcome, category: str | None) -> None:
    result = one_result(build_that(outcome))
    assert (result and result["category"]) == category


def test_every_outcome_has_a_result() -> None:
    for outcome in Outcome:
        one_result(build_that(outcome))


@pytest.mark.parametrize(
    ("rows", "category", "figure"),
    [
        (
            [comparison(1, "a", 1.214, Verdict.FASTER), comparison(2, "b", 1.3, Verdict.FASTER)],
            "INFO",
            "+30.0 %",
        ),
        (
            [comparison(1, "a", 0.99, Verdict.SLOWER), comparison(2, "b", 1.3, Verdict.FASTER)],
            "INFO",
            "−1.0 %",
        ),
        (
            [
                comparison(1, "a", 0.985, Verdict.SLOWER),
                comparison(2, "bytes", 1.042, Verdict.SLOWER, metric="bytes", unit="B", better=Better.LOWER),
            ],
            "INFO",
            "+4.2 %",
        ),
        ([comparison(1, "a", 1.001, Verdict.SAME), comparison(2, "b", None, Verdict.NEW)], "SUCCESS", None),
        ([comparison(1, "a", 0.0, Verdict.SLOWER)], "SUCCESS", None),
    ],
)
def test_the_worst_row_is_the_figure_of_a_passed_build(
    rows: list[Comparison], category: str, figure: str | None
) -> None:
    result = one_result(build_that(Outcome.PASSED), rows)
    assert result["category"] == category
    assert [tag["name"] for tag in result["tags"]] == [*([figure] if figure else []), "perf-01"]


def test_an_infrastructure_failure_has_a_tag() -> None:
    build = build_that(
        Outcome.INFRASTRUCTURE, causes=("the machine stopped responding 3 times",), machine=None
    )
    result = one_result(build)
    assert (result["summary"], result["category"]) == ("the machine stopped responding 3 times", "WARNING")
    assert [tag["name"] for tag in result["tags"]] == ["infra"]
    assert "message" not in result


def test_a_failure_without_a_vote_is_a_warning() -> None:
    reading = reading_of([build_that(Outcome.SLOWER, is_voting=False)])
    [run] = checks(reading)
    assert run["results"][0]["category"] == "WARNING"
    assert "labelName" not in run


@pytest.mark.parametrize(
    ("state", "more", "status", "description"),
    [
        (
            BuildState.QUEUED,
            {"machine": None},
            "SCHEDULED",
            "1st in the queue of pool perf; no machine of this pool has registered",
        ),
        (BuildState.RUNNING, {"phase": "pair 11 of 32"}, "RUNNING", "pair 11 of 32 on perf-01"),
        (BuildState.RUNNING, {"phase": "", "machine": None}, "RUNNING", "running"),
        (BuildState.EXECUTED, {}, "RUNNING", "measured on perf-01; analysing the results"),
    ],
)
def test_an_unfinished_build_shows_its_state(
    state: BuildState, more: dict[str, object], status: str, description: str
) -> None:
    build = build_view(7, 70, state=state, outcome=None, result=None, finished_at=None, **more)
    [run] = checks(reading_of([build]))
    assert (run["status"], run["statusDescription"], run["results"]) == (status, description, [])
    assert "finishedTimestamp" not in run


def test_a_queued_build_shows_when_it_is_expected_to_begin() -> None:
    queued = {"state": BuildState.QUEUED, "outcome": None, "result": None, "finished_at": None}
    reading = reading_of([build_view(7, 70, machine=None, wait=480.0, **queued)])
    reading.machine_rows.append(machine_view("perf-01"))
    [run] = checks(reading)
    assert run["statusDescription"] == "1st in the queue of pool perf; about 8 min"


def test_the_builds_of_a_job_in_all_runs_are_its_attempts() -> None:
    lint = build_view(1, 10, job="lint", kind=JobKind("style-check"))
    lost = build_view(2, 20, outcome=Outcome.INFRASTRUCTURE, result=Result.ABORTED)
    slow = build_view(3, 21, outcome=Outcome.SLOWER, result=Result.FAILURE)
    running = build_view(4, 22, state=BuildState.RUNNING, outcome=None, result=None, finished_at=None)
    kept = replace(lint, is_reused=True)

    runs = checks(reading_of([lint, lost], [kept, slow], [kept, running]))

    assert [(run["checkName"], run["attempt"], run["externalId"]) for run in runs] == [
        ("lint", 1, "lint/10"),
        (JOB, 1, f"{JOB}/20"),
        (JOB, 2, f"{JOB}/21"),
        (JOB, 3, f"{JOB}/22"),
    ]
    assert [run["status"] for run in runs] == ["COMPLETED", "COMPLETED", "COMPLETED", "RUNNING"]
    assert runs[0]["results"][0]["links"][1]["url"] == "https://perf.example/runs/3"
    assert runs[1]["results"][0]["links"][1]["url"] == "https://perf.example/runs/1"


def test_a_post_submit_build_is_not_an_attempt() -> None:
    reading = reading_of([build_view(1, 10)], [build_view(2, 11)])
    newest = reading.runs[-1]
    reading.runs[-1] = replace(newest, run=replace(newest.run, kind=RunKind.POST_SUBMIT))
    assert [run["externalId"] for run in checks(reading)] == [f"{JOB}/10"]


def test_a_waived_failure_names_the_person_and_is_a_warning() -> None:
    slow = build_that(Outcome.SLOWER, causes=("2 of 21 results are slower",), waived_by=OVERRIDDEN_BY)
    other = build_view(
        8, 80, job="other", outcome=Outcome.FAILED, result=Result.FAILURE, causes=("it fails",)
    )

    waived_by, failed = checks(reading_of([slow, other]))

    [result] = waived_by["results"]
    assert (result["category"], result["summary"]) == ("WARNING", "2 of 21 results are slower")
    assert result["message"] == f"{OVERRIDDEN_BY}\n\n2 of 21 results are slower"
    assert ("overridden", OVERRIDDEN_BY) in [(tag["name"], tag.get("tooltip")) for tag in result["tags"]]
    assert failed["results"][0]["category"] == "ERROR"


def test_the_newest_run_of_a_build_decides_whether_it_is_waived() -> None:
    slow = build_that(Outcome.SLOWER, causes=("2 of 21 results are slower",), waived_by=OVERRIDDEN_BY)
    kept = replace(slow, is_reused=True)

    lasting, revoked = (checks(reading_of([slow], [again])) for again in (kept, replace(kept, waived_by="")))

    assert lasting[0]["results"][0]["category"] == "WARNING"
    assert revoked[0]["results"][0]["category"] == "ERROR"


def test_a_build_has_the_label_that_its_run_votes_on() -> None:
    reading = reading_of([build_that(Outcome.PASSED)])
    found = reading.runs[0]
    reading.runs = [replace(found, run=replace(found.run, label="Performance"))]

    assert checks(reading)[0]["labelName"] == "Performance"


def test_a_build_of_another_ci_leads_to_its_own_page() -> None:
    url = "https://jenkins.example/job/windows/61/"
    build = build_view(
        6, 60, job="windows", kind=JobKind("external"), outcome=Outcome.FAILED,
        result=Result.FAILURE, causes=("it fails",), url=url, external_number=61,
        machine=None, waived_by=OVERRIDDEN_BY,
    )  # fmt: skip

    [run] = checks(reading_of([build]))

    assert run["checkLink"] == url
    [result] = run["results"]
    assert [link["url"] for link in result["links"]] == [url, "https://perf.example/runs/1"]
    assert result["links"][0]["tooltip"] == "Build windows/61"
    assert [(tag["name"], tag["tooltip"]) for tag in result["tags"]] == [("overridden", OVERRIDDEN_BY)]


def test_hostile_names_stay_text_on_one_line() -> None:
    reading = sample_project()
    answer = call(app_of(reading), "GET", PATH, params={"change": HOSTILE_CHANGE, "patchset": 1})
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["x-content-type-options"] == "nosniff"
    [run] = answer.json()["runs"]
    [result] = run["results"]
    assert result["summary"] == HOSTILE_NAMES[0]
    assert "<i>perf</i>" in [tag["name"] for tag in result["tags"]]
    paragraphs = result["message"].split("\n\n")
    assert len(paragraphs) == 1 + len(HOSTILE_NAMES)
    assert max(len(paragraph) for paragraph in paragraphs) == 1000
    assert "\u202e" not in answer.text


def test_a_flood_of_causes_is_cut_and_counted() -> None:
    result = one_result(build_that(Outcome.BROKEN, causes=tuple(f"cause {k}" for k in range(60))))
    assert result["message"].endswith("cause 49\n\n… and 10 more")
