"""Trusted code runs at once; other code waits for an approval."""

from __future__ import annotations

import pytest

from service.domain.review.change import Change, PatchSet, Person
from service.domain.runs.overrides import OverrideKind
from service.domain.runs.states import RunState
from service.domain.values.errors import Permanent, Transient
from service.domain.values.identity import ChangeKey
from service.ports.runs.decisions import NewOverride
from tests.support.building.memory_source import CODE, code
from tests.support.fakes import WRITTEN, FakeReviewServer
from tests.support.review.changes import KEY, PROJECT_FILE, Service, change_at, project

ALICE, MALLORY = Person("Alice", account="alice"), Person("Mallory", account="mallory")


def uploaded(owner: Person = ALICE, uploader: Person = ALICE) -> Service:
    """Plan a patch set of these people; Alice and Bob are trusted."""
    service = Service(source=project(f"{PROJECT_FILE}commands: {{trusted: committers}}\n"))
    service.server.members = {("alice", "committers"), ("bob", "committers")}
    service.reconcile()
    service.see(change_of(owner, uploader))
    service.plan()
    return service


def change_of(owner: Person, uploader: Person) -> Change:
    current = PatchSet(1, "patch1", "refs/changes/07/7/1", ("parent",), uploader=uploader)
    return change_at(1, owner=owner, current=current, updated=WRITTEN)


def test_trusted_code_runs_at_once() -> None:
    assert uploaded().runs() == [("patch1", RunState.RUNNING)]


@pytest.mark.parametrize(("owner", "uploader"), [(MALLORY, MALLORY), (MALLORY, ALICE), (ALICE, MALLORY)])
def test_owner_and_uploader_must_both_be_trusted(owner: Person, uploader: Person) -> None:
    service = uploaded(owner, uploader)
    assert service.runs() == [("patch1", RunState.REFUSED)]
    (review,) = (stored.review for stored in service.store.memory.reviews.values())
    assert review.labels == {}
    assert "untrusted code is not run: Mallory is not a member of committers; " in review.message
    assert "a member of committers can approve it with `ok-to-test`" in review.message


def test_an_approval_covers_exactly_one_patch_set() -> None:
    service = uploaded(MALLORY, MALLORY)
    service.server.say(KEY, "bob", "Patch Set 1:\n\nok-to-test")
    service.see(service.server.changes[KEY])
    service.run_comment_commands()
    service.plan(2)
    assert service.runs()[-1] == ("patch1", RunState.RUNNING)

    newer = PatchSet(2, "patch2", "refs/changes/07/7/2", ("parent",), uploader=MALLORY)
    service.see(change_at(2, owner=MALLORY, current=newer, updated=WRITTEN))
    service.plan(3)
    assert service.runs()[-1] == ("patch2", RunState.REFUSED)


def test_an_untrusted_person_cannot_approve_their_own_code() -> None:
    service = uploaded(MALLORY, MALLORY)
    service.server.say(KEY, "mallory", "Patch Set 1:\n\nok-to-test")
    service.see(service.server.changes[KEY])
    (answer,) = service.run_comment_commands()
    assert "refused: Mallory is not a member of committers" in answer


def test_a_trusted_persons_newer_patch_set_does_not_cover_an_older_one() -> None:
    service = Service(source=project(f"{PROJECT_FILE}commands: {{trusted: committers}}\n"))
    service.server.members = {("alice", "committers")}
    service.see(change_of(ALICE, MALLORY))
    newer = PatchSet(2, "patch2", "refs/changes/07/7/2", ("parent",), uploader=ALICE)
    service.server.put(change_at(2, owner=ALICE, current=newer))
    with pytest.raises(Transient, match="newer patch set"):
        service.plan()
    assert service.store.memory.builds == []


def test_an_approval_during_planning_takes_effect() -> None:
    service = Service(source=project(f"{PROJECT_FILE}commands: {{trusted: committers}}\n"))
    service.server.members = {("bob", "committers")}
    service.see(change_of(MALLORY, MALLORY))

    def meanwhile() -> None:
        with service.store.transaction() as tx:
            tx.overrides.add(1, NewOverride(OverrideKind.TRUST, "bob", "Bob"))

    original = service.server.is_member

    def is_member(account: str, group: str) -> bool:
        meanwhile()
        return original(account, group)

    service.server.is_member = is_member  # type: ignore[method-assign]
    service.plan()
    assert service.runs() == [("patch1", RunState.PLANNING)]
    assert service.store.memory.hints[-1] == ("plan", 1)


def test_a_recheck_does_not_bypass_the_approval() -> None:
    service = uploaded(MALLORY, MALLORY)
    service.source = project(f"{PROJECT_FILE}commands: {{trusted: committers, rerun: everybody}}\n")
    service.server.members.add(("mallory", "everybody"))
    service.server.say(KEY, "mallory", "Patch Set 1:\n\nrecheck")
    service.see(service.server.changes[KEY])
    service.run_comment_commands()
    service.plan(2)
    assert [state for _, state in service.runs()] == [RunState.REFUSED, RunState.REFUSED]


def test_no_code_runs_if_the_group_cannot_be_read() -> None:
    class Closed(FakeReviewServer):
        def is_member(self, account: str, group: str) -> bool:
            raise Permanent(f"group {group} cannot be read")

    service = Service(server=Closed(), source=project(f"{PROJECT_FILE}commands: {{trusted: committers}}\n"))
    service.see(change_at(1))
    service.plan()
    assert service.runs() == [("patch1", RunState.REFUSED)]
    assert "untrusted code is not run: group committers cannot be read" in service.store.memory.reasons[1]


class TestStacks:
    """The parent of Alice's change is Mallory's change, which is not merged."""

    @pytest.fixture
    def service(self) -> Service:
        service = uploaded(MALLORY, MALLORY)
        service.source.commit("child", "patch1", {CODE: code(BM_a=1e-6)}, "refs/changes/08/8/1")
        return service

    def upload_child(self, service: Service) -> None:
        child = PatchSet(1, "child", "refs/changes/08/8/1", ("patch1",), uploader=ALICE)
        key = ChangeKey("gerrit", 8)
        service.see(change_at(1, key=key, owner=ALICE, current=child, updated=WRITTEN))

    def test_a_parent_that_may_not_run_holds_its_children(self, service: Service) -> None:
        self.upload_child(service)
        service.plan(2)
        assert service.runs()[-1] == ("child", RunState.REFUSED)
        assert "its parent is not merged and was not allowed to run" in service.store.memory.reasons[2]

    def test_a_parent_that_may_run_releases_its_children(self, service: Service) -> None:
        service.server.members.add(("mallory", "committers"))
        service.server.say(KEY, "bob", "Patch Set 1:\n\nok-to-test")
        service.see(service.server.changes[KEY])
        service.run_comment_commands()
        self.upload_child(service)
        with pytest.raises(Transient, match="parent"):
            service.plan(3)
        service.plan(2)
        service.plan(3)
        assert service.runs()[-1] == ("child", RunState.RUNNING)
