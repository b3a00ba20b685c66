"""JUnit XML that another CI reports for its builds."""

from __future__ import annotations

from pathlib import Path

import pytest

from service.domain.failures.failure import FailureKind
from service.domain.measuring.tests.cases import CaseStatus
from service.domain.measuring.tests.junit import Dialect
from service.domain.measuring.tests.record import read_tests
from service.domain.values.errors import BadInput, BadResults, NotFound
from service.steps.runs.record_tests import (
    MOST_SUITES,
    RecordedTests,
    ReportedTests,
    record_tests,
)
from tests.support.memory.files import MemoryArtifacts
from tests.support.review.changes import KEY, Service
from tests.support.runs.external import begin, end, message, vote, waiting_service

SAMPLES = Path(__file__).parents[3] / "samples" / "testing"
FAILED = (
    b'<testsuites><testsuite name="unit"><testcase classname="Queue" name="grows" time="0.5"/>'
    b'<testcase classname="Queue" name="shrinks" time="1.5"><failure message="q.cc:7&#10;Expected equality"/>'
    b"</testcase></testsuite></testsuites>"
)
PASSED = FAILED.replace(b'<failure message="q.cc:7&#10;Expected equality"/>', b"")
CAUSES = ["Failure of a test Queue.shrinks", "q.cc:7: Expected equality"]


@pytest.fixture
def service() -> Service:
    """A patch set that waits for two jobs; linux started."""
    service = waiting_service()
    begin(service, "linux", 5)
    return service


@pytest.fixture
def artifacts() -> MemoryArtifacts:
    return MemoryArtifacts()


def send(
    service: Service,
    artifacts: MemoryArtifacts,
    data: bytes = FAILED,
    *,
    suite: str = "unit",
    number: int = 5,
    dialect: Dialect = Dialect.GENERIC,
) -> RecordedTests:
    reported = ReportedTests(KEY.instance, "kv", "linux", number, suite, dialect, data)
    return record_tests(service.store, artifacts, reported)


def causes_of_linux(service: Service) -> list[str]:
    return list(service.store.memory.builds[0].causes)


def test_failed_tests_are_the_causes_of_a_failed_build(service: Service, artifacts: MemoryArtifacts) -> None:
    assert send(service, artifacts) == RecordedTests(tests=2, failed=1)
    end(service, "linux", 5, "FAILURE")
    end(service, "macos", 7)

    assert causes_of_linux(service) == CAUSES
    assert vote(service) == -1
    assert f"{CAUSES[0]} ( http://ci.example.com/job/linux/5/ )" in message(service)


def test_failed_tests_are_failures_that_can_be_recognised_again(
    service: Service, artifacts: MemoryArtifacts
) -> None:
    send(service, artifacts)
    end(service, "linux", 5, "FAILURE", "Failure of a CTest test 49/198 Test #49: dcp ......")

    found = service.store.memory.build_failures[1]
    assert [(each.kind, each.subject, each.place) for each in found.failures] == [
        (FailureKind.TEST, "dcp", ""),
        (FailureKind.TEST, "Queue.shrinks", "q.cc:7"),
    ]
    assert not found.is_cut


def test_the_results_of_a_test_give_the_reason_that_its_cause_has_not(
    service: Service, artifacts: MemoryArtifacts
) -> None:
    """The name alone would make any failure of the test known."""
    send(service, artifacts)
    end(service, "linux", 5, "FAILURE", "Failure of a CTest test 49/198 Test #49: Queue.shrinks ......")

    found = service.store.memory.build_failures[1]
    assert [(each.subject, each.headline) for each in found.failures] == [
        ("Queue.shrinks", "Expected equality")
    ]


@pytest.mark.parametrize(("causes", "is_cut"), [((), False), (("packaging failed",), True)])
def test_a_cause_that_nothing_recognises_may_hide_failures_beside_the_tests(
    service: Service, artifacts: MemoryArtifacts, causes: tuple[str, ...], *, is_cut: bool
) -> None:
    """Without a cause, the failed tests are taken for all that failed."""
    send(service, artifacts)
    end(service, "linux", 5, "FAILURE", *causes)
    stored = service.store.memory.build_failures[1]
    assert [each.subject for each in stored.failures] == ["Queue.shrinks"]
    assert stored.is_cut is is_cut


def test_a_test_that_a_cause_names_is_not_named_twice(service: Service, artifacts: MemoryArtifacts) -> None:
    send(service, artifacts)
    end(service, "linux", 5, "FAILURE", "Queue.shrinks is broken")
    assert causes_of_linux(service) == ["Queue.shrinks is broken"]


def test_the_result_is_the_word_of_the_other_ci(service: Service, artifacts: MemoryArtifacts) -> None:
    send(service, artifacts)
    end(service, "linux", 5, "SUCCESS")
    end(service, "macos", 7)
    assert (vote(service), causes_of_linux(service)) == (1, [])


def test_the_cases_are_stored_with_the_build_by_suite(service: Service, artifacts: MemoryArtifacts) -> None:
    send(service, artifacts, suite="unit")
    send(service, artifacts, PASSED, suite="slow")
    send(service, artifacts, PASSED, suite="unit")

    report = service.store.memory.builds[0].report
    suites = read_tests(artifacts.get(report.tests))
    assert [(each.program, len(each.run.cases)) for each in suites] == [("slow", 2), ("unit", 2)]
    assert report.failures == (), "a file that is sent again replaces the previous one"


def test_a_test_that_passes_in_one_suite_still_fails_in_another(
    service: Service, artifacts: MemoryArtifacts
) -> None:
    send(service, artifacts, suite="debug")
    send(service, artifacts, PASSED, suite="release")
    assert [each.subject for each in service.store.memory.builds[0].report.failures] == ["Queue.shrinks"]

    end(service, "linux", 5, "FAILURE")
    assert causes_of_linux(service) == CAUSES


def test_a_suites_new_file_drops_failures_of_vanished_tests(
    service: Service, artifacts: MemoryArtifacts
) -> None:
    send(service, artifacts)
    send(service, artifacts, PASSED.replace(b"shrinks", b"shifts"))
    assert service.store.memory.builds[0].report.failures == ()


def test_files_of_ctest_have_their_own_words(service: Service, artifacts: MemoryArtifacts) -> None:
    data = (SAMPLES / "ctest_3.25.1.xml").read_bytes()
    as_ctest = send(service, artifacts, data, dialect=Dialect.CTEST)
    generic = send(service, artifacts, data)
    assert as_ctest.tests == generic.tests
    assert as_ctest.failed > generic.failed, "a test whose program is missing is no skipped one"


def test_late_results_of_tests_are_causes_while_the_builds_run_waits(
    service: Service, artifacts: MemoryArtifacts
) -> None:
    end(service, "linux", 5, "FAILURE")
    send(service, artifacts)
    send(service, artifacts)
    end(service, "macos", 7)

    assert causes_of_linux(service) == CAUSES
    assert [each.subject for each in service.store.memory.build_failures[1].failures] == ["Queue.shrinks"]
    assert vote(service) == -1


def test_results_after_the_end_of_a_build_that_passed_are_no_causes(
    service: Service, artifacts: MemoryArtifacts
) -> None:
    end(service, "linux", 5, "SUCCESS")
    send(service, artifacts)
    assert causes_of_linux(service) == []
    assert 1 not in service.store.memory.build_failures


def test_results_after_the_vote_are_kept_and_change_no_causes(
    service: Service, artifacts: MemoryArtifacts
) -> None:
    end(service, "linux", 5, "FAILURE", "broken")
    end(service, "macos", 7)
    service.vote()
    send(service, artifacts)

    report = service.store.memory.builds[0].report
    (suite,) = read_tests(artifacts.get(report.tests))
    assert [case.status for case in suite.run.cases] == [CaseStatus.PASSED, CaseStatus.FAILED]
    assert causes_of_linux(service) == ["broken"]


@pytest.mark.parametrize("data", [FAILED, b"no XML"])
def test_the_tests_of_an_unreported_build_are_not_even_read(
    service: Service, artifacts: MemoryArtifacts, data: bytes
) -> None:
    with pytest.raises(NotFound, match="no build 6 of linux in kv was reported; first report its start"):
        send(service, artifacts, data, number=6)


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"", "it is empty"),
        (b"<testsuite>", "line 1: it is not XML"),
        (b'<!DOCTYPE x [<!ENTITY a "aaaa">]><testsuite/>', "line 1: it has a document type"),
        (b"<html/>", "its root is 'html'"),
        (b"<testsuite><testcase/></testsuite>", "a test has no name"),
        (b"<a>" * 101, "its root is 'a'"),
        (b"<testsuite>" * 101, "it is nested more than 100 elements deep"),
    ],
)
def test_a_file_that_cannot_be_used_changes_nothing(
    service: Service, artifacts: MemoryArtifacts, data: bytes, problem: str
) -> None:
    with pytest.raises(BadResults, match=problem):
        send(service, artifacts, data)
    assert service.store.memory.builds[0].execution is None


def test_the_number_of_a_builds_suites_is_limited(service: Service, artifacts: MemoryArtifacts) -> None:
    for number in range(MOST_SUITES):
        send(service, artifacts, PASSED, suite=f"s{number}")
    with pytest.raises(BadInput, match="suite: the build has 100 suites already"):
        send(service, artifacts, suite="another")
    send(service, artifacts, suite="s7")
