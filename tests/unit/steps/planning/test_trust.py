"""Whose code runs at once, and whose waits for a word."""

from __future__ import annotations

import pytest

from service.domain.decision.overrides import OverrideKind
from service.domain.decision.states import RunState
from service.domain.errors import Permanent, Transient
from service.domain.gerrit.change import Change, PatchSet, Person
from service.domain.identity import ChangeKey
from service.ports.records import NewOverride
from tests.support.build_host import CODE, code
from tests.support.changes import KEY, PROJECT_FILE, Service, change_at, project
from tests.support.fakes import WRITTEN, FakeReviewServer

ALICE, MALLORY = Person("Alice", account="alice"), Person("Mallory", account="mallory")


def uploaded(owner: Person = ALICE, uploader: Person = ALICE) -> Service:
    """A patch set of these people, planned; Alice and Bob are trusted."""
    service = Service(source=project(f"{PROJECT_FILE}commands: {{trusted: committers}}\n"))
    service.server.members = {("alice", "committers"), ("bob", "committers")}
    service.reconcile()
    service.see(change_of(owner, uploader))
    service.plan()
    return service


def change_of(owner: Person, uploader: Person) -> Change:
    current = PatchSet(1, "patch1", "refs/changes/07/7/1", ("parent",), uploader=uploader)
    return change_at(1, owner=owner, current=current, updated=WRITTEN)


def test_trusted_peoples_code_runs_at_once() -> None:
    assert uploaded().runs() == [("patch1", RunState.RUNNING)]


@pytest.mark.parametrize(("owner", "uploader"), [(MALLORY, MALLORY), (MALLORY, ALICE), (ALICE, MALLORY)])
def test_owner_and_uploader_both_answer_for_it(owner: Person, uploader: Person) -> None:
    service = uploaded(owner, uploader)
    assert service.runs() == [("patch1", RunState.REFUSED)]
    (review,) = (stored.review for stored in service.store.memory.reviews.values())
    assert review.labels == {}
    assert "nothing runs yet: Mallory is not in the group committers" in review.message
    assert "one of committers allows it by the comment `ok-to-test`" in review.message


def test_a_trusted_persons_word_lets_exactly_this_patch_set_run() -> None:
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


def test_nobody_lets_the_own_code_run() -> None:
    service = uploaded(MALLORY, MALLORY)
    service.server.say(KEY, "mallory", "Patch Set 1:\n\nok-to-test")
    service.see(service.server.changes[KEY])
    (answer,) = service.run_comment_commands()
    assert "refused, Mallory is not in the group committers" in answer


def test_a_patch_set_is_judged_by_its_own_uploader() -> None:
    """The newer one of a trusted person is there before the older one is planned."""
    service = Service(source=project(f"{PROJECT_FILE}commands: {{trusted: committers}}\n"))
    service.server.members = {("alice", "committers")}
    service.see(change_of(ALICE, MALLORY))
    newer = PatchSet(2, "patch2", "refs/changes/07/7/2", ("parent",), uploader=ALICE)
    service.server.put(change_at(2, owner=ALICE, current=newer))
    with pytest.raises(Transient, match="newer patch set"):
        service.plan()
    assert service.store.memory.builds == []


def test_permission_that_comes_while_the_plan_is_made_is_heard() -> None:
    service = Service(source=project(f"{PROJECT_FILE}commands: {{trusted: committers}}\n"))
    service.server.members = {("bob", "committers")}
    service.see(change_of(MALLORY, MALLORY))

    def meanwhile() -> None:
        with service.store.transaction() as tx:
            tx.add_override(1, NewOverride(OverrideKind.TRUST, "bob", "Bob"))

    asked = service.server.is_member

    def is_member(account: str, group: str) -> bool:
        meanwhile()
        return asked(account, group)

    service.server.is_member = is_member  # type: ignore[method-assign]
    service.plan()
    assert service.runs() == [("patch1", RunState.PLANNING)]
    assert service.store.memory.hints[-1] == ("plan", 1)


def test_a_recheck_does_not_get_around_it() -> None:
    service = uploaded(MALLORY, MALLORY)
    service.source = project(f"{PROJECT_FILE}commands: {{trusted: committers, rerun: everybody}}\n")
    service.server.members.add(("mallory", "everybody"))
    service.server.say(KEY, "mallory", "Patch Set 1:\n\nrecheck")
    service.see(service.server.changes[KEY])
    service.run_comment_commands()
    service.plan(2)
    assert [state for _, state in service.runs()] == [RunState.REFUSED, RunState.REFUSED]


def test_a_group_that_cannot_be_read_lets_nobodys_code_run() -> None:
    class Closed(FakeReviewServer):
        def is_member(self, account: str, group: str) -> bool:
            raise Permanent(f"group {group} cannot be read")

    service = Service(server=Closed(), source=project(f"{PROJECT_FILE}commands: {{trusted: committers}}\n"))
    service.see(change_at(1))
    service.plan()
    assert service.runs() == [("patch1", RunState.REFUSED)]
    assert "nobody's code runs: group committers cannot be read" in service.store.memory.reasons[1]


class TestStacks:
    """Alice's change stands on Mallory's, which is not merged."""

    @pytest.fixture
    def service(self) -> Service:
        service = uploaded(MALLORY, MALLORY)
        service.source.commit("child", "patch1", {CODE: code(BM_a=1e-6)}, "refs/changes/08/8/1")
        return service

    def upload_child(self, service: Service) -> None:
        child = PatchSet(1, "child", "refs/changes/08/8/1", ("patch1",), uploader=ALICE)
        key = ChangeKey("gerrit", 8)
        service.see(change_at(1, key=key, owner=ALICE, current=child, updated=WRITTEN))

    def test_a_parent_that_waits_holds_its_children(self, service: Service) -> None:
        self.upload_child(service)
        service.plan(2)
        assert service.runs()[-1] == ("child", RunState.REFUSED)
        assert "its parent is not merged and was not allowed to run" in service.store.memory.reasons[2]

    def test_a_parent_that_may_run_lets_them_run(self, service: Service) -> None:
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
