"""Ends of both sides before they are measured: a fault of the patch alone is never a +1."""

from __future__ import annotations

from itertools import product

import pytest

from service.domain.runs.side_end import (
    Parent,
    SideEnd,
    Stage,
    gravest,
    outcome_after_rehearsal,
    outcome_of_sides,
)
from service.domain.runs.vote import CONSEQUENCES, Counts, Outcome
from service.domain.values.identity import Side

EMPTY = SideEnd(Stage.LISTING, "suite s", "lists no benchmark", is_empty=True)
OFFLINE = SideEnd(Stage.CONFIGURE, "configure failed", "no network", misses_input=True)
LATE = SideEnd(Stage.COMPILE, "compile failed", "no network", misses_input=True)
FOREIGN = SideEnd(Stage.CHECKOUT, "submodule lib", "not fetched from there", is_foreign=True)
ENDS = (None, EMPTY, OFFLINE, LATE, FOREIGN, *(SideEnd(stage, "x", "exit code 1") for stage in Stage))
CASES = [
    (patch, base, parent)
    for patch, base, parent in product(ENDS, ENDS, Parent)
    if base is None or parent is not Parent.NONE
]


def at(stage: Stage) -> SideEnd:
    return SideEnd(stage, "x", "exit code 1")


@pytest.mark.parametrize(
    ("patch", "base", "parent", "outcome"),
    [
        (None, None, Parent.MERGED, None),
        (None, None, Parent.NONE, Outcome.NO_PARENT),
        (at(Stage.COMPILE), None, Parent.NONE, Outcome.FAILED),
        (at(Stage.CHECKOUT), None, Parent.MERGED, Outcome.FAILED),
        (at(Stage.CHECKOUT), at(Stage.CHECKOUT), Parent.MERGED, Outcome.PARENT_BROKEN),
        (at(Stage.COMPILE), None, Parent.MERGED, Outcome.FAILED),
        (at(Stage.PROGRAM), at(Stage.LISTING), Parent.MERGED, Outcome.FAILED),
        (at(Stage.LISTING), None, Parent.UNMERGED, Outcome.MEASURED_NOTHING),
        (at(Stage.LAUNCH), EMPTY, Parent.MERGED, Outcome.MEASURED_NOTHING),
        (EMPTY, None, Parent.MERGED, Outcome.MEASURED_NOTHING),
        (at(Stage.CONFIGURE), at(Stage.COMPILE), Parent.MERGED, Outcome.FAILED),
        (at(Stage.COMPILE), at(Stage.COMPILE), Parent.MERGED, Outcome.PARENT_BROKEN),
        (at(Stage.COMPILE), at(Stage.CONFIGURE), Parent.MERGED, Outcome.PARENT_BROKEN),
        (at(Stage.PROGRAM), at(Stage.PROGRAM), Parent.MERGED, Outcome.MISCONFIGURED),
        (EMPTY, EMPTY, Parent.MERGED, Outcome.MISCONFIGURED),
        (at(Stage.LAUNCH), at(Stage.LAUNCH), Parent.MERGED, Outcome.MISCONFIGURED),
        (FOREIGN, None, Parent.NONE, Outcome.MISCONFIGURED),
        (FOREIGN, None, Parent.MERGED, Outcome.MISCONFIGURED),
        (FOREIGN, FOREIGN, Parent.UNMERGED, Outcome.MISCONFIGURED),
        (None, FOREIGN, Parent.MERGED, Outcome.NO_PARENT),
        (None, FOREIGN, Parent.UNMERGED, Outcome.PARENT_BROKEN),
        (OFFLINE, OFFLINE, Parent.MERGED, Outcome.MISCONFIGURED),
        (OFFLINE, LATE, Parent.UNMERGED, Outcome.MISCONFIGURED),
        (OFFLINE, None, Parent.MERGED, Outcome.FAILED),
        (OFFLINE, at(Stage.COMPILE), Parent.MERGED, Outcome.FAILED),
        (at(Stage.CONFIGURE), OFFLINE, Parent.MERGED, Outcome.PARENT_BROKEN),
        (None, OFFLINE, Parent.MERGED, Outcome.NO_PARENT),
        (None, EMPTY, Parent.MERGED, None),
        (None, at(Stage.COMPILE), Parent.MERGED, Outcome.NO_PARENT),
        (None, at(Stage.LAUNCH), Parent.MERGED, Outcome.NO_PARENT),
        (None, at(Stage.COMPILE), Parent.UNMERGED, Outcome.PARENT_BROKEN),
    ],
)
def test_each_pair_of_ends_has_its_outcome(
    patch: SideEnd | None, base: SideEnd | None, parent: Parent, outcome: Outcome | None
) -> None:
    assert outcome_of_sides(patch, base, parent) is outcome


def ends_that_count(counts: Counts) -> list[tuple[SideEnd | None, SideEnd | None, Parent]]:
    outcomes = ((case, outcome_of_sides(*case)) for case in CASES)
    return [case for case, outcome in outcomes if outcome and CONSEQUENCES[outcome].counts is counts]


def test_a_plus_needs_a_patch_that_runs_and_a_parent_that_nobody_chose() -> None:
    passed = ends_that_count(Counts.PASS)

    assert passed
    for patch, base, parent in passed:
        assert patch is None, (patch, base, parent)
        assert parent is Parent.NONE or (base is not None and parent is Parent.MERGED), (base, parent)


def test_a_minus_needs_a_parent_that_got_further() -> None:
    failed = ends_that_count(Counts.FAIL)

    assert failed
    for patch, base, parent in failed:
        assert patch is not None, (base, parent)
        assert base is None or base.is_empty or base.stage > patch.stage, (patch, base, parent)


def test_the_same_program_is_no_fault_of_the_patch() -> None:
    outcome = outcome_of_sides(at(Stage.LAUNCH), None, Parent.MERGED, is_same_program=True)

    assert outcome is Outcome.INFRASTRUCTURE


@pytest.mark.parametrize(
    ("side", "is_same_program", "outcome"),
    [
        (Side.PATCH, False, Outcome.MEASURED_NOTHING),
        (Side.PATCH, True, Outcome.INFRASTRUCTURE),
        (Side.BASE, False, Outcome.INFRASTRUCTURE),
        (Side.BASE, True, Outcome.INFRASTRUCTURE),
    ],
)
def test_a_parent_that_fails_after_its_rehearsal_gives_no_vote(
    side: Side, outcome: Outcome, *, is_same_program: bool
) -> None:
    assert outcome_after_rehearsal(side, is_same_program=is_same_program) is outcome


def test_the_gravest_of_the_suites_is_that_of_the_build() -> None:
    assert gravest([None, None]) is None
    assert gravest([Outcome.NO_PARENT, Outcome.NO_PARENT]) is Outcome.NO_PARENT
    assert gravest([Outcome.NO_PARENT, Outcome.MISCONFIGURED]) is Outcome.MISCONFIGURED
    assert gravest([Outcome.MISCONFIGURED, Outcome.MEASURED_NOTHING]) is Outcome.MEASURED_NOTHING


def test_a_suite_that_can_be_compared_is_measured_beside_one_that_cannot() -> None:
    assert gravest([None, Outcome.NO_PARENT]) is None
    assert gravest([Outcome.MISCONFIGURED, None]) is Outcome.MISCONFIGURED
    assert gravest([None, Outcome.MEASURED_NOTHING]) is Outcome.MEASURED_NOTHING
