from __future__ import annotations

from dataclasses import replace

import pytest

from service.domain.project.job_kinds import OWN_FILE, JobKind
from service.domain.project.project_file import Permission
from service.domain.review.change import OTHER_WAYS
from service.domain.review.comment_commands import (
    AcceptCommand,
    Misspelt,
    MorePairsCommand,
    OverrideCommand,
    RecheckCommand,
    commands_in,
)
from service.domain.runs.overrides import ACCEPTABLE
from service.domain.runs.vote import CONSEQUENCES, Counts, Outcome
from service.domain.wording.next_steps import Destination, EndedBuild, last_lines, next_steps

ALL = tuple(Permission)
SLOWER = EndedBuild(
    job="perf",
    kind=JobKind("benchmark"),
    outcome=Outcome.SLOWER,
    seed="5f0c",
    slower=("BM_Checksum/64", "BM_Checksum/512"),
)


def lines(*builds: EndedBuild, permissions: tuple[Permission, ...] = ALL, is_open: bool = True) -> list[str]:
    return [step.line for step in next_steps(builds, permissions, is_open=is_open)]


def test_a_renamed_benchmark_can_be_accepted() -> None:
    removed = replace(SLOWER, outcome=Outcome.REMOVED, slower=("BM_Old/8",))
    assert lines(removed) == ["accept BM_Old/8 REASON", "override perf BUG-ID REASON"]


def test_a_slow_down_can_be_repeated_rechecked_accepted_and_overridden() -> None:
    assert lines(SLOWER) == [
        "benchgate gate --job perf --seed 5f0c",
        "recheck perf",
        "accept BM_Checksum/ REASON",
        "override perf BUG-ID REASON",
    ]


@pytest.mark.parametrize("outcome", Outcome)
def test_only_builds_that_a_command_can_help_have_next_steps(outcome: Outcome) -> None:
    build = replace(SLOWER, outcome=outcome, undecided=("BM_Checksum/64",))
    # The cause of a conflict says that the patch set is to be rebased.
    needs_none = outcome in {Outcome.PASSED, Outcome.NO_PARENT, Outcome.NOT_BUILT, Outcome.CONFLICT}
    assert bool(lines(build)) is not needs_none


@pytest.mark.parametrize("outcome", Outcome)
def test_an_override_is_proposed_for_failures_only(outcome: Outcome) -> None:
    is_failure = CONSEQUENCES[outcome].counts is Counts.FAIL
    assert ("override perf BUG-ID REASON" in lines(replace(SLOWER, outcome=outcome))) is is_failure


@pytest.mark.parametrize("outcome", Outcome)
def test_an_accept_is_proposed_for_what_can_be_accepted(outcome: Outcome) -> None:
    line = "accept BM_Checksum/ REASON"
    assert (line in lines(replace(SLOWER, outcome=outcome))) is (outcome in ACCEPTABLE)


def test_undecided_benchmarks_can_be_measured_longer() -> None:
    build = replace(SLOWER, outcome=Outcome.UNDECIDED, slower=(), undecided=("BM Sort", "BM Sort"))
    assert lines(build)[0] == 'benchmark "BM Sort" x64', "another machine has other noise"
    assert lines(replace(build, undecided=("Sort/1", "Find/1")))[0] == "benchmark * x64"
    # More pairs decide neither a layout effect nor an instruction count.
    assert lines(replace(build, undecided=()))[1:] == []


def test_a_failure_that_does_not_count_leaves_more_pairs_the_first_step() -> None:
    build = replace(SLOWER, outcome=Outcome.UNDECIDED, slower=(), undecided=("BM_Sort",))
    failed = replace(SLOWER, job="lint", outcome=Outcome.FAILED)
    assert lines(build, failed)[0].startswith("benchgate gate")
    assert lines(build, replace(failed, is_waived=True))[0] == "benchmark BM_Sort x64"
    assert lines(build, replace(failed, is_voting=False))[0] == "benchmark BM_Sort x64"


def test_only_enabled_commands_are_proposed() -> None:
    gate = "benchgate gate --job perf --seed 5f0c"
    assert lines(SLOWER, permissions=()) == [gate]
    assert lines(SLOWER, permissions=(Permission.RERUN,)) == [gate, "recheck perf"]
    assert lines(SLOWER, is_open=False) == [gate]


def test_a_project_without_commands_is_advised_to_enable_them() -> None:
    lost = replace(SLOWER, outcome=Outcome.INFRASTRUCTURE)
    (step,) = next_steps([lost], ())
    assert step.place is Destination.PROJECT_FILE
    assert step.line == "commands: {rerun: GROUP, override: GROUP}"
    assert next_steps([lost], (), is_open=False) == ()


def test_several_jobs_share_their_lines() -> None:
    lost = [replace(SLOWER, job=f"job-{n}", outcome=Outcome.INFRASTRUCTURE) for n in range(6)]
    assert lines(*lost[:2]) == ["recheck job-0 job-1"]
    assert lines(*lost) == ["recheck"]
    failed = [replace(each, outcome=Outcome.FAILED) for each in lost[:2]]
    assert lines(*failed) == ["benchgate gate --job job-0 --seed 5f0c", "override BUG-ID REASON"]


def test_the_line_to_repeat_names_the_job_that_failed() -> None:
    undecided = replace(SLOWER, job="other", outcome=Outcome.UNDECIDED)
    assert lines(undecided, SLOWER)[0] == "benchgate gate --job perf --seed 5f0c"


def test_a_waived_failure_and_a_job_without_a_vote_need_no_override() -> None:
    assert lines(replace(SLOWER, is_waived=True)) == []
    assert lines(replace(SLOWER, is_voting=False)) == [
        "benchgate gate --job perf --seed 5f0c",
        "recheck perf",
    ]


def test_names_with_nothing_in_common_are_not_accepted_by_one_filter_for_all() -> None:
    apart = replace(SLOWER, slower=("BM_Sort/8", "Checksum/64"))
    assert "accept FILTER REASON" in lines(apart)


@pytest.mark.parametrize(
    "kind", ["ctest", "gtest", "command", "clang-format", "clang-tidy", "clang-analyzer"]
)
def test_a_job_of_any_kind_that_benchgate_runs_can_be_repeated(kind: str) -> None:
    failed = EndedBuild(job="checks", kind=JobKind(kind), outcome=Outcome.FAILED)
    assert lines(failed)[0] == "benchgate gate --job checks"


def test_a_broken_project_file_is_checked_before_the_next_push() -> None:
    own = EndedBuild(job="benchgate.yaml", kind=JobKind(OWN_FILE), outcome=Outcome.FAILED)
    assert lines(own) == ["benchgate check benchgate.yaml", "override BUG-ID REASON"]


def test_builds_of_another_ci_are_repeated_there() -> None:
    elsewhere = replace(SLOWER, kind=JobKind("external"), outcome=Outcome.INFRASTRUCTURE)
    assert lines(elsewhere) == []


@pytest.mark.parametrize(
    "name",
    [
        "BM_Sort",
        "sort",
        "a name of words",
        "Fixture<int>::Run",
        "x`rm -rf /`",
        'BM_"quoted"',
        "BM_" + "x" * 300,
    ],
)
def test_every_proposed_command_is_one_that_benchgate_reads(name: str) -> None:
    build = replace(SLOWER, slower=(name,), undecided=(name,))
    proposed = lines(build, replace(build, job="other", outcome=Outcome.UNDECIDED))
    filled = [line.replace("BUG-ID REASON", "MB-1 a longer reason") for line in proposed[1:]]
    read = [
        command
        for line in filled
        for command in commands_in(line.replace("FILTER", "BM_"), ["perf", "other"])
    ]
    kinds = [RecheckCommand, MorePairsCommand, AcceptCommand, OverrideCommand]
    assert [type(command) for command in read] == kinds


def test_an_override_line_without_a_bug_is_refused() -> None:
    (answer,) = commands_in(lines(SLOWER)[-1], ["perf"])
    assert isinstance(answer, Misspelt)


def test_a_message_has_the_most_useful_step_and_leads_to_the_others() -> None:
    gate = "Next: repeat it on your machine: `benchgate gate --job perf --seed 5f0c`"
    assert last_lines(next_steps([SLOWER], ALL)) == (gate, OTHER_WAYS)
    assert last_lines(next_steps([SLOWER], ALL)[:1]) == (gate,)
    assert last_lines(()) == ()


def test_a_comment_command_in_a_message_is_named_as_one() -> None:
    lost = replace(SLOWER, outcome=Outcome.INFRASTRUCTURE)
    assert last_lines(next_steps([lost], ALL))[0] == "Next: run it again: comment `recheck perf`"


def test_an_override_is_advised_for_failures_that_the_patch_did_not_cause() -> None:
    elsewhere = replace(SLOWER, kind=JobKind("external"), outcome=Outcome.FAILED)
    assert last_lines(next_steps([elsewhere], ALL))[0] == (
        "Next: if the patch did not cause the failure, override it with a bug and a reason: "
        "comment `override perf BUG-ID REASON`"
    )
