"""Check a command from a form, and write its line for pages."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from service.domain.review.comment_commands import (
    AcceptCommand,
    CancelCommand,
    Misspelt,
    MorePairsCommand,
    OverrideCommand,
    RecheckCommand,
    UndoOverrideCommand,
    commands_in,
)
from service.domain.review.form_commands import check_command, line_of, still_allowed
from service.domain.values.errors import BadInput

if TYPE_CHECKING:
    from service.domain.review.form_commands import FormCommand

JOBS = ("perf", "group/kv_engine.macos", "all", "undo", "MB-1", "#7", "recheck", "-", "x20")


@pytest.mark.parametrize(
    ("command", "line"),
    [
        (RecheckCommand(), "recheck"),
        (RecheckCommand(is_all=True), "recheck all"),
        (RecheckCommand(("perf", "group/kv_engine.macos")), "recheck perf group/kv_engine.macos"),
        (MorePairsCommand("BM_Sort/64"), "benchmark BM_Sort/64"),
        (MorePairsCommand("insert", 64), 'benchmark "insert" x64'),
        (MorePairsCommand("BM_Map<int, int>", 64), 'benchmark "BM_Map<int, int>" x64'),
        (CancelCommand(), "cancel"),
        (OverrideCommand("MB-2", "flaky since Monday"), "override MB-2 flaky since Monday"),
        (OverrideCommand("#7", "flaky again", "perf"), "override perf #7 flaky again"),
        (UndoOverrideCommand(), "override undo"),
        (AcceptCommand("BM_Sort", "safer locks"), "accept BM_Sort safer locks"),
        (AcceptCommand("Sort", "x2 is fine"), 'accept "Sort" x2 is fine'),
    ],
)
def test_a_command_is_written_as_people_write_it(command: FormCommand, line: str) -> None:
    assert line_of(command) == line
    assert commands_in(line, JOBS) == (command,)
    assert still_allowed(command, JOBS) == command


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (OverrideCommand("MB-1", ""), "override: write `override BUG-ID REASON`"),
        (OverrideCommand("nothing", "flaky"), "override: write `override BUG-ID REASON`"),
        (OverrideCommand("MB-1", "flaky", "gone"), "the jobs are "),
        (RecheckCommand(("gone",)), "recheck: write `recheck` .* the jobs are "),
        (AcceptCommand("BM_", "-"), "accept: write `accept FILTER REASON`"),
        (OverrideCommand("MB-1", "flaky"), "override: write `override BUG-ID REASON`"),
        (MorePairsCommand("BM_", 0), "benchmark: write `benchmark FILTER`"),
        (MorePairsCommand("BM_", 100_000), "benchmark: write `benchmark FILTER`"),
    ],
)
def test_the_error_says_how_to_write_the_command(command: FormCommand, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        check_command(command, JOBS)


def test_a_bug_that_is_also_a_job_needs_the_job_before_another_bug() -> None:
    with pytest.raises(BadInput, match="MB-1 is also a job: choose the job"):
        check_command(OverrideCommand("MB-1", "MB-2 flaky for days"), JOBS)
    check_command(OverrideCommand("MB-1", "flaky for days"), JOBS)
    check_command(OverrideCommand("MB-1", "MB-2 flaky for days", is_known=True), JOBS)
    check_command(OverrideCommand("MB-1", "MB-2 flaky for days", "perf"), JOBS)


@pytest.mark.parametrize("word", ["known-failure", "Known_failures:"])
@pytest.mark.parametrize("is_known", [False, True])
def test_a_reason_that_would_read_as_a_known_failure_is_refused(word: str, *, is_known: bool) -> None:
    command = OverrideCommand("MB-1", f"{word} of the lab switch", is_known=is_known)
    with pytest.raises(BadInput, match="and does not begin with known-failure"):
        check_command(command, JOBS)
    assert isinstance(commands_in(f"override MB-1 known-failure {command.reason}", JOBS)[0], Misspelt)


WORDS = st.sampled_from(
    [
        "known-failure",
        "known_failures:",
        "known",
        "undo",
        "perf",
        "MB-1",
        "#7",
        "all",
        "x20",
        "of the lab",
        "it",
    ]
)


@example(bug="MB-1", words=["MB-1", "known-failure"], is_known=False)
@given(
    bug=st.sampled_from(["MB-1", "#7"]), words=st.lists(WORDS, min_size=1, max_size=4), is_known=st.booleans()
)
@pytest.mark.parametrize("job", ["", "perf", "undo"])
def test_every_override_that_a_form_accepts_is_read_back(
    bug: str, words: list[str], job: str, *, is_known: bool
) -> None:
    command = OverrideCommand(bug, " ".join(words), job, is_known)
    try:
        check_command(command, JOBS)
    except BadInput:
        return
    assert commands_in(line_of(command), JOBS) == (command,)


@pytest.mark.parametrize(
    "command", [RecheckCommand(("all",)), OverrideCommand("MB-1", "flaky since Monday", "undo")]
)
def test_a_job_may_have_the_name_of_a_word(command: FormCommand) -> None:
    assert still_allowed(command, JOBS) == command


def test_a_vanished_job_is_answered_like_a_misspelt_comment() -> None:
    command = OverrideCommand("MB-1", "flaky since Monday", "perf")
    found = still_allowed(command, ["docs"])
    assert isinstance(found, Misspelt)
    assert found.line == "override perf MB-1 flaky since Monday"
    assert found.expected.endswith("; the jobs are docs")
    assert commands_in(found.line, ["docs"]) == (found,)
