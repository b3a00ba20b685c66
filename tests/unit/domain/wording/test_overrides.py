from __future__ import annotations

import math
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.domain.measuring.metric import Better
from service.domain.runs.overrides import Override, OverrideKind
from service.domain.runs.slowdown import Slowdown
from service.domain.runs.waivers import Beyond
from service.domain.values.text import plain
from service.domain.wording.overrides import accepted_levels, beyond_sentences, bug_comment, override_sentence

OVERRIDE = Override(
    id=1,
    kind=OverrideKind.OVERRIDE,
    revision="e56acc924a4bc8aa0b1a93f480297040f1a91e7b",
    bug="MB-37948",
    reason="known intermittent failure",
    who="Bob Reviewer",
    account="1000003",
    at=datetime(2026, 11, 21, 12, tzinfo=UTC),
)
ACCEPT = replace(OVERRIDE, kind=OverrideKind.ACCEPT, filter="HTB/*", bug="", reason="safer locks")
UNDO = replace(OVERRIDE, kind=OverrideKind.UNDO, bug="", reason="")
PERSON_VOTE = replace(OVERRIDE, kind=OverrideKind.PERSON_VOTE, reason="Overriding buildbot (MB-37948)")


@pytest.mark.parametrize(
    ("made", "line"),
    [
        (OVERRIDE, "overridden by Bob Reviewer: known intermittent failure (MB-37948)"),
        (replace(OVERRIDE, reason="see MB-37948"), "overridden by Bob Reviewer: see MB-37948"),
        (replace(OVERRIDE, bug="MB-3"), "overridden by Bob Reviewer: known intermittent failure (MB-3)"),
        (replace(OVERRIDE, bug="MB-3", reason="as MB-37"), "overridden by Bob Reviewer: as MB-37 (MB-3)"),
        (replace(OVERRIDE, reason=""), "overridden by Bob Reviewer (MB-37948)"),
        (replace(OVERRIDE, who="", bug=""), "overridden by somebody: known intermittent failure"),
        (ACCEPT, "HTB/* accepted by Bob Reviewer: safer locks"),
        (UNDO, "overrides revoked by Bob Reviewer"),
        (
            PERSON_VOTE,
            "overridden on the review server by Bob Reviewer: Overriding buildbot (MB-37948)",
        ),
        (
            replace(OVERRIDE, who="Bob\nBuild Successful\u202e", reason="{who}\r\nx", bug="MB-1\n"),
            "overridden by Bob Build Successful: {who} x (MB-1)",
        ),
    ],
)
def test_an_override_names_the_person_the_reason_and_the_bug(made: Override, line: str) -> None:
    assert override_sentence(made) == line


TIME = Slowdown("HTB/Insert", "cpu_time", Better.LOWER, 0.25, 0.23, 0.27)
RATE = Slowdown("HTB/Insert", "items_per_second", Better.HIGHER, 0.25, 0.23, 0.27)


def test_the_levels_of_an_accept_name_each_metric() -> None:
    assert accepted_levels((TIME, RATE, replace(TIME, most=math.inf))) == (
        "HTB/Insert CPU time up to +27.0 %",
        "HTB/Insert items/s up to −27.0 %",
        "HTB/Insert CPU time at any size",
    )


def test_the_levels_of_several_jobs_name_them() -> None:
    arm, x86 = (replace(TIME, job=job, suite="bench") for job in ("arm", "x86"))

    assert accepted_levels((arm, replace(x86, most=math.inf))) == (
        "HTB/Insert CPU time in arm/bench up to +27.0 %",
        "HTB/Insert CPU time in x86/bench at any size",
    )
    assert accepted_levels((arm,)) == ("HTB/Insert CPU time up to +27.0 %",)


@pytest.mark.parametrize("levels", [None, ()])
def test_an_accept_may_have_no_levels(levels: tuple[Slowdown, ...] | None) -> None:
    assert accepted_levels(levels) == ()


@pytest.mark.parametrize(
    ("beyond", "line"),
    [
        (
            Beyond(RATE, ACCEPT, 0.12),
            "HTB/Insert items/s: accepted up to −12.0 % by Bob Reviewer, now −25.0 % [−27.0, −23.0]",
        ),
        (
            Beyond(TIME, ACCEPT, -math.inf),
            "HTB/Insert CPU time: not slower when Bob Reviewer accepted HTB/*, now +25.0 % [+23.0, +27.0]",
        ),
        (
            Beyond(replace(TIME, most=math.inf, job="arm", suite="bench"), ACCEPT, -math.inf),
            "HTB/Insert CPU time: not slower in arm/bench when Bob Reviewer accepted HTB/*, now +25.0 %",
        ),
        (
            Beyond(replace(TIME, most=math.inf), ACCEPT, 0.12),
            "HTB/Insert CPU time: accepted up to +12.0 % by Bob Reviewer, now +25.0 %",
        ),
    ],
)
def test_a_slow_down_beyond_its_acceptance_is_named_with_both_levels(beyond: Beyond, line: str) -> None:
    assert beyond_sentences([beyond]) == (line,)


def test_the_worst_slow_downs_beyond_their_acceptance_come_first_and_the_others_are_counted() -> None:
    beyond = [Beyond(replace(TIME, benchmark=f"BM_{n}", worsening=n / 10), ACCEPT, 0.0) for n in range(1, 6)]

    lines = beyond_sentences(beyond)

    assert [line.split()[0] for line in lines] == ["BM_5", "BM_4", "BM_3", "2"]
    assert lines[-1] == "2 more worse than accepted"


@given(st.sampled_from(OverrideKind), st.text(), st.text(), st.text(), st.text())
def test_the_sentence_is_one_line_of_bounded_length(
    kind: OverrideKind, who: str, reason: str, bug: str, chosen: str
) -> None:
    line = override_sentence(replace(OVERRIDE, kind=kind, who=who, reason=reason, bug=bug, filter=chosen))

    assert plain(line, 2000) == line.strip()
    assert len(line) < 1200


def test_the_comment_on_a_bug_names_the_builds_and_the_known_failure() -> None:
    link = "https://ci.example.com/failures/3"
    begin, end = "Benchgate: known failures of this bug matched", f"until now.\n{link}"
    assert bug_comment(1, link) == f"{begin} one failed build {end}"
    assert bug_comment(12, link) == f"{begin} 12 failed builds {end}"
