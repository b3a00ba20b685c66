"""Check a command from a form, and write its line for pages."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

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
