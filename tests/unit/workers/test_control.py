"""Run the control plane's tasks."""

from __future__ import annotations

import errno
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING

import pytest

import workers.control
from service.domain.review.change import Review
from service.domain.runs.health import VISIBILITY, part_of
from service.domain.values.errors import DiskFull, Transient
from service.domain.values.identity import ChangeKey
from service.ports.failures.bugs import Bug
from service.ports.runs.decisions import ReviewState
from service.ports.runs.queue import Task, reconciliation
from tests.support.failures.notes import MemoryBugNotes
from tests.support.failures.tracker import FakeBugTracker
from tests.support.fakes import FakeReviewServer
from tests.support.log_lines import line_of
from tests.support.memory.store import MemoryStore
from tests.support.review.changes import KEY, LINKS, change_at
from workers.app import app
from workers.control import STEPS, control, run_step

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import timedelta

    from service.config.control import ControlSettings
    from service.domain.review.change import PostedMessage


@dataclass
class PartlyBrokenServer(FakeReviewServer):
    """A server that does not return the messages of some changes."""

    broken: set[ChangeKey] = field(default_factory=set)

    def messages(self, key: ChangeKey) -> Sequence[PostedMessage]:
        if key in self.broken:
            raise Transient("the proxy answers 502")
        return super().messages(key)


class Plane:
    """The control plane over a memory."""

    lookback: timedelta | None = None
    links = LINKS
    may_post_counts = False

    def __init__(self) -> None:
        self.bugs: FakeBugTracker | None = None
        self.bug_notes = MemoryBugNotes(bugs={"MB-1"}, matched={"MB-1": {1}})
        self.server = PartlyBrokenServer()
        self.server.put(change_at(1))
        self.servers = {self.server.instance: self.server}
        self.store = self.upkeep = MemoryStore()
        self.recorded: list[str] = []

    def server_of(self, instance: str) -> PartlyBrokenServer:
        return self.servers[instance]

    def part(self, name: str, instance: str) -> str:
        return part_of(name, instance, has_several=len(self.servers) > 1)

    def record_address(self, instance: str) -> None:
        self.recorded.append(instance)


@pytest.mark.parametrize("task", [task for task in Task if not task.is_for_machines])
def test_each_task_of_the_control_plane_is_registered_under_its_name(task: Task) -> None:
    assert task in STEPS
    assert task.celery_name in app.tasks


@pytest.fixture
def plane(monkeypatch: pytest.MonkeyPatch) -> Plane:
    """A control plane with a review that waits for a server which could not be reached."""
    plane = Plane()
    monkeypatch.setattr(workers.control, "control", lambda: plane)
    with plane.store.transaction() as tx:
        tx.outbox.queue_review("1", Review(KEY, "patch1", "Build Failed"))
    plane.store.postpone_review(1, 300.0, "connection refused")
    assert plane.store.due_reviews() == []
    return plane


def test_an_answer_of_the_review_server_hastens_the_reviews_that_wait_for_it(plane: Plane) -> None:
    run_step(Task.RECONCILE, 0)
    plane.store.wait(15.0)
    assert [due.review.message for due in plane.store.due_reviews()] == ["Build Failed"]


def test_a_step_waits_until_the_database_answers_and_the_next_one_checks_again(
    monkeypatch: pytest.MonkeyPatch, plane: Plane
) -> None:
    answers: list[Transient | Plane] = [Transient("connection refused"), plane]
    built: list[bool] = []

    def build(_: ControlSettings, *, needs_database: bool = False) -> Plane:
        built.append(needs_database)
        answer = answers.pop(0)
        if isinstance(answer, Transient):
            raise answer
        return answer

    monkeypatch.setattr(workers.control, "build_control", build)
    monkeypatch.setattr(workers.control, "control", cache(control.__wrapped__))
    for _ in range(3):
        run_step(Task.RECONCILE, 0)
    assert built == [True, True]
    assert list(plane.store.memory.beats) == ["reconcile"]


def test_a_full_reconciliation_reports_what_keeps_it_from_learning_visibility(
    plane: Plane, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> bool:
        raise Transient("the response is not from Gerrit")

    plane.server.put(change_at(1))
    run_step(Task.RECONCILE, 0)
    for event in range(1, len(plane.store.memory.events) + 1):
        run_step(Task.HANDLE_EVENT, event)
    assert VISIBILITY not in plane.store.memory.beats
    with monkeypatch.context() as patch:
        patch.setattr(plane.server, "can_read", fail)
        run_step(Task.RECONCILE, 1)
    assert plane.store.memory.beats[VISIBILITY] == "the response is not from Gerrit"
    run_step(Task.RECONCILE, 1)
    assert plane.store.memory.beats[VISIBILITY] == ""


def test_an_event_that_names_no_change_hastens_nothing(plane: Plane) -> None:
    """The review server was not contacted."""
    with plane.store.transaction() as tx:
        event = tx.events.add("gerrit", b"d", "project-created", None, b"")
    run_step(Task.HANDLE_EVENT, event)
    plane.store.wait(15.0)
    assert plane.store.due_reviews() == []


class TwoServers(Plane):
    """A control plane with the review servers ``core`` and ``edge``, which both have a change 7."""

    def __init__(self) -> None:
        super().__init__()
        self.servers = {name: PartlyBrokenServer(instance=name) for name in ("core", "edge")}
        for name, server in self.servers.items():
            server.put(change_at(1, key=ChangeKey(name, 7)))

    def reviews(self) -> dict[str, list[str]]:
        return {name: [each.message for each in server.reviews] for name, server in self.servers.items()}


@pytest.fixture
def two(monkeypatch: pytest.MonkeyPatch) -> TwoServers:
    """Two review servers, with a review for the change 7 of each."""
    plane = TwoServers()
    monkeypatch.setattr(workers.control, "control", lambda: plane)
    with plane.store.transaction() as tx:
        for name in plane.servers:
            tx.outbox.queue_review(name, Review(ChangeKey(name, 7), "patch1", f"for {name}"))
    return plane


@pytest.mark.parametrize(("place", "name"), [(0, "core"), (1, "edge")])
def test_a_delivery_posts_only_the_reviews_of_its_server(two: TwoServers, place: int, name: str) -> None:
    run_step(Task.DELIVER, place)
    assert two.reviews() == {"core": [], "edge": []} | {name: [f"for {name}"]}
    assert {due.review.change.instance for due in two.store.due_reviews()} == two.servers.keys() - {name}


def test_a_server_that_does_not_answer_keeps_back_no_review_on_another(two: TwoServers) -> None:
    two.servers["core"].broken.add(ChangeKey("core", 7))
    for place in (0, 1):
        run_step(Task.DELIVER, place)
    assert two.reviews() == {"core": [], "edge": ["for edge"]}


def test_each_server_is_reconciled_for_itself(two: TwoServers) -> None:
    run_step(Task.RECONCILE, reconciliation(1, is_full=False))
    assert two.store.memory.beats == {"reconcile edge": "1 changes"}
    run_step(Task.RECONCILE, reconciliation(0, is_full=True))
    assert set(two.store.memory.beats) == {"reconcile edge", "reconcile core", "visibility core"}
    assert two.recorded == ["edge", "core"]


def test_an_event_is_looked_up_on_its_own_server(two: TwoServers) -> None:
    two.servers["edge"].put(change_at(2, key=ChangeKey("edge", 7)))
    for name in two.servers:
        with two.store.transaction() as tx:
            event = tx.events.add(name, name.encode(), "patchset-created", 7, b"")
        run_step(Task.HANDLE_EVENT, event)
    runs = {(run.change, run.revision) for run in two.store.memory.runs}
    assert runs == {(ChangeKey("core", 7), "patch1"), (ChangeKey("edge", 7), "patch2")}


def test_an_answer_hastens_only_the_reviews_on_the_server_that_answered(two: TwoServers) -> None:
    for due in two.store.due_reviews():
        two.store.postpone_review(due.outbox_id, 300.0, "connection refused")
    run_step(Task.RECONCILE, reconciliation(1, is_full=False))
    two.store.wait(15.0)
    assert [due.review.change.instance for due in two.store.due_reviews()] == ["edge"]


def test_a_task_for_a_removed_server_does_nothing(two: TwoServers) -> None:
    run_step(Task.DELIVER, 2)
    run_step(Task.RECONCILE, reconciliation(2, is_full=False))
    assert two.store.memory.beats == {}
    assert two.reviews() == {"core": [], "edge": []}


def test_the_error_of_a_reconciliation_names_its_server(
    two: TwoServers, monkeypatch: pytest.MonkeyPatch
) -> None:
    errors: list[str] = []

    def fail(*_: object, **__: object) -> None:
        raise Transient("Gerrit cannot be reached")

    def record(*facts: object) -> None:
        errors.append(str(facts[-1]))

    monkeypatch.setattr(workers.control, "reconcile", fail)
    monkeypatch.setattr(workers.control, "record_failure", record)
    run_step(Task.RECONCILE, reconciliation(1, is_full=False))
    assert errors == ["edge: Gerrit cannot be reached"]


def test_a_step_that_finds_a_full_disk_is_tried_again(plane: Plane, monkeypatch: pytest.MonkeyPatch) -> None:
    errors: list[object] = []

    def fail(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(workers.control, "reconcile", fail)
    monkeypatch.setattr(workers.control, "record_failure", lambda *facts: errors.append(facts[-1]))
    run_step(Task.RECONCILE, 0)
    assert [type(each) for each in errors] == [DiskFull]


def test_reviews_that_always_fail_do_not_keep_back_later_ones(plane: Plane) -> None:
    """Two failures in a row end a delivery, and both are the first ones whenever they are due."""
    *broken, last = (ChangeKey("gerrit", number) for number in (71, 72, 73))
    plane.server.broken.update(broken)
    for key in (*broken, last):
        plane.server.put(change_at(1, key=key))
        with plane.store.transaction() as tx:
            tx.outbox.queue_review(str(key.number), Review(key, "patch1", "Build Failed"))
    for _ in range(10):
        run_step(Task.RECONCILE, 0)
        run_step(Task.DELIVER, 0)
        plane.store.wait(2.0)
    assert last in {review.change for review in plane.server.reviews}


@pytest.mark.parametrize(("may_post", "comments"), [(False, 0), (True, 1)])
def test_counts_are_posted_on_bugs_only_if_the_settings_allow_it(
    plane: Plane, *, may_post: bool, comments: int
) -> None:
    run_step(Task.READ_BUGS, 0)  # without a tracker, nothing happens
    assert plane.bug_notes.noted == {}
    page = "https://bugs.example.com/browse/MB-1"
    found = Bug(title="It hangs", state="Open", is_closed=False, url=page)
    plane.bugs, plane.may_post_counts = FakeBugTracker(bugs={"MB-1": found}), may_post
    run_step(Task.READ_BUGS, 0)
    assert plane.bug_notes.noted_bug("MB-1") == found
    assert len(plane.bugs.comments) == comments


def test_an_event_that_cannot_be_handled_names_its_change_and_patch_set(plane: Plane) -> None:
    plane.server.broken.add(KEY)
    with plane.store.transaction() as tx:
        event = tx.events.add(KEY.instance, b"d", "patchset-created", KEY.number, b"")
    line = line_of("step.postponed", lambda: run_step(Task.HANDLE_EVENT, event))
    assert (line["change"], line["patch_set"]) == (f"{KEY.instance}~{KEY.number}", 1)


def test_a_posted_review_names_its_run_change_and_patch_set(plane: Plane) -> None:
    with plane.store.transaction() as tx:
        message = "Build Failed\n\nhttps://bench.example.com/runs/12#v3"
        tx.outbox.queue_review("run/12/decision/3", Review(KEY, "patch1", message))
    plane.store.settle_review(1, ReviewState.DEAD)
    line = line_of("review.posted", lambda: run_step(Task.DELIVER, 0))
    assert (line["run"], line["change"], line["patch_set"]) == (12, f"{KEY.instance}~{KEY.number}", 1)
