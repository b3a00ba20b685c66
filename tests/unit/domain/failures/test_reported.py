"""Turn another CI's causes into failures; one that names none makes the list incomplete."""

from __future__ import annotations

import pytest

from service.domain.failures.configured import read_patterns
from service.domain.failures.failure import MOST, FailureKind
from service.domain.failures.reported import failures_of_causes
from service.domain.failures.signature import signature_of

FAILED = "Failure of a CTest test [2020-09-15T16:55:16.339Z] 170/409 Test #167: ep.expiry ............"
COMPILE = 'Compile error at ..\\kv_engine\\client.cc(700): error C2440: "initializing": cannot convert'


def test_each_cause_is_a_failure() -> None:
    failures, is_cut = failures_of_causes([FAILED, COMPILE])
    assert [(each.kind, each.subject) for each in failures] == [
        (FailureKind.TEST, "ep.expiry"),
        (FailureKind.COMPILE, "kv_engine/client.cc"),
    ]
    assert not is_cut


def test_a_cause_that_names_no_failure_may_hide_any() -> None:
    failures, is_cut = failures_of_causes([FAILED, "see the console"])
    assert [each.subject for each in failures] == ["ep.expiry"]
    assert is_cut


def test_a_repeated_cause_counts_once() -> None:
    assert failures_of_causes([FAILED, FAILED]) == failures_of_causes([FAILED])


def test_without_causes_there_is_no_failure() -> None:
    assert failures_of_causes([]) == ((), False)


def test_an_overlong_list_of_failures_is_cut() -> None:
    causes = [FAILED.replace("expiry", f"expiry{number}") for number in range(MOST + 1)]
    failures, is_cut = failures_of_causes(causes)
    assert (len(failures), is_cut) == (MOST, True)


@pytest.mark.parametrize(
    ("cause", "kind", "subject", "text"),
    [
        (
            (
                "Failure of a CTest test [2020-09-15T16:55:16.339Z] 170/409 Test #167: "
                "store-unit_tests.Persistent/ConnectionTest ..............................................."
            ),
            FailureKind.TEST,
            "store-unit_tests.Persistent/ConnectionTest",
            "Failed",
        ),
        (
            "Failure of a CTest test  49/198 Test  #49: store_suite.value_eviction.comp_passive ......",
            FailureKind.TEST,
            "store_suite.value_eviction.comp_passive",
            "Failed",
        ),
        (
            (
                'Compile error at ..\\store\\protocol\\connection.cc(700): error C2440: "initializing": '
                'cannot convert from "unsigned char *" to "std::size_t"'
            ),
            FailureKind.COMPILE,
            "store/protocol/connection.cc",
            'error C2440: "initializing": cannot convert from "unsigned char *" to "std::size_t"',
        ),
    ],
)
@pytest.mark.parametrize("link", ["", " ( https://ci.example.com/job/store/job/master/5895/ )"])
def test_the_causes_of_recorded_builds_are_recognised(
    cause: str, kind: FailureKind, subject: str, text: str, link: str
) -> None:
    """The link differs from build to build, and from job to job."""
    [failure], is_cut = failures_of_causes([cause + link])
    signature = signature_of(failure)
    assert (signature.kind, signature.subject, signature.text) == (kind, subject, text)
    assert not is_cut


def test_a_cause_that_only_a_configured_pattern_knows_is_its_failure() -> None:
    patterns = read_patterns("fleet: '^agent (?P<subject>\\S+) is gone'", "patterns.yaml")
    failures, is_cut = failures_of_causes([FAILED, "agent a7 is gone"], patterns)
    assert [(each.kind, each.subject) for each in failures] == [
        (FailureKind.TEST, "ep.expiry"),
        (FailureKind.CONFIGURED, "a7"),
    ]
    assert not is_cut


def test_a_configured_pattern_replaces_a_commands_mere_end() -> None:
    text = "fetch from 10.0.0.7:29418: Connection refused"
    [failure], _ = failures_of_causes([text])
    assert failure.kind is FailureKind.COMMAND

    patterns = read_patterns("git-server: 'Connection refused$'\nall: '.+'", "patterns.yaml")
    found, _ = failures_of_causes([text, FAILED], patterns)
    assert [(each.kind, each.headline) for each in found] == [
        (FailureKind.CONFIGURED, f"git-server: {text}"),
        (FailureKind.TEST, "Failed"),
    ]


END = "collect2: error: ld returned 1 exit status"


def test_a_linkers_end_is_left_out_beside_the_cause_that_it_reported() -> None:
    [failure], is_cut = failures_of_causes([END, "a.o: undefined reference to `f()'"])
    assert (failure.subject, is_cut) == ("f()", False)


def test_the_end_of_a_linker_stays_beside_the_causes_of_others() -> None:
    failures, _ = failures_of_causes([FAILED, COMPILE, END])
    assert [each.kind for each in failures] == [FailureKind.TEST, FailureKind.COMPILE, FailureKind.LINK]
