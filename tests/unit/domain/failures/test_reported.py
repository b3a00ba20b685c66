"""The causes of another CI become failures; one that names none makes the list incomplete."""

from __future__ import annotations

from service.domain.failures.failure import MOST, FailureKind
from service.domain.failures.reported import failures_of_causes

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


def test_a_cause_that_is_repeated_counts_once() -> None:
    assert failures_of_causes([FAILED, FAILED]) == failures_of_causes([FAILED])


def test_without_causes_there_is_no_failure() -> None:
    assert failures_of_causes([]) == ((), False)


def test_of_too_many_failures_the_list_is_cut() -> None:
    causes = [FAILED.replace("expiry", f"expiry{number}") for number in range(MOST + 1)]
    failures, is_cut = failures_of_causes(causes)
    assert (len(failures), is_cut) == (MOST, True)
