"""Votes that the review server lost are cast again; those that a person removed are not."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from service.domain.review.change import PatchSetKind, Review
from service.domain.runs.states import BuildState
from service.domain.runs.vote import Outcome
from service.ports.runs.decisions import NewDecision, review_key
from service.steps.review.recover_vote import recover_vote
from tests.support.memory.runs import MemoryRunHistory
from tests.support.memory.store import unit_of_work
from tests.support.review.changes import KEY, PROJECT_FILE, Service, change_at, project

if TYPE_CHECKING:
    from service.ports.runs.runs import RunRecord

LOST = "Vote cast again: the review server lost it, and no person removed it."


@pytest.fixture
def service() -> Service:
    """A change with a vote that was delivered."""
    service = Service(source=project(PROJECT_FILE.replace("Performance", "Verified")))
    service.server.put(change_at(1))
    service.reconcile()
    service.plan()
    service.store.update(1, state=BuildState.FINISHED, outcome=Outcome.PASSED)
    service.vote()
    assert service.deliver() == 1
    assert votes(service) == {"benchgate": 1}
    return service


def votes(service: Service) -> dict[str, int]:
    return {who: vote for who, vote in service.server.votes[KEY]["Verified"].items() if vote}


def test_a_present_vote_is_not_cast_again(service: Service) -> None:
    service.reconcile(is_full=True)

    assert service.deliver() == 0


def test_a_server_restored_from_a_backup_gets_vote_and_message_again(service: Service) -> None:
    original = service.server.reviews[-1]
    service.server.votes[KEY].clear()
    service.server.posted[KEY].clear()
    service.server.put(change_at(1, minutes=-1))
    service.reconcile(is_full=True)

    assert service.deliver() == 1
    assert service.server.reviews[-1] == original
    assert votes(service) == {"benchgate": 1}
    service.reconcile(is_full=True)
    assert service.deliver() == 0


def test_a_vote_with_its_message_still_there_is_cast_with_a_short_message(service: Service) -> None:
    service.server.votes[KEY].clear()
    service.reconcile(is_full=True)

    assert service.deliver() == 1
    assert service.server.reviews[-1].message.startswith(LOST)
    assert votes(service) == {"benchgate": 1}
    service.reconcile(is_full=True)
    assert service.deliver() == 0


def test_a_vote_that_cannot_stay_is_cast_again_only_once(service: Service) -> None:
    """A server ignores the vote on a label that the project no longer has, and posts the message."""
    for minutes in range(1, 4):
        service.server.votes[KEY].clear()
        service.server.put(change_at(1, minutes=minutes))
        service.reconcile(is_full=True)
        service.deliver()

    assert [review.message.startswith(LOST) for review in service.server.reviews] == [False, True]


def test_a_meanwhile_override_is_not_followed_by_the_lost_vote(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A later review with the vote of the decision before would undo the override's vote."""
    service.server.votes[KEY].clear()
    read, locks = MemoryRunHistory.newest_check, []

    def overridden_while_waiting(runs: MemoryRunHistory, patch_set_id: int) -> RunRecord | None:
        run = read(runs, patch_set_id)
        assert run is not None
        locks.append(run)
        if len(locks) == 2:  # the transaction that would queue the review
            tx = unit_of_work(service.store.memory)
            number = tx.decisions.next_number(run)
            tx.decisions.add(NewDecision(run.id, patch_set_id, number, 1, "Build Successful", "m"))
            tx.outbox.queue_review(
                review_key(run.id, number), Review(KEY, run.revision, "m", {"Verified": 1})
            )
        return run

    monkeypatch.setattr(MemoryRunHistory, "newest_check", overridden_while_waiting)
    change = service.server.change(KEY)
    recover_vote(service.store, service.server, 1, change, service.server.messages(KEY))

    assert len(locks) == 2
    assert [stored.review.message for stored in service.store.memory.reviews.values()][1:] == ["m"]


def test_a_vote_that_a_person_removed_stays_removed(service: Service) -> None:
    service.server.votes[KEY].clear()
    service.server.say(KEY, "bob", "Removed Verified+1 by Benchgate")
    service.reconcile(is_full=True)

    assert service.deliver() == 0
    assert len(service.server.reviews) == 1


@pytest.mark.parametrize("flag", ["is_wip", "is_private"])
def test_a_change_that_nobody_reviews_now_gets_no_vote(service: Service, flag: str) -> None:
    service.server.votes[KEY].clear()
    service.server.put(change_at(1, minutes=1, **{flag: True}))
    service.reconcile(is_full=True)

    assert service.deliver() == 0


def test_a_removed_vote_stays_removed_on_a_patch_set_with_the_same_code(service: Service) -> None:
    service.server.votes[KEY].clear()
    service.server.say(KEY, "bob", "Removed Verified+1 by Benchgate")
    edited = change_at(2)
    service.see(replace(edited, current=replace(edited.current, kind=PatchSetKind.OTHER_MESSAGE)))
    service.plan(2)
    service.store.update(2, state=BuildState.FINISHED, outcome=Outcome.PASSED)
    service.vote(2)

    assert service.deliver() == 1
    assert service.server.reviews[-1].labels == {}
