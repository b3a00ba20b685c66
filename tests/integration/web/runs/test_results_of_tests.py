"""``POST /api/v1/builds/…/tests``: another CI reports the results of tests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest

from service.domain.access.caller import Anonymous
from service.web.runs.external_builds import MOST_TESTS
from tests.support.access.reporting import BUILD, LINUX, assert_problem, holder, send, service_waiting_for_ci

if TYPE_CHECKING:
    from tests.support.review.changes import Service


@pytest.fixture
def service() -> Service:
    return service_waiting_for_ci()


class TestResultsOfTests:
    XML: Final = '<testsuite><testcase name="a"/><testcase name="b"><failure/></testcase></testsuite>'
    PATH: Final = "linux/5/tests?project=kv"

    def test_they_are_counted(self, service: Service) -> None:
        send(service, {**BUILD, "result": "STARTED"})
        answer = send(service, self.XML, path=self.PATH)

        assert (answer.status_code, answer.json()) == (200, {"tests": 2, "failed": 1})
        send(service, {**BUILD, "result": "FAILURE"}, key=None)
        assert service.store.memory.builds[0].causes == ("Failure of a test b",)

    def test_they_need_the_token_of_the_build(self, service: Service) -> None:
        send(service, {**BUILD, "result": "STARTED"})
        for path, caller in (
            (self.PATH, holder("report:kv/macos")),
            ("linux/5/tests?project=other", LINUX),
            ("macos/5/tests?project=kv", LINUX),
        ):
            answer = send(service, self.XML, path=path, caller=caller)
            assert_problem(answer, 403, "this report needs a token with the scope report:")
        assert send(service, self.XML, path=self.PATH, caller=Anonymous()).status_code == 401
        assert service.store.memory.builds[0].execution is None

    def test_they_are_not_found_for_an_unreported_build(self, service: Service) -> None:
        answer = send(service, self.XML, path=self.PATH)
        assert_problem(answer, 404, "no build 5 of linux in kv was reported; first report its start")

    @pytest.mark.parametrize(
        ("query", "problem"),
        [
            ("", "query.project: Field required"),
            ("?project=kv&format=xunit", "query.format: Input should be 'ctest' or 'generic'"),
            ("?project=kv&suite=a%20b", "query.suite: String should match pattern"),
            ("?project=kv&job=x", "query.job: Extra inputs are not permitted"),
        ],
    )
    def test_a_wrong_query_is_named(self, service: Service, query: str, problem: str) -> None:
        answer = send(service, self.XML, path=f"linux/5/tests{query}")
        assert answer.status_code == 422
        assert problem in "\n".join(answer.json()["errors"])

    @pytest.mark.parametrize(
        ("body", "problem"),
        [
            ("", "it is empty"),
            ("{}", "line 1: it is not XML"),
            ('<!DOCTYPE x [<!ENTITY a "aaaa">]><testsuite/>', "line 1: it has a document type"),
        ],
    )
    def test_a_body_that_cannot_be_read_is_a_problem(self, service: Service, body: str, problem: str) -> None:
        send(service, {**BUILD, "result": "STARTED"})
        assert_problem(send(service, body, path=self.PATH), 400, problem)

    def test_a_huge_body_is_refused(self, service: Service) -> None:
        send(service, {**BUILD, "result": "STARTED"})
        answer = send(service, self.XML + " " * MOST_TESTS, path=self.PATH)
        assert_problem(answer, 413, "a file of results has at most 16 MiB")

    def test_a_large_body_is_read(self, service: Service) -> None:
        send(service, {**BUILD, "result": "STARTED"})
        answer = send(service, self.XML + " " * (MOST_TESTS - len(self.XML)), path=self.PATH)
        assert answer.status_code == 200
