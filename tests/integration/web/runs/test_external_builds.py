"""``POST /api/v1/builds/…``: another CI reports its builds with an API token."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import pytest

from service.domain.access.caller import Anonymous
from service.domain.building.findings import Finding
from service.domain.review.change import PatchSet
from service.domain.runs.states import BuildState, RunState
from service.domain.runs.vote import Outcome
from service.web.runs.unseen_revisions import UnseenRevisions
from tests.support.access.reporting import (
    BUILD,
    FINDING,
    PERSON,
    REVISION,
    assert_problem,
    holder,
    send,
    service_waiting_for_ci,
)
from tests.support.fakes import WRITTEN
from tests.support.review.changes import KEY, Service, change_at

if TYPE_CHECKING:
    import httpx

    from service.domain.access.caller import Caller


@pytest.fixture
def service() -> Service:
    return service_waiting_for_ci()


def state(service: Service) -> list[tuple[BuildState, int | None, Outcome | None]]:
    return [(each.state, each.external_number, each.outcome) for each in service.store.memory.builds]


class TestAReport:
    def test_a_build_is_announced_and_ends(self, service: Service) -> None:
        answers = [
            send(service, {**BUILD, "result": "STARTED"}, key="1"),
            send(service, {**BUILD, "result": "FAILURE", "causes": ["Test #49"]}, key="2"),
        ]

        assert [(answer.status_code, answer.json()) for answer in answers] == [(200, {"recorded": True})] * 2
        assert state(service)[0] == (BuildState.FINISHED, 5, Outcome.FAILED)
        assert state(service)[1][0] is BuildState.RUNNING

    def test_a_build_is_withdrawn(self, service: Service) -> None:
        assert send(service, {**BUILD, "result": "WITHDRAWN"}).json() == {"recorded": True}
        assert state(service)[0] == (BuildState.FINISHED, None, Outcome.CANCELLED)

    def test_sent_again_it_gets_the_same_answer_and_has_no_further_effect(self, service: Service) -> None:
        first, again = send(service, BUILD), send(service, BUILD)
        reordered = send(service, json.dumps(dict(reversed(BUILD.items())), indent=4))
        written_out = send(service, {**BUILD, "merged": False, "causes": [], "instance": KEY.instance})
        renewed = send(service, BUILD, key="key-2")

        answers = (first, again, reordered, written_out)
        assert [each.json() for each in answers] == [{"recorded": True}] * 4
        assert renewed.json() == {"recorded": False}, "a new key does not make it news"
        assert len(service.store.memory.runs) == 1

    def test_a_key_of_another_report_is_refused_without_effect(self, service: Service) -> None:
        send(service, {**BUILD, "result": "STARTED"})
        answer = send(service, BUILD)

        assert_problem(answer, 400, "Idempotency-Key: this key was used for another report; send a new key")
        assert state(service)[0][0] is BuildState.RUNNING

    def test_two_tokens_may_use_one_key(self, service: Service) -> None:
        both = holder("report:kv/macos", "report:kv/linux", token_id=2)
        assert send(service, BUILD).json() == {"recorded": True}
        assert send(service, BUILD, path="macos/5", caller=both).json() == {"recorded": True}

    def test_before_the_run_is_planned_it_may_be_sent_again(self, service: Service) -> None:
        service.store.memory.runs[0] = replace(service.store.memory.runs[0], state=RunState.PLANNING)
        early = send(service, BUILD)
        service.store.memory.runs[0] = replace(service.store.memory.runs[0], state=RunState.RUNNING)

        assert_problem(early, 503, "run 1 is not planned yet")
        assert early.headers["retry-after"] == "5"
        assert send(service, BUILD).json() == {"recorded": True}

    def test_without_a_key_a_repeated_state_of_a_build_changes_nothing(self, service: Service) -> None:
        started = {**BUILD, "result": "STARTED"}
        answers = [send(service, each, key=None).json() for each in (started, started, BUILD, BUILD, started)]

        assert [answer["recorded"] for answer in answers] == [True, False, True, False, False]
        assert state(service)[0] == (BuildState.FINISHED, 5, Outcome.PASSED)
        assert len(service.store.memory.runs) == 1

    def test_another_result_of_an_ended_build_is_refused(self, service: Service) -> None:
        send(service, BUILD, key=None)
        answer = send(service, {**BUILD, "result": "FAILURE"}, key=None)
        assert_problem(answer, 400, "result: build 5 of linux already ended with SUCCESS")

    def test_the_number_of_a_build_of_another_revision_is_refused(self, service: Service) -> None:
        send(service, BUILD, key=None)
        other = "5fdec2f1" * 5
        service.source.commit(other, "parent", {}, "refs/changes/07/7/2")
        current = PatchSet(2, other, "refs/changes/07/7/2", ("parent",))
        service.see(change_at(2, updated=WRITTEN, current=current))
        service.plan(2)

        answer = send(service, {**BUILD, "revision": other}, key=None)
        assert_problem(answer, 400, "number: build 5 of linux was reported for another revision")
        assert send(service, {**BUILD, "revision": other}, path="linux/6").json() == {"recorded": True}

    def test_a_late_result_is_kept_without_a_vote(self, service: Service) -> None:
        service.see(change_at(2, updated=WRITTEN))
        hints = list(service.store.memory.hints)

        assert send(service, {**BUILD, "result": "FAILURE"}).json() == {"recorded": True}
        assert state(service)[0] == (BuildState.FINISHED, 5, Outcome.FAILED)
        assert service.store.memory.hints == hints

    def test_findings_are_stored_and_those_without_a_place_in_the_sources_are_counted(
        self, service: Service
    ) -> None:
        findings = [FINDING, FINDING, FINDING | {"path": "/usr/include/x.h"}, FINDING | {"path": "../x.h"}]
        answer = send(service, {**BUILD, "result": "FAILURE", "findings": findings})

        assert answer.json() == {"recorded": True, "skipped_findings": 3}
        assert service.store.memory.builds[0].findings == (Finding("src/a.cc", 7, "warning: x"),)

    def test_the_address_of_the_log_is_stored(self, service: Service) -> None:
        send(service, {**BUILD, "result": "STARTED", "log_url": "https://ci.example.com/log"}, key=None)
        send(service, BUILD, key=None)
        assert service.store.memory.builds[0].log_url == "https://ci.example.com/log"


class TestWhoMayReport:
    @pytest.mark.parametrize(
        "scopes",
        [
            ["report:kv/macos"],
            ["report:other/linux"],
            ["report:platform/kv/linux"],
            ["report:other~kv/linux"],
        ],
    )
    def test_a_token_of_another_project_or_job_may_not(self, service: Service, scopes: list[str]) -> None:
        answer = send(service, BUILD, caller=holder(*scopes, "read"))

        assert_problem(answer, 403, "this report needs a token with the scope report:kv/linux")
        assert state(service)[0][0] is BuildState.RUNNING

    @pytest.mark.parametrize("caller", [holder("read"), holder("operate"), PERSON, Anonymous()])
    def test_nobody_without_a_token_for_reports_may(self, service: Service, caller: Caller) -> None:
        answer = send(service, BUILD, caller=caller)

        assert answer.status_code in {401, 403}
        assert "with the scope report" in answer.json()["detail"]
        assert state(service)[0][0] is BuildState.RUNNING

    def test_a_claimed_project_opens_no_change_of_another_project(self, service: Service) -> None:
        """The token covers the project that the report names, but the change belongs to another one."""
        other = holder("report:other/linux")
        foreign = send(service, {**BUILD, "project": "other"}, caller=other)
        unknown = send(service, {**BUILD, "project": "other", "change": 999}, caller=other)

        assert foreign.status_code == unknown.status_code == 503
        assert foreign.json()["detail"].replace(" 7", " 999") == unknown.json()["detail"]
        assert state(service)[0][0] is BuildState.RUNNING

    def test_a_job_with_a_slash_is_no_other_project(self, service: Service) -> None:
        """``report:platform/kv/linux`` is for the job linux of platform/kv only."""
        split = {**BUILD, "project": "platform"}
        for path in ("kv/linux/5", "kv%2Flinux/5"):
            answer = send(service, split, path=path, caller=holder("report:platform/kv/linux"))
            assert answer.status_code in {403, 404}
        assert state(service)[0][0] is BuildState.RUNNING


class TestSeveralGerrits:
    """Both have a change 7 of a project kv."""

    SERVERS: Final = ("edge", KEY.instance)

    def send(self, service: Service, instance: str | None, scope: str) -> httpx.Response:
        named = {} if instance is None else {"instance": instance}
        return send(service, BUILD | named, caller=holder(scope), instances=self.SERVERS)

    @pytest.mark.parametrize("scope", ["report:gerrit~kv/linux", "report:kv/linux"])
    def test_a_report_is_about_the_change_of_the_gerrit_that_it_names(
        self, service: Service, scope: str
    ) -> None:
        other = self.send(service, "edge", scope.replace("gerrit", "edge"))
        assert_problem(other, 503, f"there is no check run of {REVISION} on change 7")
        assert self.send(service, KEY.instance, scope).json() == {"recorded": True}
        assert state(service)[0][0] is BuildState.FINISHED

    @pytest.mark.parametrize(
        ("instance", "problem"),
        [
            (None, "instance: is missing; write edge or gerrit"),
            ("", "instance: is missing; write edge or gerrit"),
            ("console", "instance: console is no review server; write edge or gerrit"),
            ("edge~", "instance: edge~ is no review server"),
        ],
    )
    def test_a_report_that_names_no_gerrit_is_refused(
        self, service: Service, instance: str | None, problem: str
    ) -> None:
        assert_problem(self.send(service, instance, "report:kv/linux"), 400, problem)
        assert state(service)[0][0] is BuildState.RUNNING

    @pytest.mark.parametrize(("instance", "foreign"), [("gerrit", "edge"), ("edge", "gerrit")])
    def test_a_token_for_the_project_of_one_gerrit_reports_nothing_to_another(
        self, service: Service, instance: str, foreign: str
    ) -> None:
        answer = self.send(service, instance, f"report:{foreign}~kv/linux")
        wanted = f"this report needs a token with the scope report:{instance}~kv/linux"
        assert_problem(answer, 403, wanted)
        assert state(service)[0][0] is BuildState.RUNNING


class TestMistakes:
    @pytest.mark.parametrize(
        ("change", "problem"),
        [
            ({"change": "7"}, "body.change: Input should be a valid integer"),
            ({"change": 0}, "body.change: Input should be greater than or equal to 1"),
            ({"change": 1 << 31}, "body.change: Input should be less than or equal to 2147483647"),
            ({"change": True}, "body.change: Input should be a valid integer"),
            ({"revision": "5fdec2f"}, "body.revision: String should match pattern"),
            ({"revision": "HEAD"}, "body.revision: String should match pattern"),
            ({"project": ""}, "body.project: String should have at least 1 character"),
            ({"job": "linux"}, "body.job: Extra inputs are not permitted"),
            ({"log_url": "x" * 2001}, "body.log_url: String should have at most 2000 characters"),
            ({"findings": [FINDING] * 501}, "body.findings: List should have at most 500 items"),
            ({"findings": [FINDING | {"line": 0}]}, "body.findings.0.line: Input should be greater than"),
            ({"findings": [FINDING | {"text": "x"}]}, "body.findings.0.text: Extra inputs are not permitted"),
            ({"findings": [{"path": "a.cc"}]}, "body.findings.0.message: Field required"),
            ({"url": "x" * 2001}, "body.url: String should have at most 2000 characters"),
            ({"result": "GOOD"}, "'SUCCESS', 'UNSTABLE', 'FAILURE', 'NOT_BUILT' or 'ABORTED'"),
            ({"merged": "yes"}, "body.merged: Input should be a valid boolean"),
            ({"causes": ["x"] * 21}, "body.causes: List should have at most 20 items"),
            ({"causes": ["x" * 1001]}, "body.causes.0: String should have at most 1000 characters"),
            ({"vote": 1}, "body.vote: Extra inputs are not permitted"),
            ({"instance": "x" * 101}, "body.instance: String should have at most 100 characters"),
        ],
    )
    def test_a_wrong_value_is_named_with_its_place(
        self, service: Service, change: dict[str, Any], problem: str
    ) -> None:
        answer = send(service, BUILD | change)

        assert_problem(answer, 422, "the request is not valid")
        assert problem in "\n".join(answer.json()["errors"])
        assert state(service)[0][0] is BuildState.RUNNING

    @pytest.mark.parametrize("name", sorted(BUILD))
    def test_a_missing_value_is_named(self, service: Service, name: str) -> None:
        answer = send(service, {key: value for key, value in BUILD.items() if key != name})
        assert f"body.{name}: Field required" in answer.json()["errors"]

    @pytest.mark.parametrize("key", ["x" * 201, "a b"])
    def test_a_key_other_than_a_word_is_refused(self, service: Service, key: str) -> None:
        answer = send(service, BUILD, key=key)

        assert answer.status_code == 422
        assert "header.Idempotency-Key: " in answer.json()["errors"][0]

    @pytest.mark.parametrize(
        ("path", "problem"),
        [
            ("linux/0", "path.number: Input should be greater than or equal to 1"),
            ("linux/2147483648", "path.number: Input should be less than or equal to 2147483647"),
            ("linux/latest", "path.number: Input should be a valid integer"),
            (f"{'x' * 101}/5", "path.job: String should have at most 100 characters"),
        ],
    )
    def test_a_wrong_address_is_named(self, service: Service, path: str, problem: str) -> None:
        answer = send(service, BUILD, path=path)
        assert problem in "\n".join(answer.json()["errors"])

    def test_a_huge_body_is_refused_before_it_is_read(self, service: Service) -> None:
        answer = send(service, {**BUILD, "causes": ["x" * 65536]})
        assert_problem(answer, 413, "the body of a request has at most 64 KiB")

    @pytest.mark.parametrize("body", ["", "null", "[]", "{", '"x"', "\ud800", '{"url": "\\ud800"}'])
    def test_anything_else_is_a_problem(self, service: Service, body: str) -> None:
        assert send(service, body.encode("utf-8", "replace").decode()).status_code == 422

    @pytest.mark.parametrize("name", ["url", "log_url"])
    def test_a_page_other_than_a_url_is_refused(self, service: Service, name: str) -> None:
        answer = send(service, {**BUILD, name: "javascript:alert(1)"})
        assert_problem(answer, 400, f"{name}: 'javascript:alert(1)' is no page")
        assert state(service)[0][0] is BuildState.RUNNING

    @pytest.mark.parametrize("of", [{"change": 999}, {"revision": "f" * 40}, {"project": "other"}])
    def test_a_revision_that_stays_unknown_is_not_found_after_a_quarter_of_an_hour(
        self, service: Service, of: dict[str, object]
    ) -> None:
        now, caller = [0.0], holder("report:kv/linux", "report:other/linux")
        unseen, answers = UnseenRevisions(lambda: now[0]), []
        for now[0] in (0.0, 500.0, 899.0, 900.0, 960.0, 1600.0):
            answers.append(send(service, {**BUILD, **of}, caller=caller, unseen=unseen))
        assert [each.status_code for each in answers] == [503, 503, 503, 404, 404, 503]
        assert "check the revision and the change" in answers[3].json()["detail"]

    def test_a_change_that_benchgate_has_not_seen_yet_may_be_sent_again(self, service: Service) -> None:
        answer = send(service, {**BUILD, "change": 999})
        assert_problem(answer, 503, f"there is no check run of {REVISION} on change 999; if Benchgate")
        assert answer.headers["retry-after"] == "15"
