"""Choose the commands that pages offer."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import pytest

from service.domain.project.job_kinds import OWN_FILE, JobKind
from service.domain.project.project_file import Permission
from service.domain.review.comment_commands import (
    AcceptCommand,
    CancelCommand,
    MorePairsCommand,
    OverrideCommand,
    RecheckCommand,
    UndoOverrideCommand,
)
from service.domain.review.form_commands import Action
from service.domain.runs.vote import CONSEQUENCES, Counts, Outcome
from service.domain.wording.next_steps import EndedBuild
from service.domain.wording.offers import Offer, Offers, RunCondition, offers_for

ALL = frozenset(Permission)
TRUSTED = frozenset({Permission.TRUSTED})
SLOWER = EndedBuild(
    job="perf",
    kind=JobKind("benchmark"),
    outcome=Outcome.SLOWER,
    slower=("BM_Checksum/64", "BM_Checksum/512"),
)
UNDECIDED = EndedBuild(
    job="more", kind=JobKind("benchmark"), outcome=Outcome.UNDECIDED, undecided=("BM_Sort/8", "BM_Sort/64")
)
GREEN = replace(SLOWER, outcome=Outcome.PASSED, slower=())
DOCS = replace(GREEN, job="docs")
ENDED = RunCondition(builds=[SLOWER], is_open=True, is_running=False, has_overrides=False)


def actions(run: RunCondition, permissions: frozenset[Permission] = ALL) -> list[Action]:
    return [offer.action for offer in offers_for(run, permissions).run]


def test_a_slow_down_can_be_rechecked_accepted_and_overridden() -> None:
    assert offers_for(ENDED, ALL) == Offers(
        run=(
            Offer(Action.RECHECK, ("perf",)),
            Offer(Action.ACCEPT, filter="BM_Checksum/"),
            Offer(Action.OVERRIDE, ("perf",)),
        ),
        rows={("perf", name): (Offer(Action.ACCEPT, filter=name),) for name in SLOWER.slower},
    )


def test_each_of_several_builds_has_its_own_offers() -> None:
    both = offers_for(replace(ENDED, builds=[SLOWER, replace(SLOWER, job="other"), UNDECIDED, DOCS]), ALL)
    assert both.run[0] == Offer(Action.RECHECK, ("perf", "other"))
    assert both.run[-1] == Offer(Action.OVERRIDE)
    assert both.builds["other"] == (Offer(Action.RECHECK, ("other",)), Offer(Action.OVERRIDE, ("other",)))
    assert set(both.builds) == {"perf", "other"}
    assert both.rows["more", "BM_Sort/8"] == (Offer(Action.MORE_PAIRS, filter="BM_Sort/8"),)


def test_beside_a_green_build_the_offers_for_the_run_are_enough() -> None:
    assert offers_for(replace(ENDED, builds=[SLOWER, DOCS]), ALL).builds == {}


def test_an_undecided_build_can_be_measured_longer() -> None:
    run = replace(ENDED, builds=[UNDECIDED])
    assert offers_for(run, ALL).run == (Offer(Action.MORE_PAIRS, filter="BM_Sort/"),)


def test_a_form_never_accepts_everything_by_itself() -> None:
    unlike = replace(SLOWER, slower=("BM_Checksum/64", "Insert"))
    assert Offer(Action.ACCEPT, filter="") in offers_for(replace(ENDED, builds=[unlike]), ALL).run


@pytest.mark.parametrize(
    "permissions", [frozenset(some) for n in range(4) for some in combinations(Permission, n)]
)
def test_only_permitted_commands_are_offered(permissions: frozenset[Permission]) -> None:
    run = replace(ENDED, builds=[SLOWER, UNDECIDED], is_running=True, has_overrides=True)
    offers = offers_for(run, permissions)
    groups = (offers.run, *offers.builds.values(), *offers.rows.values())
    assert {offer.action.permission for group in groups for offer in group} == permissions - TRUSTED
    assert (offers == Offers()) is not bool(permissions - TRUSTED)


def test_every_command_is_offered_at_some_time() -> None:
    run = replace(ENDED, builds=[SLOWER, UNDECIDED], is_running=True, has_overrides=True)
    assert set(actions(run)) == set(Action)


def test_an_outdated_patch_set_or_a_closed_change_has_no_offers() -> None:
    assert offers_for(replace(ENDED, is_open=False, is_running=True, has_overrides=True), ALL) == Offers()


def test_a_green_or_waived_build_has_no_offers_but_undo() -> None:
    waived = replace(ENDED, builds=[replace(SLOWER, is_waived=True)], has_overrides=True)
    assert offers_for(replace(ENDED, builds=[GREEN]), ALL) == Offers()
    assert actions(waived) == [Action.UNDO]


@pytest.mark.parametrize("outcome", Outcome)
def test_an_override_is_offered_for_failures_only(outcome: Outcome) -> None:
    is_failure = CONSEQUENCES[outcome].counts is Counts.FAIL
    run = replace(ENDED, builds=[replace(SLOWER, outcome=outcome)])
    assert (Action.OVERRIDE in actions(run)) is is_failure


def test_a_failure_that_does_not_vote_is_neither_accepted_nor_overridden() -> None:
    assert actions(replace(ENDED, builds=[replace(SLOWER, is_voting=False)])) == [Action.RECHECK]


def test_another_ci_repeats_its_own_builds() -> None:
    external = replace(SLOWER, kind=JobKind("external"), outcome=Outcome.INFRASTRUCTURE)
    assert actions(replace(ENDED, builds=[external])) == []


def test_the_failed_project_file_is_overridden_without_a_job() -> None:
    own = EndedBuild(job="benchgate.yaml", kind=JobKind(OWN_FILE), outcome=Outcome.FAILED)
    alone = offers_for(replace(ENDED, builds=[own]), ALL)
    beside = offers_for(replace(ENDED, builds=[own, GREEN]), ALL)
    assert alone.run == (Offer(Action.OVERRIDE),)
    assert beside.builds == {}


class TestIncludes:
    OFFERS = offers_for(ENDED, ALL)

    @pytest.mark.parametrize(
        "command",
        [
            RecheckCommand(),
            RecheckCommand(("perf",)),
            OverrideCommand("MB-1", "flaky", "perf"),
            AcceptCommand("BM_Checksum", "wanted"),
            AcceptCommand("BM_Checksum/64", "wanted"),
        ],
    )
    def test_an_offered_command_is_included(
        self, command: RecheckCommand | OverrideCommand | AcceptCommand
    ) -> None:
        assert self.OFFERS.includes(command)

    @pytest.mark.parametrize(
        "command",
        [
            RecheckCommand(is_all=True),
            RecheckCommand(("perf", "other")),
            OverrideCommand("MB-1", "flaky"),
            OverrideCommand("MB-1", "flaky", "other"),
            MorePairsCommand("BM_Checksum/64", 64),
            CancelCommand(),
            UndoOverrideCommand(),
        ],
    )
    def test_any_other_command_is_not(
        self,
        command: RecheckCommand | OverrideCommand | MorePairsCommand | CancelCommand | UndoOverrideCommand,
    ) -> None:
        assert not self.OFFERS.includes(command)
