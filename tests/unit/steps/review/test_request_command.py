"""Commands that people request on pages."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from service.domain.review.change import Account
from service.domain.review.comment_commands import (
    AcceptCommand,
    CancelCommand,
    MorePairsCommand,
    OverrideCommand,
    RecheckCommand,
    UndoOverrideCommand,
)
from service.domain.review.form_commands import command_from
from service.domain.runs.overrides import OverrideKind
from service.domain.runs.states import BuildState, RunState
from service.domain.runs.vote import Outcome
from service.domain.values.errors import BadInput
from service.domain.values.identity import ChangeAddress
from service.steps.review.request_command import request_command
from tests.support.fakes import WRITTEN
from tests.support.memory.audit import MemoryAuditLog
from tests.support.reading.add_patch_set import add_patch_set
from tests.support.reading.fake_reading import FakeReading
from tests.support.reading.views import build_view, change_view
from tests.support.review.changes import KEY, PROJECT_FILE, Service, change_at, project

if TYPE_CHECKING:
    from service.domain.review.form_commands import FormCommand
    from service.ports.review.shown import PatchSetDetail

RIGHTS = "commands: {rerun: committers, override: reviewers}\n"
BOB = Account("bob", "Bob Builder")
SUBJECT = "s-1"  # of the person whom the identity provider links to Bob's account
FLAKY = OverrideCommand("MB-1", "flaky since Monday", "perf")


@pytest.fixture
def service() -> Service:
    """A patch set with a vote of −1; Bob is in both groups."""
    service = Service(source=project(PROJECT_FILE + RIGHTS))
    service.server.members = {("bob", "reviewers"), ("bob", "committers")}
    service.server.put(change_at(1, updated=WRITTEN))
    service.reconcile()
    service.plan()
    service.store.update(1, state=BuildState.FINISHED, outcome=Outcome.SLOWER, blamed=("BM_a",))
    service.vote()
    return service


def page() -> PatchSetDetail:
    """The first patch set as its page shows it."""
    reading = FakeReading()
    change = change_view(KEY.number, "Speed up", run_id=1, run_state=RunState.FINISHED)
    add_patch_set(reading, change, [(build_view(1, 1, job="perf"), ())])
    shown = reading.patch_set(ChangeAddress(KEY.number))
    return replace(shown, patch_set=replace(shown.patch_set, id=1))


def request(
    service: Service, command: FormCommand, who: Account = BOB, *, ticket: bytes = b"1"
) -> str | None:
    """Request a command, run what is pending, and return the answer; None if nothing was stored."""
    number = request_command(service.store, page(), who, command, signed_in_as=SUBJECT, ticket=ticket)
    service.run_comment_commands()
    return None if number is None else service.store.memory.answers.get(number)


def votes(service: Service) -> list[int | None]:
    return [each.vote for each in service.store.memory.decisions]


def test_an_override_turns_the_vote_and_names_the_person(service: Service) -> None:
    assert request(service, FLAKY) == ""
    while service.deliver():
        pass
    assert votes(service) == [-1, 1]
    ((_, override),) = service.store.memory.overrides
    assert (override.account, override.who, override.bug) == ("bob", "Bob Builder", "MB-1")
    message = [each.message for each in service.server.reviews if each.labels.get("Performance") == 1]
    assert "overridden by Bob Builder" in message[-1]


@pytest.mark.parametrize("command", [FLAKY, AcceptCommand("BM_a", "wanted"), UndoOverrideCommand()])
def test_the_audit_log_names_the_person_who_signed_in(service: Service, command: FormCommand) -> None:
    if isinstance(command, UndoOverrideCommand):
        request(service, FLAKY)
    request(service, command, ticket=b"2")
    entry = MemoryAuditLog(service.store.memory).newest(1)[0]
    assert entry.actor == "bob"
    assert (entry.details["way"], entry.details["signed in as"]) == ("page", SUBJECT)


def test_the_request_waits_for_the_worker(service: Service) -> None:
    number = request_command(service.store, page(), BOB, FLAKY, signed_in_as=SUBJECT, ticket=b"1")
    assert service.store.memory.hints[-1] == ("run_comment_commands", number)
    assert votes(service) == [-1]


def test_a_reply_is_stored_with_the_request_and_not_posted(service: Service) -> None:
    before = len(service.store.memory.reviews)
    answer = request(service, AcceptCommand("BM_other", "wanted"))
    assert answer == "`accept`: the filter matches no slower or removed benchmark; these are BM_a"
    assert len(service.store.memory.reviews) == before


@pytest.mark.parametrize(
    ("command", "effect"),
    [
        (RecheckCommand(("perf",)), ("patch1", RunState.RUNNING)),
        (RecheckCommand(), ("patch1", RunState.RUNNING)),
    ],
)
def test_a_recheck_starts_a_run(service: Service, command: FormCommand, effect: tuple[str, RunState]) -> None:
    assert request(service, command) == ""
    assert service.runs()[-1] == effect


def test_a_run_is_cancelled(service: Service) -> None:
    request(service, RecheckCommand())
    answer = request(service, CancelCommand(), ticket=b"2")
    assert answer == "`cancel`: the run is cancelled; `recheck all` starts it again"


def test_an_override_is_undone(service: Service) -> None:
    request(service, FLAKY)
    assert request(service, UndoOverrideCommand(), ticket=b"2") == ""
    assert votes(service) == [-1, 1, -1]
    assert service.store.memory.overrides[-1][1].kind is OverrideKind.UNDO


def test_more_pairs_of_unmeasured_benchmarks_are_refused(service: Service) -> None:
    answer = request(service, MorePairsCommand("BM_x", 64))
    assert answer is not None
    assert answer.startswith("`benchmark`: ")


def test_a_replayed_request_changes_nothing(service: Service) -> None:
    request(service, FLAKY)
    assert request(service, FLAKY) is None
    assert request(service, UndoOverrideCommand()) is None
    assert votes(service) == [-1, 1]


def test_the_group_is_asked_when_the_command_runs(service: Service) -> None:
    service.server.members.clear()
    assert request(service, FLAKY) == "`override`: refused: Bob Builder is not a member of reviewers"
    assert votes(service) == [-1]


def test_a_meanwhile_outdated_patch_set_is_refused(service: Service) -> None:
    service.server.put(change_at(2, updated=WRITTEN))
    assert request(service, FLAKY) == "`override`: patch set 1 is outdated or its change is closed"
    assert votes(service) == [-1]


def test_a_second_command_in_a_field_is_refused_before_it_is_stored(service: Service) -> None:
    with pytest.raises(BadInput, match="reason: must be one line"):
        request(service, command_from({"action": "override", "bug": "MB-1", "reason": "flaky\ncancel"}))
    assert service.store.memory.comment == []


def test_a_meanwhile_removed_job_is_answered(service: Service) -> None:
    service.source.commit(
        "renamed",
        "parent",
        {"benchgate.yaml": (PROJECT_FILE + RIGHTS).replace("perf:", "new:")},
        "refs/heads/master",
    )
    answer = request(service, RecheckCommand(("perf",)))
    assert answer is not None
    assert answer.endswith("the jobs are new")


def test_a_meanwhile_removed_project_file_is_answered(service: Service) -> None:
    service.source.commit("removed", "parent", {"a": "b"}, "refs/heads/master")
    assert request(service, FLAKY) == "there is no benchgate.yaml on branch master"
