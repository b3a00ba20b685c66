from __future__ import annotations

import pytest

from dashboards.runs.badges import badge_of
from service.domain.runs.states import BuildState, RunState
from service.domain.runs.vote import Result
from service.domain.values.identity import RunKind
from service.ports.runs.shown import CountedBuild, Standing, Tally

UNTIL = "not counted until 40 A/A pairs"


def check(vote: int | None = 1, state: RunState = RunState.FINISHED, **more: object) -> Standing:
    return Standing(kind=RunKind.CHECK, state=state, vote=vote, **more)  # type: ignore[arg-type]


def merged(state: RunState = RunState.FINISHED, **more: object) -> Standing:
    return Standing(kind=RunKind.POST_SUBMIT, state=state, vote=1, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("standing", "tone", "text"),
    [
        (check(), "good", "+1"),
        (check(waivers=("overridden MB-12",)), "busy", "+1 · overridden MB-12"),
        (
            check(tally=Tally(results=3, slower=1, not_counted=(UNTIL,)), undecided=2),
            "busy",
            "+1 · 1 slower, not counted until 40 A/A pairs · 2 undecided",
        ),
        (check(-1, tally=Tally(results=3, slower=2)), "bad", "−1"),
        (check(tally=Tally(results=3, slower=1)), "busy", "+1 · 1 slower, not counted"),
        (check(tally=Tally(results=3, slower=1), waivers=("accepted",), waived=1), "busy", "+1 · accepted"),
        (
            check(tally=Tally(results=3, slower=3), waivers=("accepted",), waived=1),
            "busy",
            "+1 · accepted · 2 slower, not counted",
        ),
        (check(None), "quiet", "no vote"),
        (Standing(), "quiet", "no vote"),
        (check(None, RunState.CANCELLED), "quiet", "cancelled"),
    ],
)
def test_a_vote_says_what_it_stands_on(standing: Standing, tone: str, text: str) -> None:
    badge = badge_of(standing)
    assert (badge.tone, badge.text) == (tone, text)


@pytest.mark.parametrize(
    ("standing", "tone", "text"),
    [
        (check(None, RunState.PLANNING), "busy", "planning"),
        (check(None, RunState.RUNNING), "busy", "running"),
        (check(None, RunState.RUNNING, place=2), "busy", "queued, 2nd"),
        (check(None, RunState.RUNNING, place=2, wait=480.0), "busy", "queued, 2nd, about 8 min"),
        (check(None, RunState.RUNNING, place=1, wait=12.0), "busy", "queued, 1st"),
        (check(1, RunState.RUNNING, is_measuring=True), "busy", "+1 · measuring again"),
        (check(1, RunState.RUNNING, place=2, wait=480.0), "busy", "+1 · queued again, 2nd, about 8 min"),
        (check(1, RunState.RUNNING, undecided=2), "busy", "+1 · running again"),
        (check(1, RunState.RUNNING, place=1), "busy", "+1 · queued again, 1st"),
        (check(-1, RunState.PLANNING), "bad", "−1 · planning again"),
    ],
)
def test_an_unfinished_run_says_whether_it_waits_and_that_it_is_another_one(
    standing: Standing, tone: str, text: str
) -> None:
    badge = badge_of(standing)
    assert (badge.tone, badge.text) == (tone, text)


@pytest.mark.parametrize(
    ("standing", "tone", "text"),
    [
        (
            merged(result=Result.FAILURE, tally=Tally(results=1, slower=1, worst=0.919)),
            "bad",
            "1 of 1 is slower, −8.1 %",
        ),
        (
            merged(
                result=Result.SUCCESS, tally=Tally(results=9, slower=2, worst=1.5, not_counted=(UNTIL,) * 2)
            ),
            "busy",
            f"2 of 9 are slower, +50.0 %, {UNTIL}",
        ),
        (merged(result=Result.FAILURE, tally=Tally(results=9)), "bad", "failed"),
        (merged(result=Result.SUCCESS, tally=Tally(results=9), undecided=3), "busy", "3 of 9 undecided"),
        (merged(result=Result.SUCCESS, tally=Tally(results=9, faster=1)), "good", "1 of 9 faster"),
        (merged(result=Result.SUCCESS, tally=Tally(results=9)), "good", "nothing slower"),
        (merged(result=Result.SUCCESS), "good", "passed"),
        (merged(result=Result.ABORTED, tally=Tally(results=9)), "busy", "nothing slower"),
        (merged(result=Result.NOT_BUILT), "quiet", "nothing to build"),
        (merged(RunState.RUNNING, place=3), "busy", "queued, 3rd"),
    ],
)
def test_a_merged_change_has_the_result_of_the_run_after_the_merge(
    standing: Standing, tone: str, text: str
) -> None:
    badge = badge_of(standing)
    assert (badge.tone, badge.text) == (tone, f"merged: {text}")


def test_tallies_add_up_to_the_worst_in_either_direction() -> None:
    parts = [Tally(results=2, slower=1, worst=0.9), Tally(results=3), Tally(results=1, slower=1, worst=1.3)]
    assert sum(parts, Tally()) == Tally(results=6, slower=2, worst=1.3)


def test_a_patch_set_waits_for_the_first_of_its_builds_to_begin_whatever_its_place() -> None:
    queued = [
        CountedBuild(state=BuildState.QUEUED, result=None, undecided=0, place=place, wait=wait)
        for place, wait in ((1, 900.0), (2, 120.0), (3, None))
    ]
    standing = Standing.of(RunKind.CHECK, RunState.RUNNING, None, queued)
    assert (standing.place, standing.wait) == (1, 120.0)


def test_only_the_slow_downs_of_waived_builds_are_waived() -> None:
    builds = [
        CountedBuild(
            state=BuildState.FINISHED,
            result=Result.FAILURE,
            undecided=0,
            tally=Tally(results=4, slower=2, not_counted=(UNTIL,)),
            waiver=waiver,
        )
        for waiver in ("accepted", "")
    ]
    assert Standing.of(RunKind.CHECK, RunState.FINISHED, 1, builds).waived == 1
