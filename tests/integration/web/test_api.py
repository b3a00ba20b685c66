from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
import structlog
from jsonschema import Draft202012Validator

from service.domain.runs.states import BuildState, RunState
from service.domain.sources.workspace import OtherProject, Workspace
from service.domain.values.identity import BuildName
from tests.support.reading.add_patch_set import add_patch_set
from tests.support.reading.fake_reading import FakeReading
from tests.support.reading.sample_project import HOSTILE_NAMES, REBASED, REGRESSION, sample_project
from tests.support.reading.views import anchor_between, build_view, change_view, machine_view, trend_point
from tests.support.web import build_app, call, later

if TYPE_CHECKING:
    from service.ports.verdict import Point

READING = sample_project()
APP = later(lambda: build_app(READING))
PROBLEM = "application/problem+json"


def get(path: str, **more: object) -> Any:  # noqa: ANN401 - whatever JSON holds
    answer = call(APP, "GET", f"/api/v1{path}", **more)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_changes_come_with_the_vote_on_their_newest_patch_set() -> None:
    found = {item["number"]: item for item in get("/changes")["items"]}
    assert (found[REGRESSION]["vote"], found[REGRESSION]["patch_set"]) == (-1, 2)
    assert found[4716]["vote"] is None


def test_pages_have_no_gap_and_no_overlap() -> None:
    seen: list[int] = []
    cursor = None
    while True:
        page = get("/changes", params={"limit": 3} | ({"cursor": cursor} if cursor else {}))
        seen += [item["number"] for item in page["items"]]
        cursor = page["next"]
        if cursor is None:
            break
    assert seen == [row.number for row in READING.changes(100)]


def test_a_patch_set_carries_vote_builds_and_comparisons_with_units() -> None:
    found = get(f"/changes/{REGRESSION}/patch-sets/2")
    assert (found["vote"], [build["result"] for build in found["builds"]]) == (-1, ["FAILURE", "NOT_BUILT"])
    assert found["sentence"].startswith("2 of 21 results are slower; worst: ")
    worst = found["builds"][0]["comparisons"][0]
    assert (worst["unit"], worst["better"], worst["verdict"], worst["ratio"]) == (
        "1/s",
        "higher",
        "slower",
        0.877,
    )


def test_measured_patch_sets_follow_one_another_newest_first() -> None:
    first = get(f"/changes/{REBASED}/patch-sets", params={"limit": 5})
    second = get(f"/changes/{REBASED}/patch-sets", params={"limit": 5, "cursor": first["next"]})
    found = [(item["number"], item["parent"][:1]) for item in first["items"] + second["items"]]
    assert found == [(8, "8"), (7, "7"), (6, "6"), (5, "5"), (4, "9"), (2, "9"), (1, "9")]
    assert second["next"] is None
    build = first["items"][0]["builds"][0]
    assert (build["job"], build["comparisons"][2]["unit"]) == ("kv-engine-cv-perf", "B")


def test_times_are_in_utc() -> None:
    assert get("/runs/41")["run"]["created_at"] == "2026-11-21T02:05:00Z"


def test_samples_are_found_by_series_and_by_name() -> None:
    by_series = get("/builds/kv-engine-cv-perf/5904/samples", params={"series": 1})
    names = {key: by_series[key] for key in ("suite", "benchmark", "metric")}
    assert get("/builds/kv-engine-cv-perf/5904/samples", params=names) == by_series
    assert len(by_series["base"]) == len(by_series["patch"]) == 24
    assert by_series["base"][4] is None


def test_series_are_searched_by_words_and_read_with_their_points() -> None:
    items = get("/series", params={"q": "LOGQTIME -threads"})["items"]
    assert [item["benchmark"] for item in items] == ["TaskStatsBench/LogQTime"]
    points = get(f"/series/{items[0]['id']}", params={"limit": 5})["points"]
    assert [point["kind"] for point in points].count("post-submit") == 5


def test_levels_are_distances_from_a_commit_with_their_intervals() -> None:
    series = READING.trends[0].series.id
    levels = get(f"/series/{series}/levels")["levels"]
    first, last = levels[0], levels[-1]
    assert len({each["since"] for each in levels}) == 1
    assert last["low"] < last["ratio"] < last["high"]
    assert last["subject"].startswith("MB-")
    chosen = {
        each["revision"]: each
        for each in get(f"/series/{series}/levels?since={last['revision'][:7]}")["levels"]
    }
    assert [chosen[last["revision"]][name] for name in ("ratio", "low", "high", "offset")] == [1, 1, 1, 1]
    assert chosen[first["revision"]]["ratio"] == pytest.approx(first["ratio"] / last["ratio"])
    assert get(f"/series/{series}/levels?limit=4")["levels"][-1]["revision"] == last["revision"]
    assert len(get(f"/series/{series}/levels?limit=4")["levels"]) == 4


def test_a_commit_that_was_not_measured_is_no_start_of_levels() -> None:
    series = READING.trends[0].series.id
    answer = call(APP, "GET", f"/api/v1/series/{series}/levels?since={'f' * 9}")
    assert (answer.status_code, answer.json()["detail"][:32]) == (404, "no measured commit begins with f")


def levels_of(*points: Point, **more: Any) -> Any:  # noqa: ANN401 - whatever JSON holds
    reading = FakeReading()
    reading.trends = [replace(READING.trends[0], points=points, **more)]
    path = f"/api/v1/series/{reading.trends[0].series.id}/levels"
    return call(build_app(reading), "GET", path).json()


def test_commits_of_a_branch_before_it_was_set_back_have_no_levels_and_no_steps() -> None:
    first, lost = trend_point(1, 1.0), trend_point(2, 1.0, ratio=2.0)
    later = trend_point(3, 1.0, ratio=1.1, low=1.09, high=1.11, parent=first.revision)
    found = levels_of(first, lost, later)
    for part in ("levels", "steps"):
        assert [each["revision"] for each in found[part]] == [first.revision, later.revision]
    assert found["steps"][-1]["parent"] == first.revision


def test_behind_a_gap_the_levels_have_an_offset() -> None:
    points = [trend_point(k, 1.0, ratio=1.1) for k in range(4)]
    before, *behind = levels_of(points[0], points[2], points[3])["levels"]
    assert (before["offset"], before["ratio"]) == (1, pytest.approx(1.1))
    assert {each["since"] for each in behind} == {points[2].parent}
    assert [each["offset"] for each in behind] == [pytest.approx(1.1)] * 2


def test_an_anchor_is_a_step_that_is_a_range() -> None:
    first, last = trend_point(1, 1.0), trend_point(9, 1.0)
    *steps, across = levels_of(first, last, anchors=(anchor_between(first, last, 1.2),))["steps"]
    assert [each["is_range"] for each in steps] == [False, False]
    assert (across["is_range"], across["ratio"], across["parent"]) == (True, 1.2, first.revision)
    assert (across["revision"], across["subject"]) == (last.revision, last.subject)


def test_a_commit_with_the_program_of_its_parent_is_a_step_of_one() -> None:
    (step,) = levels_of(trend_point(1, 1.0, ratio=1.3, low=1.2, high=1.4, is_same_program=True))["steps"]
    assert (step["ratio"], step["low"], step["high"]) == (1, 1, 1)


def test_the_queue_has_what_waits_with_place_and_reason_in_pages() -> None:
    reading = FakeReading()
    change = change_view(7, "Stripe", run_id=1, run_state=RunState.RUNNING)
    waiting = [build_view(n, n, state=BuildState.QUEUED, result=None) for n in (1, 2, 3)]
    add_patch_set(reading, change, [(build, []) for build in (*waiting, build_view(4, 4))])
    app = build_app(reading)
    first = call(app, "GET", "/api/v1/queue?limit=2").json()
    rest = call(app, "GET", f"/api/v1/queue?cursor={first['next']}").json()
    assert [(each["number"], each["place"]) for each in first["items"] + rest["items"]] == [
        (1, 1),
        (2, 2),
        (3, 3),
    ]
    assert first["items"][1]["waits"].startswith("2nd in the queue of pool ")
    assert rest["next"] is None


def test_machines_come_with_their_builds_and_obstacles() -> None:
    reading = FakeReading()
    name = BuildName("kv-engine-cv-perf", 5904)
    reading.machine_rows = [
        machine_view("perf-02", obstacle="other work takes 100 % of its CPUs"),
        machine_view("perf-01", build=name),
    ]
    found = call(build_app(reading), "GET", "/api/v1/machines").json()["items"]
    assert [(each["name"], each["build"], each["obstacle"]) for each in found] == [
        ("perf-01", {"job": name.job, "number": name.number}, ""),
        ("perf-02", None, "other work takes 100 % of its CPUs"),
    ]


def test_voting_statuses_have_noise_and_false_alarms() -> None:
    first = get("/voting-statuses", params={"limit": 2})
    votes, suspended = first["items"]
    assert (votes["machine"], votes["voting_status"]["may_vote"], votes["voting_status"]["pairs"]) == (
        "perf-01",
        True,
        192,
    )
    why_not = "suspended: 2 false alarms in the last 4 comparisons of a program with itself"
    assert suspended["voting_status"]["why_not"] == why_not
    assert suspended["voting_status"]["alarm_share"] == pytest.approx([0.0676, 0.9324], abs=1e-4)
    rest = get("/voting-statuses", params={"cursor": first["next"]})
    assert [item["voting_status"]["sessions"] for item in rest["items"]] == [1] * len(HOSTILE_NAMES)
    assert rest["next"] is None


def test_benchmarks_have_noise_machine_time_faults_and_votes() -> None:
    reading = sample_project()
    reading.rows[401][0] = replace(reading.rows[401][0], error=0.01)
    reading.spent[401, "executor"] = 520.0
    app = build_app(reading)

    def page(**params: object) -> Any:  # noqa: ANN401 - whatever JSON holds
        return call(app, "GET", "/api/v1/benchmarks", params=params).json()

    item = page(limit=1)["items"][0]
    assert item["series"]["benchmark"] == "PureFollyExecutorBench/OneShotScheduleRun/real_time/threads:4"
    assert (item["differed"], item["failed"], item["limit"]) == (1, 0, 0.02)
    assert item["noise"] == pytest.approx(0.01 * 24**0.5 / 1.07, rel=1e-3)
    assert item["pairs_needed"] > 60
    assert item["finds_from"] > item["limit"]
    assert (item["suite_seconds"], item["suite_builds"], item["fault"]) == (520.0, 1, None)
    measured, others = item["votes"]
    yes = {"may_vote": True, "text": "yes", "sessions": 12, "alarms": 0}
    assert measured == {"machine": "perf-01", "machines": 1, **yes}
    assert (others["machine"], others["may_vote"], others["sessions"]) == ("", False, 0)
    ids = [each["id"] for each in page(limit=200)["items"]]
    assert page(limit=2, cursor=str(ids[1]))["items"][0]["id"] == ids[2]
    assert [each["id"] for each in page(q="logqtime")["items"]] == [3]


def test_series_pages_follow_one_another() -> None:
    first = get("/series", params={"limit": 4})
    second = get("/series", params={"limit": 100, "cursor": first["next"]})
    assert [item["id"] for item in first["items"] + second["items"]] == list(
        range(1, len(READING.trends) + 1)
    )
    assert second["next"] is None


def test_a_hostile_name_comes_through_as_it_is() -> None:
    rows = get("/builds/kv-engine-cv-perf/6660")["comparisons"]
    assert [row["benchmark"] for row in rows][: len(HOSTILE_NAMES)] == list(HOSTILE_NAMES)


def test_a_build_has_the_commits_of_other_repositories() -> None:
    reading = sample_project()
    others = (OtherProject("libs/net", "./net", "d" * 40), OtherProject("", "https://h/all", "e" * 40))
    workspace = Workspace("https://h/manifest", "c" * 40, "core", others).to_mapping()
    name = reading.builds[-1].build
    reading.about[name.id] = {"workspace": workspace}
    found = call(build_app(reading), "GET", f"/api/v1/builds/{name.job}/{name.number}").json()

    assert found["repositories"] == [
        {"path": "libs/net", "url": "./net", "commit": "d" * 40},
        {"path": "", "url": "https://h/all", "commit": "e" * 40},
    ]
    assert get("/builds/kv-engine-cv-perf/5904")["repositories"] == []


def test_an_unchanged_answer_is_not_sent_again() -> None:
    first = call(APP, "GET", "/api/v1/changes")
    etag = first.headers["etag"]
    assert etag.startswith('W/"')
    again = call(APP, "GET", "/api/v1/changes", headers={"If-None-Match": f'"other", {etag}'})
    assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", etag)
    changed = call(APP, "GET", "/api/v1/changes", headers={"If-None-Match": '"other"'})
    assert changed.status_code == 200


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/api/v1/changes/1", 404),
        ("GET", "/api/v1/changes/x", 422),
        ("GET", "/api/v1/changes/99999999999999999999", 422),
        ("GET", "/api/v1/changes?limit=0", 422),
        ("GET", "/api/v1/changes?cursor=nonsense", 400),
        ("GET", "/api/v1/changes/1/patch-sets", 404),
        ("GET", "/api/v1/changes/4721/patch-sets?limit=21", 422),
        ("GET", "/api/v1/changes/4721/patch-sets?cursor=nonsense", 400),
        ("GET", "/api/v1/series?cursor=-1", 400),
        ("GET", "/api/v1/builds/kv-engine-cv-perf/5904/samples?suite=none", 404),
        ("GET", "/api/v1/nothing", 404),
        ("GET", "/nothing", 404),
        ("POST", "/api/v1/changes", 405),
        ("DELETE", "/api/v1/runs/41", 405),
    ],
)
def test_every_error_is_a_problem_with_the_request_id(method: str, path: str, status: int) -> None:
    answer = call(APP, method, path)
    assert (answer.status_code, answer.headers["content-type"]) == (status, PROBLEM)
    problem = answer.json()
    assert (problem["status"], problem["request_id"]) == (status, answer.headers["x-request-id"])
    assert problem["title"]


def test_an_unreachable_store_is_a_503_with_retry_after() -> None:
    class Away(FakeReading):
        def changes(self, limit: int, after: object = None, words: object = None) -> Any:  # noqa: ANN401
            self.condition()

    answer = call(build_app(Away(is_away=True)), "GET", "/api/v1/changes")
    assert (answer.status_code, answer.headers["content-type"]) == (503, PROBLEM)
    assert answer.headers["retry-after"] == "5"


def test_an_unexpected_error_is_a_problem_that_reveals_no_details() -> None:
    class Broken(FakeReading):
        def changes(self, limit: int, after: object = None, words: object = None) -> Any:  # noqa: ANN401
            raise ZeroDivisionError("a secret")

    for path in ("/api/v1/changes", "/"):
        with structlog.testing.capture_logs() as logs:
            answer = call(build_app(Broken()), "GET", path)
        assert [entry["event"] for entry in logs] == ["request.failed"]
        assert (answer.status_code, answer.headers["content-type"]) == (500, PROBLEM)
        assert "secret" not in answer.text
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.json()["request_id"] == answer.headers["x-request-id"]


def test_the_log_line_of_an_unexpected_error_names_the_build_that_was_asked_for() -> None:
    class Broken(FakeReading):
        def build(self, job: str, number: int) -> Any:  # noqa: ANN401
            raise ZeroDivisionError(job, number)

    with structlog.testing.capture_logs() as logs:
        call(build_app(Broken()), "GET", "/job/perf/3/")
    assert [entry["build"] for entry in logs if entry["event"] == "request.failed"] == ["perf/3"]


def test_a_given_request_id_is_kept_unless_it_could_break_a_log() -> None:
    kept = call(APP, "GET", "/healthz", headers={"X-Request-Id": "abc-12345678"})
    assert kept.headers["x-request-id"] == "abc-12345678"
    replaced = call(APP, "GET", "/healthz", headers={"X-Request-Id": "a b=c"})
    assert re.fullmatch(r"[0-9a-f]{32}", replaced.headers["x-request-id"])


def test_the_document_names_every_operation() -> None:
    document = get("/openapi.json")
    assert document["openapi"].startswith("3.1")
    operations = {
        path if method == "get" else f"{method} {path}": described["operationId"]
        for path, methods in document["paths"].items()
        for method, described in methods.items()
    }
    assert operations == {
        "/api/v1/changes": "listChanges",
        "/api/v1/changes/{change}": "getChange",
        "/api/v1/changes/{change}/patch-sets": "listMeasuredPatchSets",
        "/api/v1/changes/{change}/patch-sets/{patch_set}": "getPatchSet",
        "/api/v1/runs/{run_id}": "getRun",
        "/api/v1/runs/{run_id}/claims": "listClaims",
        "/api/v1/builds/{job}/{number}": "getBuild",
        "/api/v1/builds/{job}/{number}/samples": "getSamples",
        "/api/v1/builds/{job}/{number}/explanations": "getExplanations",
        "/api/v1/benchmarks": "listBenchmarks",
        "/api/v1/series": "searchSeries",
        "/api/v1/series/{series_id}": "getSeries",
        "/api/v1/series/{series_id}/levels": "getLevels",
        "/api/v1/branches": "listBranches",
        "/api/v1/commits": "listCommits",
        "/api/v1/compare": "compareCommits",
        "/api/v1/regressions": "listRegressions",
        "/api/v1/regressions/{regression_id}": "getRegression",
        "/api/v1/ledger": "getLedger",
        "/api/v1/known-failures": "listKnownFailures",
        "/api/v1/known-failures/{known_id}": "getKnownFailure",
        "/api/v1/machines": "listMachines",
        "/api/v1/queue": "listQueue",
        "/api/v1/voting-statuses": "listVotingStatuses",
        "/api/v1/gerrit/checks": "getGerritChecks",
        "post /api/v1/builds/{job}/{number}": "reportBuild",
        "post /api/v1/builds/{job}/{number}/tests": "reportTests",
    }
    for path, method in (("changes", "get"), ("builds/{job}/{number}", "post")):
        answers = document["paths"][f"/api/v1/{path}"][method]["responses"]
        assert all(
            PROBLEM in answers[status]["content"] for status in ("400", "401", "403", "404", "422", "503")
        )


def test_the_document_describes_a_report_its_key_and_its_token() -> None:
    document = get("/openapi.json")
    report = document["paths"]["/api/v1/builds/{job}/{number}"]["post"]

    assert [(each["in"], each["name"], each["required"]) for each in report["parameters"]] == [
        ("path", "job", True),
        ("path", "number", True),
        ("header", "Idempotency-Key", False),
    ]
    assert report["security"] == [{"token": []}]
    assert document["components"]["securitySchemes"]["token"]["scheme"] == "bearer"
    fields = document["components"]["schemas"]["ReportedBuild"]
    assert fields["additionalProperties"] is False
    assert set(fields["required"]) == {"project", "change", "revision", "url", "result"}


def test_each_path_parameter_has_an_example() -> None:
    bare = {
        (path, each["name"])
        for path, methods in get("/openapi.json")["paths"].items()
        for described in methods.values()
        for each in described.get("parameters", ())
        if each["in"] == "path" and not each["schema"].get("examples")
    }
    assert bare == set()


def test_examples_are_valid() -> None:
    document = get("/openapi.json")
    parameters = [
        each["schema"]
        for methods in document["paths"].values()
        for described in methods.values()
        for each in described.get("parameters", ())
    ]
    properties = [
        each
        for schema in document["components"]["schemas"].values()
        for each in schema.get("properties", {}).values()
    ]
    with_examples = [schema for schema in (*parameters, *properties) if "examples" in schema]
    wrong = [
        (schema, example)
        for schema in with_examples
        for example in schema["examples"]
        if not Draft202012Validator({**schema, "components": document["components"]}).is_valid(example)
    ]
    assert (len(with_examples) > len(document["paths"]), wrong) == (True, [])


def test_the_page_of_the_api_lists_every_operation() -> None:
    page = call(APP, "GET", "/docs").text
    for operation in ("GET /api/v1/changes", "POST /api/v1/builds/{job}/{number}/tests"):
        assert operation in page.replace("<wbr>", "")
