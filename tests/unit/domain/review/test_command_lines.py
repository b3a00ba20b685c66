"""Commands written as lines of a comment."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.domain.review.comment_commands import (
    MAX_FILTER,
    MAX_REASON,
    AcceptCommand,
    CancelCommand,
    MorePairsCommand,
    OkToTestCommand,
    OverrideCommand,
    RecheckCommand,
    UndoOverrideCommand,
    commands_in,
    line_of,
)
from service.domain.values.errors import BadInput

if TYPE_CHECKING:
    from service.domain.review.comment_commands import ReviewCommand

JOBS = ("perf", "group/kv_engine.macos", "all", "undo", "MB-1", "#7", "recheck", "-", "x20")
TEXTS = st.one_of(
    st.text(st.characters(codec=None), max_size=40),
    st.text('aA1 "`\n>x#-:/*\t', max_size=30),
    st.sampled_from(["MB-1", "flaky", "undo", "all", "x20", "cancel", "> ", "    cancel", "a\ncancel"]),
)
JOB_NAMES = st.one_of(st.sampled_from(JOBS), TEXTS)
RECHECKS = st.builds(RecheckCommand, st.lists(JOB_NAMES, max_size=4).map(tuple), st.booleans())
BUGS = st.one_of(st.sampled_from(["MB-1", "#7", "https://bugs.example.com/1", "MB-1:"]), TEXTS)
ANY_COMMAND = st.one_of(
    RECHECKS,
    st.builds(MorePairsCommand, TEXTS, st.none() | st.integers(-1, 20_000)),
    st.builds(OverrideCommand, BUGS, TEXTS, st.just("") | JOB_NAMES),
    st.builds(AcceptCommand, TEXTS, TEXTS),
    st.sampled_from([CancelCommand(), UndoOverrideCommand(), OkToTestCommand()]),
)


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
        (OkToTestCommand(), "ok-to-test"),
    ],
)
def test_a_command_is_written_as_people_write_it(command: ReviewCommand, line: str) -> None:
    assert line_of(command, JOBS) == line


@given(ANY_COMMAND, st.sets(st.sampled_from(JOBS)))
def test_a_written_command_is_parsed_as_itself_and_nothing_else(
    command: ReviewCommand, jobs: set[str]
) -> None:
    try:
        line = line_of(command, jobs)
    except BadInput:
        return
    assert "\n" not in line
    assert commands_in(line, jobs) == (command,)


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (OverrideCommand("MB-1", "flaky\ncancel"), "reason: must be one line"),
        (OverrideCommand("MB-1", "flaky\u2028cancel"), "reason: must be one line"),
        (OverrideCommand("MB-1", "fl\x00aky"), "reason: must be one line"),
        (OverrideCommand("MB-1", "fl\u202eaky"), "reason: must be one line"),
        (
            OverrideCommand("MB-1", "x" * (MAX_REASON + 1)),
            "must have at most 500 characters, not 501",
        ),
        (OverrideCommand("MB-1", ""), "override: write `override BUG-ID REASON`"),
        (OverrideCommand("nothing", "flaky"), "override: write `override BUG-ID REASON`"),
        (OverrideCommand("MB-1", "flaky", "gone"), "the jobs are "),
        (RecheckCommand(("gone",)), "recheck: write `recheck` .* the jobs are "),
        (AcceptCommand("", "wanted"), "filter: must have 1 to 200 characters"),
        (AcceptCommand("x" * (MAX_FILTER + 1), "wanted"), "filter: must have 1 to 200 characters"),
        (AcceptCommand('BM_"', "wanted"), "filter: must be one line without quotation marks"),
        (AcceptCommand("BM_\ncancel", "wanted"), "filter: must be one line"),
        (MorePairsCommand("BM_", 100_000), "benchmark: write `benchmark FILTER`"),
    ],
)
def test_the_error_names_the_part_that_no_line_can_hold(command: ReviewCommand, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        line_of(command, JOBS)
