"""Offer actions on a page by the groups of the person's account."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from service.adapters.access.recent_answers import RecentAnswers
from service.domain.project.project_file import Permission
from service.domain.review.change import Account, ChangeStatus
from service.domain.review.comment_commands import (
    AcceptCommand,
    CancelCommand,
    OverrideCommand,
    RecheckCommand,
    UndoOverrideCommand,
)
from service.domain.review.form_commands import Action
from service.domain.runs.overrides import OverrideKind
from service.domain.runs.states import RunState
from service.domain.runs.vote import Outcome
from service.domain.values.errors import BenchgateError, Permanent, Transient
from service.domain.values.identity import ChangeAddress
from service.domain.wording.offers import Offers
from service.steps.review.offered_actions import ActionOffers, OfferedActions
from tests.support.fakes import FakeReviewServer
from tests.support.reading.add_patch_set import add_patch_set
from tests.support.reading.fake_reading import FakeReading
from tests.support.reading.views import build_view, change_view, override_view

if TYPE_CHECKING:
    from service.domain.review.form_commands import FormCommand
    from service.ports.review.shown import PatchSetDetail
    from service.ports.runs.shown import BuildOfRun

BOB = "bob@example.com"
GROUPS = {"rerun": "committers", "override": "reviewers"}
SLOWER = build_view(
    1, 1, job="perf", outcome=Outcome.SLOWER, blamed=("BM_a/1",), permissions=tuple(Permission), groups=GROUPS
)
FLAKY = OverrideCommand("MB-1", "flaky", "perf")


def accounts_of(*groups: str, fault: BenchgateError | None = None) -> FakeReviewServer:
    """A review server on which Bob is in these groups."""
    faults = {} if fault is None else {"is_member": fault}
    groups_of_bob = {("7", group) for group in groups}
    return FakeReviewServer(accounts={BOB: Account("7", "Bob")}, members=groups_of_bob, faults=faults)


def members(fault: BenchgateError | None = None) -> FakeReviewServer:
    """A review server on which Bob is in both groups."""
    return accounts_of("committers", "reviewers", fault=fault)


def shown(*builds: BuildOfRun, **more: object) -> PatchSetDetail:
    reading = FakeReading()
    change = change_view(7, "Speed up", run_id=1, run_state=RunState.FINISHED)
    add_patch_set(reading, change, [(build, ()) for build in builds or (SLOWER,)])
    return replace(reading.patch_set(ChangeAddress(7)), **more)  # type: ignore[arg-type]


def offered(
    accounts: FakeReviewServer, page: PatchSetDetail | None = None, email: str = BOB
) -> OfferedActions:
    page = page or shown()
    return ActionOffers(RecentAnswers({"gerrit": accounts})).offered(
        email, page, [(build, build.waived_by, ()) for build in page.builds]
    )


def actions(found: OfferedActions) -> list[Action]:
    return [offer.action for offer in found.offers.run]


def account_for(
    command: FormCommand,
    page: PatchSetDetail | None = None,
    email: str = BOB,
    accounts: FakeReviewServer | None = None,
) -> Account:
    page = page or shown()
    offers = ActionOffers(RecentAnswers({"gerrit": accounts or members()}))
    return offers.account_for(email, page, [(build, build.waived_by, ()) for build in page.builds], command)


def refused(
    command: FormCommand = FLAKY,
    page: PatchSetDetail | None = None,
    email: str = BOB,
    accounts: FakeReviewServer | None = None,
) -> str:
    with pytest.raises(BenchgateError) as error:
        account_for(command, page, email, accounts)
    return f"{type(error.value).__name__}: {error.value}"


def test_a_member_of_all_groups_may_use_all_commands_that_make_sense() -> None:
    found = offered(members())
    assert actions(found) == [Action.RECHECK, Action.ACCEPT, Action.OVERRIDE]
    assert (found.account, found.reasons) == (Account("7", "Bob"), ())
    assert account_for(FLAKY) == Account("7", "Bob")


def test_only_the_commands_of_a_persons_groups_are_offered() -> None:
    found = offered(accounts_of("committers"))
    assert actions(found) == [Action.RECHECK]
    assert found.reasons == ("only members of reviewers may override, accept and undo; Bob is not one",)


def test_without_an_account_nothing_is_offered_and_the_reason_is_named_once() -> None:
    found = offered(members(), email="eve@example.com")
    assert found.offers == Offers()
    (reason,) = found.reasons
    assert reason.startswith("no account on the review server has eve@example.com as its preferred e-mail")
    assert refused(email="eve@example.com") == f"NotAllowed: {reason}"


def test_without_a_verified_address_the_review_server_is_not_asked() -> None:
    accounts = members()
    found = offered(accounts, email="")
    assert found.offers == Offers()
    assert found.reasons[0].startswith("the identity provider has not verified an e-mail address of yours")
    assert accounts.asked == []


def test_during_an_outage_nothing_is_offered_and_requests_are_refused_for_now() -> None:
    accounts = members(fault=Transient("connection refused"))
    found = offered(accounts)
    assert found.offers == Offers()
    assert found.reasons == ("the review server cannot say now which groups you are in (connection refused)",)
    accounts.faults["account_of"] = accounts.faults["is_member"]
    assert refused(accounts=accounts) == f"Transient: {found.reasons[0]}"


def test_a_group_that_benchgate_cannot_read_is_nobodys() -> None:
    found = offered(members(fault=Permanent("the group is hidden")))
    assert found.offers == Offers()
    assert found.reasons == ("refused: the group is hidden",)


def test_a_build_of_a_previous_version_offers_nothing_and_says_what_to_do() -> None:
    accounts = members()
    page = shown(replace(SLOWER, groups={}))
    found = offered(accounts, page)
    assert found.offers == Offers()
    assert found.reasons[0].startswith("Benchgate does not know yet who may use commands here")


def test_a_command_that_no_group_may_use_is_refused_by_the_name_of_its_setting() -> None:
    page = shown(replace(SLOWER, permissions=(Permission.RERUN,), groups={"rerun": "committers"}))
    found = offered(members(), page)
    assert actions(found) == [Action.RECHECK]
    assert found.reasons == ("not enabled: set `commands: {override: GROUP}` in benchgate.yaml",)


def test_a_green_patch_set_asks_the_review_server_nothing() -> None:
    accounts = members()
    page = shown(replace(SLOWER, outcome=Outcome.PASSED, blamed=()))
    assert offered(accounts, page) == OfferedActions()
    assert accounts.asked == []


def test_a_minute_of_pages_asks_each_question_once() -> None:
    accounts = members()
    offers = ActionOffers(RecentAnswers({"gerrit": accounts}))
    for _ in range(3):
        offers.offered(BOB, shown(), [(SLOWER, "", ())])
    assert accounts.asked == [BOB, ("7", "reviewers"), ("7", "committers")]


def test_on_each_review_server_a_person_has_an_account_of_their_own() -> None:
    core, edge = members(), members()
    core.accounts = {BOB: Account("7", "Bob"), "eve@example.com": Account("8", "Eve")}
    edge.accounts = {BOB: Account("8", "Bob B"), "eve@example.com": Account("7", "Eve")}
    offers = ActionOffers(RecentAnswers({"core": core, "edge": edge}))
    pages = {name: on_server(name) for name in ("core", "edge")}

    found = {
        (name, email): offers.offered(email, page, [(SLOWER, "", ())])
        for name, page in pages.items()
        for email in (BOB, "eve@example.com")
    }

    assert {place: (each.account, actions(each)) for place, each in found.items()} == {
        ("core", BOB): (Account("7", "Bob"), actions(offered(members()))),
        ("core", "eve@example.com"): (Account("8", "Eve"), []),
        ("edge", BOB): (Account("8", "Bob B"), []),
        ("edge", "eve@example.com"): (Account("7", "Eve"), actions(offered(members()))),
    }


def test_nobody_acts_on_a_change_of_a_removed_review_server() -> None:
    accounts = members()
    found = offered(accounts, on_server("old"))
    assert (found.offers, accounts.asked) == (Offers(), [])
    assert refused(page=on_server("old")) == "NotAllowed: refused: the review server old is not configured"


def on_server(instance: str) -> PatchSetDetail:
    page = shown()
    return replace(page, change=replace(page.change, instance=instance))


def test_a_command_that_makes_no_sense_now_is_refused() -> None:
    for command in (CancelCommand(), UndoOverrideCommand(), OverrideCommand("MB-1", "flaky", "other")):
        assert refused(command) == (
            f"BadInput: `{command.word}` does nothing on this patch set now; reload the page"
        )


def test_a_running_check_can_be_cancelled_and_an_override_undone() -> None:
    running = change_view(7, "Speed up", run_id=1, run_state=RunState.RUNNING)
    reading = FakeReading()
    add_patch_set(reading, running, [(SLOWER, ())], overrides=[override_view(OverrideKind.ACCEPT, "Bob")])
    found = offered(members(), reading.patch_set(ChangeAddress(7)))
    assert {Action.CANCEL, Action.UNDO} <= set(actions(found))


@pytest.mark.parametrize("status", [ChangeStatus.MERGED, ChangeStatus.ABANDONED])
def test_a_closed_change_is_refused(status: ChangeStatus) -> None:
    page = shown()
    closed = replace(page, change=replace(page.change, status=status))
    found = offered(members(), closed)
    assert found == OfferedActions()
    assert refused(page=closed) == "BadInput: patch set 1 is outdated or its change is closed"


def test_an_outdated_patch_set_is_refused() -> None:
    page = shown()
    older = replace(page, change=replace(page.change, patch_set=2))
    found = offered(members(), older)
    assert found == OfferedActions()
    assert refused(page=older) == "BadInput: patch set 1 is outdated or its change is closed"


def test_a_person_who_acts_chooses_the_benchmarks_and_no_other_jobs() -> None:
    assert account_for(AcceptCommand("BM_", "wanted"))
    assert refused(RecheckCommand(is_all=True)).startswith("BadInput: ")


def test_the_step_asks_for_the_group_of_a_person_who_acts() -> None:
    accounts = accounts_of()
    assert account_for(FLAKY, accounts=accounts) == Account("7", "Bob")
    assert accounts.asked == [BOB]
