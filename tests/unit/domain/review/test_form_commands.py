"""Commands from the fields of forms."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from service.domain.review.comment_commands import (
    MAX_FILTER,
    MAX_REASON,
    AcceptCommand,
    CancelCommand,
    MorePairsCommand,
    OverrideCommand,
    RecheckCommand,
    UndoOverrideCommand,
)
from service.domain.review.form_commands import command_from
from service.domain.values.errors import BadInput

if TYPE_CHECKING:
    from service.domain.review.form_commands import FormCommand


@pytest.mark.parametrize(
    ("form", "command"),
    [
        ({"action": "recheck"}, RecheckCommand()),
        ({"action": "recheck", "job": "perf docs"}, RecheckCommand(("perf", "docs"))),
        ({"action": "benchmark", "filter": "BM_", "pairs": "64"}, MorePairsCommand("BM_", 64)),
        ({"action": "benchmark", "filter": "BM_", "pairs": ""}, MorePairsCommand("BM_")),
        ({"action": "cancel"}, CancelCommand()),
        ({"action": "override", "bug": "MB-1", "reason": "a"}, OverrideCommand("MB-1", "a")),
        (
            {"action": "override", "bug": " MB-1 ", "reason": " so  it is ", "job": "perf"},
            OverrideCommand("MB-1", "so it is", "perf"),
        ),
        ({"action": "accept", "filter": "BM_", "reason": "wanted"}, AcceptCommand("BM_", "wanted")),
        ({"action": "override undo"}, UndoOverrideCommand()),
    ],
)
def test_a_form_is_a_command(form: dict[str, str], command: FormCommand) -> None:
    assert command_from(form) == command


@pytest.mark.parametrize(
    ("form", "message"),
    [
        ({}, r"action: must be one of recheck, .*, not ''"),
        ({"action": "ok-to-test"}, "action: must be one of recheck"),
        ({"action": "override", "reason": "flaky"}, "bug: is missing: name it like MB-123"),
        ({"action": "override", "bug": "MB-1", "reason": "  "}, "reason: is missing: say why"),
        (
            {"action": "accept", "reason": "wanted"},
            "filter: is missing: write a part of",
        ),
        ({"action": "benchmark", "filter": "BM_", "pairs": "²"}, "pairs: must be a number, not '²'"),
    ],
)
def test_an_incomplete_form_names_the_field(form: dict[str, str], message: str) -> None:
    with pytest.raises(BadInput, match=message):
        command_from(form)


@pytest.mark.parametrize("end", ["\ncancel", "\u2028cancel", "\x00", "\u202e"])
@pytest.mark.parametrize("name", ["bug", "reason", "job"])
def test_each_field_is_one_short_line(name: str, end: str) -> None:
    form = {"action": "override", "bug": "MB-1", "reason": "flaky again", "job": "perf"}
    with pytest.raises(BadInput, match=f"{name}: must "):
        command_from({**form, name: form[name] + end})


@pytest.mark.parametrize("pattern", ['BM_"', "`BM_", "BM_\ncancel", "x" * (MAX_FILTER + 1)])
@pytest.mark.parametrize("action", ["accept", "benchmark"])
def test_a_filter_is_one_that_a_comment_can_have(action: str, pattern: str) -> None:
    with pytest.raises(BadInput, match="filter: must "):
        command_from({"action": action, "filter": pattern, "reason": "so be it"})


def test_a_reason_is_short_and_the_jobs_may_be_many() -> None:
    form = {"action": "override", "bug": "MB-1", "reason": "x" * (MAX_REASON + 1)}
    with pytest.raises(BadInput, match="reason: must have at most 500 characters, not 501"):
        command_from(form)
    jobs = tuple(f"job-{number}" for number in range(200))
    assert command_from({"action": "recheck", "job": " ".join(jobs)}) == RecheckCommand(jobs)
