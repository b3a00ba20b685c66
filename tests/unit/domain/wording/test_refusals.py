from __future__ import annotations

from service.domain.wording import refusals


def test_held_code_names_the_cause_and_the_remedy() -> None:
    assert refusals.held(refusals.not_trusted("Eve\u202e", "perf"), "perf") == (
        "untrusted code is not run: Eve is not a member of perf; "
        "a member of perf can approve it with `ok-to-test`"
    )


def test_a_person_without_a_name_is_the_uploader() -> None:
    assert refusals.not_trusted("", "perf") == "its uploader is not a member of perf"


def test_a_fault_is_reported_without_a_remedy() -> None:
    assert refusals.untrusted("no group perf") == "untrusted code is not run: no group perf"


def test_an_abandoned_run_names_the_failure() -> None:
    assert refusals.not_planned("Transient: git") == "the run could not be planned: Transient: git"


def test_an_abandoned_vote_names_the_failure_and_the_remedy() -> None:
    assert refusals.not_decided("Transient: database") == (
        "the vote could not be decided: Transient: database; `recheck` tries again"
    )
