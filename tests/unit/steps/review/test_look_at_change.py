from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from service.adapters.review.gerrit.events import parse_event
from service.adapters.review.gerrit.review import GerritReview
from service.adapters.system.json_client import Password
from service.domain.review.change import ChangeStatus
from service.domain.runs.states import BuildState, RunState
from service.domain.runs.vote import Outcome
from service.domain.values.identity import ChangeKey, RunKind
from service.steps.review.deliver import deliver_reviews
from service.steps.review.look_at_change import handle_event, look_at_change
from service.steps.review.receive_event import receive_event
from tests.support.memory.store import MemoryStore
from tests.support.review.changes import KEY, Service, change_at
from tests.support.review.gerrit_model import SECRET, URL, GerritModel

if TYPE_CHECKING:
    from typing import Any

ABANDONED: dict[str, Any] = {"status": ChangeStatus.ABANDONED}
MERGED: dict[str, Any] = {"status": ChangeStatus.MERGED, "merged_as": "merged"}


def test_an_open_patch_set_gets_a_run_in_planning() -> None:
    service = Service()
    service.see(change_at(1))

    assert service.runs() == [("patch1", RunState.PLANNING)]
    assert service.store.memory.hints == [("plan", 1)]


def test_looking_twice_changes_nothing() -> None:
    service = Service()
    service.see(change_at(1))
    before = repr(service.store.memory)
    service.see(change_at(1))

    assert repr(service.store.memory) == before


@pytest.mark.parametrize("end", [RunState.RUNNING, RunState.FINISHED, RunState.REFUSED])
def test_a_patch_set_gets_only_one_run(end: RunState) -> None:
    service = Service()
    service.see(change_at(1))
    with service.store.transaction() as tx:
        if end is RunState.RUNNING:
            tx.runs.start(1, tree="t", parent=None, parent_tree=None, label="Verified")
        else:
            tx.runs.end(1, end)
    service.see(change_at(1, minutes=1, subject="A reviewer wrote a comment"))

    assert service.runs() == [("patch1", end)]


def test_a_new_patch_set_cancels_the_run_and_builds_of_the_old_one() -> None:
    service = Service()
    service.see(change_at(1))
    service.plan()
    service.see(change_at(2))

    assert service.runs() == [("patch1", RunState.CANCELLED), ("patch2", RunState.PLANNING)]
    assert [build.cancel_requested for build in service.store.memory.builds] == [False]

    service.plan(2)
    service.store.drop_unwanted_builds()
    assert [build.cancel_requested for build in service.store.memory.builds] == [True, False]


def test_a_finished_run_of_an_old_patch_set_stays_finished() -> None:
    service = Service()
    service.see(change_at(1))
    service.plan()
    service.store.update(1, state=BuildState.FINISHED)
    with service.store.transaction() as tx:
        tx.runs.end(1, RunState.FINISHED)
    service.see(change_at(2))

    assert service.runs()[0] == ("patch1", RunState.FINISHED)
    assert not service.store.memory.builds[0].cancel_requested


def test_abandoning_cancels_and_restoring_starts_again() -> None:
    service = Service()
    service.see(change_at(1))
    service.see(change_at(1, minutes=1, **ABANDONED))
    assert service.runs() == [("patch1", RunState.CANCELLED)]

    service.see(change_at(1, minutes=2))
    service.see(change_at(1, minutes=2))
    assert service.runs() == [("patch1", RunState.CANCELLED), ("patch1", RunState.PLANNING)]


def test_a_change_abandoned_before_its_first_run_gets_no_run() -> None:
    service = Service()
    service.see(change_at(1, **ABANDONED))

    assert service.store.memory.runs == []


def test_a_change_moved_to_another_branch_is_planned_again() -> None:
    service = Service()
    service.see(change_at(1))
    for _ in range(2):
        service.see(change_at(1, minutes=1, branch="stable"))

    first, second = service.store.memory.runs
    assert (first.branch, first.state) == ("master", RunState.CANCELLED)
    assert (second.branch, second.state) == ("stable", RunState.PLANNING)
    assert service.store.memory.reasons == {1: "the change was moved to branch stable"}


def test_a_change_moved_after_its_vote_is_planned_again() -> None:
    service = Service()
    service.see(change_at(1))
    with service.store.transaction() as tx:
        tx.runs.end(1, RunState.FINISHED)
    service.see(change_at(1, minutes=1, branch="stable"))

    assert service.runs() == [("patch1", RunState.FINISHED), ("patch1", RunState.PLANNING)]


def test_a_change_that_the_server_no_longer_shows_ends_its_run() -> None:
    service = Service()
    service.see(change_at(1))
    service.plan()
    del service.server.changes[KEY]
    look_at_change(service.store, service.server, KEY)

    assert service.runs() == [("patch1", RunState.CANCELLED)]
    assert service.store.memory.reasons[1].startswith("the review server does not show the change any more")
    service.store.drop_unwanted_builds()
    assert [build.cancel_requested for build in service.store.memory.builds] == [True]

    service.see(change_at(1))
    assert service.runs()[1:] == [("patch1", RunState.PLANNING)]


def test_a_change_that_gerrits_index_lost_keeps_its_run() -> None:
    model, store = GerritModel(), MemoryStore()
    server = GerritReview("gerrit", URL, Password("buildbot", SECRET), transport=model.transport)
    model.upload(7, "1" * 40)
    look_at_change(store, server, KEY)
    model.unindexed.add(7)
    with store.transaction() as tx:
        event = tx.events.add("gerrit", b"d", "comment-added", 7, b"")
    handle_event(store, server, event)
    assert [run.state for run in store.memory.runs] == [RunState.PLANNING]


def test_an_event_starts_a_run_although_gerrits_index_lacks_the_new_change() -> None:
    model, store = GerritModel(), MemoryStore()
    server = GerritReview("gerrit", URL, Password("buildbot", SECRET), transport=model.transport)
    model.upload(7, "1" * 40)
    model.unindexed.add(7)
    event = b'{"type": "patchset-created", "change": {"project": "kv_engine", "number": 7}}'
    handle_event(store, server, receive_event(store, parse_event, "gerrit", event))
    assert [run.state for run in store.memory.runs] == [RunState.PLANNING]


@pytest.mark.parametrize("flag", ["is_wip", "is_private"])
def test_work_in_progress_and_private_changes_are_not_run(flag: str) -> None:
    service = Service()
    service.see(change_at(1, **{flag: True}))
    assert service.runs() == []

    service.see(change_at(1, minutes=1))
    assert service.runs() == [("patch1", RunState.PLANNING)]


def test_a_new_patch_set_in_progress_still_cancels_the_old_run() -> None:
    service = Service()
    service.see(change_at(1))
    service.see(change_at(2, is_wip=True))

    assert service.runs() == [("patch1", RunState.CANCELLED)]


def test_a_merged_change_gets_one_run_of_the_branch() -> None:
    service = Service()
    service.see(change_at(1))
    for minutes in (1, 1, 2):
        service.see(change_at(1, minutes=minutes, **MERGED))

    assert service.runs() == [("patch1", RunState.CANCELLED)]
    assert service.runs(RunKind.POST_SUBMIT) == [("merged", RunState.PLANNING)]
    assert service.store.memory.hints == [("plan", 1), ("plan", 2)]


def test_a_merge_without_a_commit_starts_no_run() -> None:
    service = Service()
    service.see(change_at(1, status=ChangeStatus.MERGED))

    assert service.store.memory.runs == []


def test_an_older_state_of_the_change_is_ignored() -> None:
    """Responses may arrive out of order."""
    service = Service()
    service.see(change_at(2))
    service.see(change_at(1))
    service.see(change_at(1, minutes=1, **ABANDONED))

    assert service.runs() == [("patch2", RunState.PLANNING)]


def test_an_unknown_change_is_ignored() -> None:
    service = Service()
    service.see(change_at(1))
    look_at_change(service.store, service.server, ChangeKey("gerrit", 8))

    assert service.runs() == [("patch1", RunState.PLANNING)]


class TestDueVotes:
    """A vote that was due while the change was closed is cast when the change is open again."""

    @pytest.fixture
    def service(self) -> Service:
        service = Service()
        service.see(change_at(1))
        service.plan()
        service.store.update(1, state=BuildState.FINISHED, outcome=Outcome.PASSED)
        service.vote()
        service.see(change_at(1, minutes=1, **ABANDONED))
        assert deliver_reviews(service.store, service.store, service.server) == 0
        return service

    def test_a_restored_change_gets_its_vote(self, service: Service) -> None:
        service.see(change_at(1, minutes=2))
        assert deliver_reviews(service.store, service.store, service.server) == 1
        assert service.server.reviews[-1].labels == {"Performance": 1}

    def test_a_newer_patch_set_does_not_get_it(self, service: Service) -> None:
        service.see(change_at(2))
        assert deliver_reviews(service.store, service.store, service.server) == 0

    def test_it_is_cast_once(self, service: Service) -> None:
        for minutes in (2, 3):
            service.see(change_at(1, minutes=minutes))
            deliver_reviews(service.store, service.store, service.server)
        assert len([review for review in service.server.reviews if review.labels]) == 1


class TestReconciling:
    def test_an_update_without_an_event_is_found(self) -> None:
        service = Service()
        service.server.put(change_at(1))
        service.server.put(change_at(1, key=ChangeKey("gerrit", 8), **ABANDONED))

        assert service.reconcile(is_full=True) == 1
        assert service.runs() == [("patch1", RunState.PLANNING)]
        assert service.reconcile(is_full=True) == 1
        assert len(service.runs()) == 1

    def test_only_one_process_reconciles_at_a_time(self) -> None:
        service = Service()
        service.server.put(change_at(1))
        with service.store.exclusive("reconcile gerrit"):
            assert service.reconcile(is_full=True) is None

        assert service.runs() == []
