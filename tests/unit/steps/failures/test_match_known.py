"""Known failures, from the first −1 to the expiry, and what they never waive."""

from __future__ import annotations

from dataclasses import replace

import pytest

from service.domain.access.audit import AuditKind
from service.domain.failures.known import TriageState
from service.domain.review.change import PatchSet, PatchSetKind
from service.domain.runs.external import ExternalBuild, ReportedRevision
from service.ports.access import Author
from service.ports.failures.storing import KnownChange
from service.steps.failures.match_known import keep_matches, propose_known
from tests.support.building.memory_source import MemorySource
from tests.support.fakes import WRITTEN
from tests.support.memory.store import MemoryStore
from tests.support.review.changes import KEY, Service, change_at, project
from tests.support.runs.external import record_external_build

PROJECT = """\
version: 1
commands: {rerun: reviewers, override: reviewers}
jobs:
  linux: {kind: external}
  mac: {kind: external}
"""
FLAKY = "Failure of a CTest test 49/198 Test #49: ep.expiry ......"
AGAIN = "Failure of a CTest test 12/201 Test #51: ep.expiry ......"
NEW = "Failure of a CTest test 50/198 Test #50: ep.eviction ......"
KNOWN = "override MB-37948 known-failure intermittent failure"
DAY = 86400.0
BOB = Author(account="bob", name="Bob")
SENTENCE = "does not count: known failure MB-37948 (Bob, until 2026-04-01): intermittent failure"


@pytest.fixture
def service() -> Service:
    service = Service(source=project(PROJECT))
    service.server.members = {("bob", "reviewers")}
    service.server.put(change_at(1, updated=WRITTEN))
    service.reconcile()
    service.plan()
    return service


def upload(service: Service, number: int = 2, kind: PatchSetKind = PatchSetKind.OTHER_CODE) -> None:
    current = PatchSet(number, f"patch{number}", f"refs/changes/07/7/{number}", ("parent",), kind)
    service.see(change_at(number, current=current, updated=WRITTEN))
    service.plan(len(service.store.memory.runs))


def end(service: Service, patch_set: int, *causes: str, job: str = "linux", number: int = 0) -> None:
    """Another CI ends a build; decide what waits for it."""
    number = number or 10 * patch_set
    build = ExternalBuild(job, number, f"http://ci.example.com/job/{job}/{number}/")
    result = "FAILURE" if causes else "SUCCESS"
    record_external_build(service.store, ReportedRevision(KEY, f"patch{patch_set}"), build, result, causes)
    memory = service.store.memory
    for run in {entity for task, entity in memory.hints if task == "vote"}:
        service.vote(run)


def fail(service: Service, patch_set: int, *causes: str) -> int | None:
    """Fail on linux and pass on mac; return the vote."""
    end(service, patch_set, job="mac")
    end(service, patch_set, *causes)
    return vote(service)


def vote(service: Service) -> int | None:
    return service.store.memory.decisions[-1].vote


def message(service: Service) -> list[str]:
    return service.store.memory.decisions[-1].message.split("\n\n")


def say(service: Service, text: str, patch_set: int = 1) -> list[str]:
    service.server.say(KEY, "bob", f"Patch Set {patch_set}:\n\n{text}", patch_set)
    service.see(service.server.changes[KEY])
    return service.run_comment_commands()


@pytest.fixture
def known(service: Service) -> Service:
    """The same after a failure that Bob made known."""
    assert fail(service, 1, FLAKY) == -1
    say(service, KNOWN)
    assert vote(service) == 1
    return service


class TestTheCommand:
    def test_the_vote_changes_with_the_reason(self, service: Service) -> None:
        assert fail(service, 1, FLAKY) == -1
        assert f"{FLAKY} ( http://ci.example.com/job/linux/10/ )" in message(service)
        decided, reply = say(service, KNOWN)
        assert decided.startswith("{'Verified': 1} Build Successful")
        assert "overridden by Bob: intermittent failure (MB-37948)" in decided
        assert "`override`: known until 2026-04-01 as MB-37948 on master: linux: ep.expiry: any fail" in reply
        assert "https://bench.example.com/failures/1" in reply
        assert "other failures of these builds" not in reply
        assert "set its state to fixed or invalid" in reply

    def test_the_reply_says_how_much_is_known(self, service: Service) -> None:
        """Only with a reason is it less than any failure of the test."""
        assert fail(service, 1, FLAKY, "a.cc:7:1: error: no x") == -1
        _, reply = say(service, KNOWN)
        assert "ep.expiry: any failure of this test, because no output says why it failed" in reply
        assert "a.cc: error: no x" in reply

    def test_each_signature_becomes_one_known_failure(self, service: Service) -> None:
        fail(service, 1, FLAKY, AGAIN, NEW)
        say(service, KNOWN)
        made = service.store.memory.known
        assert len(made) == 2
        assert {(each.bug, each.owner, each.scope.branch, each.scope.job) for each in made} == {
            ("MB-37948", "Bob", "master", "linux")
        }
        kinds = [each.kind for each in service.store.memory.audit]
        assert sorted(kinds) == [AuditKind.KNOWN_CREATED, AuditKind.KNOWN_CREATED, AuditKind.OVERRIDE]

    @pytest.mark.parametrize("causes", [(FLAKY, NEW), (NEW, FLAKY)])
    def test_known_failures_are_made_in_one_order_and_named_in_that_of_the_build(
        self, service: Service, causes: tuple[str, str]
    ) -> None:
        """Two commands at once would otherwise deadlock."""
        fail(service, 1, *causes)
        *_, reply = say(service, KNOWN)
        digests = [each.signature for each in service.store.memory.known if each.signature]
        assert digests == sorted(digests)
        places = [reply.index(cause.rpartition(": ")[2].split()[0]) for cause in causes]
        assert places == sorted(places)

    def test_a_reason_that_begins_with_known_covers_this_patch_set_and_the_reply_says_how_to_do_more(
        self, service: Service
    ) -> None:
        fail(service, 1, FLAKY)
        _, reply = say(service, "override MB-37948 known trouble of the compiler of this pool")
        assert vote(service) == 1
        assert service.store.memory.known == []
        more = "`override MB-37948 known-failure trouble of the compiler of this pool`"
        assert "overridden on this patch set only" in reply
        assert more in reply

    @pytest.mark.parametrize("path", ["a.cc", "lib/a.cc", "engine/lib/a.cc"])
    def test_a_compile_error_in_a_file_of_the_patch_is_a_warning(self, service: Service, path: str) -> None:
        assert isinstance(service.source, MemorySource)
        service.source.commit("patch1", "parent", {**service.source.commits["parent"].files, "lib/a.cc": "x"})
        fail(service, 1, f"{path}:7:1: error: no x")
        *_, reply = say(service, KNOWN)
        is_own = path.endswith("lib/a.cc")
        assert ("warning: the patch touches lib/a.cc, which does not compile" in reply) == is_own

    def test_a_failure_that_nothing_recognises_is_overridden_once(self, service: Service) -> None:
        fail(service, 1, "see the console")
        *_, reply = say(service, KNOWN)
        assert vote(service) == 1
        assert "overridden on this patch set only" in reply
        assert service.store.memory.known == []

    def test_a_failure_beside_one_that_nothing_recognises_is_named_with_a_warning(
        self, service: Service
    ) -> None:
        fail(service, 1, FLAKY, "see the console")
        *_, reply = say(service, KNOWN)
        assert "so a build with one still fails" in reply
        upload(service)
        assert fail(service, 2, FLAKY, "see the console") == -1


class TestTheNextPatchSet:
    def test_the_same_failure_is_waived_at_once_and_named(self, known: Service) -> None:
        upload(known)
        assert fail(known, 2, AGAIN) == 1
        assert message(known)[:3] == [
            "Build Successful ",
            "http://ci.example.com/job/linux/20/ : FAILURE",
            f"{SENTENCE}; failed 2 of 2 builds in 30 days",
        ]

    def test_a_new_failure_beside_it_counts(self, known: Service) -> None:
        upload(known)
        assert fail(known, 2, AGAIN, NEW) == -1
        assert not any(SENTENCE in line for line in message(known))
        told = "new: ep.eviction; known failure MB-37948: ep.expiry"
        assert message(known)[2].startswith(told)

    def test_a_new_failure_instead_of_it_counts(self, known: Service) -> None:
        upload(known)
        assert fail(known, 2, NEW) == -1

    def test_a_failure_of_another_job_counts(self, known: Service) -> None:
        upload(known)
        end(known, 2, FLAKY, job="mac")
        end(known, 2)
        assert vote(known) == -1

    def test_a_list_that_may_be_cut_counts(self, known: Service) -> None:
        upload(known)
        assert fail(known, 2, AGAIN, "… and 3 more") == -1
        assert message(known)[2].startswith("some failures may be new; known failure MB-37948: ep.expiry")


VAGUE = "g++: fatal error: Killed signal terminated program cc1plus"
OTHER_VAGUE = "c++: fatal error: Killed signal terminated program cc1plus"


class TestWhatNamesNoCause:
    """A known failure never waives another one: a person compares the texts first."""

    @pytest.fixture
    def vague(self, service: Service) -> Service:
        assert fail(service, 1, VAGUE) == -1
        *_, reply = say(service, KNOWN)
        assert "it is too vague to waive a build" in reply
        upload(service)
        return service

    def test_it_counts_and_the_message_shows_both_texts(self, vague: Service) -> None:
        assert fail(vague, 2, OTHER_VAGUE) == -1
        first, known, here = (line.partition(" ( http")[0] for line in message(vague)[2:5])
        assert first == (
            "cc1plus may be known as MB-37948, and counts. "
            "If both texts mean the same: `override linux MB-37948 REASON`"
        )
        assert known == "known: out of memory"
        assert here.startswith("here: out of memory")

    def test_the_command_of_the_message_counts_it(self, vague: Service) -> None:
        assert fail(vague, 2, OTHER_VAGUE) == -1
        say(vague, "override linux MB-37948 the same compiler", 2)
        assert vote(vague) == 1
        assert "may be known" not in "".join(message(vague))

    def test_it_does_not_pass_for_new_and_the_command_names_what_else_it_passes(self, vague: Service) -> None:
        end(vague, 2, NEW, job="mac")
        say(vague, "override mac MB-50 known-failure of this machine", 2)
        memory = vague.store.memory
        memory.known[-1] = replace(memory.known[-1], scope=replace(memory.known[-1].scope, job=""))
        end(vague, 2, OTHER_VAGUE, NEW, FLAKY)
        assert vote(vague) == -1
        question, _, _, partly = (line.partition(" ( http")[0] for line in message(vague)[2:6])
        assert question.endswith("`override linux MB-37948 REASON`, which also passes ep.expiry")
        assert partly == "new: ep.expiry; known failure MB-50: ep.eviction"


class TestAClosedBug:
    """The tracker's answer proposes the end of the known failures."""

    @pytest.fixture
    def closed(self, known: Service) -> Service:
        memory = known.store.memory
        memory.known[0] = replace(memory.known[0], is_bug_closed=True)
        upload(known)
        return known

    def test_a_waived_build_says_so(self, closed: Service) -> None:
        assert fail(closed, 2, FLAKY) == 1
        assert "MB-37948 is closed: end its known failure?" in message(closed)[2]

    def test_a_build_with_a_new_failure_beside_it_says_so(self, closed: Service) -> None:
        assert fail(closed, 2, FLAKY, NEW) == -1
        assert any(line.startswith("MB-37948 is closed: end its known failure?") for line in message(closed))


class TestTheEnd:
    def test_the_failure_counts_again_after_its_expiry(self, known: Service) -> None:
        known.store.wait(30 * DAY)
        upload(known)
        assert fail(known, 2, FLAKY) == -1
        assert message(known)[2].startswith("was known as MB-37948 until 2026-04-01: ep.expiry")

    def test_a_failure_that_is_known_again_was_not_known_until_lately(self, known: Service) -> None:
        known.store.wait(30 * DAY)
        upload(known)
        assert fail(known, 2, FLAKY) == -1
        say(known, "override MB-99 known-failure it came back", 2)
        assert isinstance(known.source, MemorySource)
        known.source.commit("patch3", "parent", known.source.commits["patch2"].files)
        upload(known, 3)
        assert fail(known, 3, FLAKY, NEW) == -1
        assert message(known)[2].startswith("new: ep.eviction; known failure MB-99: ep.expiry (")
        with known.store.transaction() as tx:
            _, expired = keep_matches(tx.failures, tx.runs.lock(3), tx.builds.of_run(3))
        assert [each.bug for each in expired.values()] == []

    def test_a_failure_that_was_known_does_not_pass_for_new(self, known: Service) -> None:
        known.store.wait(30 * DAY)
        upload(known)
        assert fail(known, 2, FLAKY, NEW) == -1
        told = "new: ep.eviction; was known as MB-37948 until 2026-04-01: ep.expiry"
        assert message(known)[2].startswith(told)
        say(known, "override MB-37950 known-failure eviction and expiry", 2)
        assert isinstance(known.source, MemorySource)
        known.source.commit("patch3", "parent", known.source.commits["patch2"].files)
        upload(known, 3)
        assert fail(known, 3, FLAKY, NEW) == 1

    @pytest.mark.parametrize("state", [TriageState.FIXED, TriageState.INVALID])
    def test_a_closed_one_counts_again(self, known: Service, state: TriageState) -> None:
        with known.store.transaction() as tx:
            tx.known.change(1, KnownChange(state=state, bug="MB-37948", assignee=""), BOB)
        upload(known)
        assert fail(known, 2, FLAKY) == -1

    def test_a_later_override_does_not_revoke_waivers(self, known: Service) -> None:
        """The run of another job's failure is decided again after the known failure expired."""
        upload(known)
        end(known, 2, NEW, job="mac")
        end(known, 2, FLAKY)
        assert vote(known) == -1
        known.store.wait(30 * DAY)
        say(known, "override mac MB-2 the disk was full", 2)
        assert vote(known) == 1
        assert SENTENCE in "".join(message(known))

    def test_another_run_of_the_same_build_is_matched_anew(self, known: Service) -> None:
        upload(known)
        assert fail(known, 2, FLAKY) == 1
        known.store.wait(30 * DAY)
        end(known, 2, job="mac", number=99)
        assert vote(known) == -1


class TestCarryOver:
    def test_an_override_carries_over_to_a_patch_set_with_equal_trees(self, service: Service) -> None:
        fail(service, 1, FLAKY)
        say(service, "override MB-1 the machine was full")
        service.source.commits["patch2"] = service.source.commits["patch1"]
        upload(service, kind=PatchSetKind.OTHER_MESSAGE)
        assert fail(service, 2, NEW) == 1
        line = "overridden by Bob on patch set 1: the machine was full (MB-1)"
        assert line in message(service)

    def test_it_never_does_to_new_code(self, service: Service) -> None:
        fail(service, 1, FLAKY)
        say(service, "override MB-1 the machine was full")
        upload(service)
        assert fail(service, 2, FLAKY) == -1

    def test_it_does_not_to_other_trees_whatever_the_server_says(self, service: Service) -> None:
        fail(service, 1, FLAKY)
        say(service, "override MB-1 the machine was full")
        upload(service, kind=PatchSetKind.OTHER_MESSAGE)
        assert fail(service, 2, FLAKY) == -1

    def test_a_repeated_build_needs_an_override_of_its_own(self, service: Service) -> None:
        fail(service, 1, FLAKY)
        say(service, "override MB-1 the machine was full")
        service.source.commits["patch2"] = service.source.commits["patch1"]
        upload(service, kind=PatchSetKind.OTHER_MESSAGE)
        assert fail(service, 2, FLAKY) == 1
        end(service, 2, NEW, number=99)
        assert vote(service) == -1

    def test_an_undone_override_stays_undone(self, service: Service) -> None:
        fail(service, 1, FLAKY)
        say(service, "override MB-1 the machine was full")
        service.source.commits["patch2"] = service.source.commits["patch1"]
        service.source.commits["patch3"] = service.source.commits["patch1"]
        upload(service, kind=PatchSetKind.OTHER_MESSAGE)
        assert fail(service, 2, FLAKY) == 1
        say(service, "override undo", 2)
        assert vote(service) == -1
        upload(service, 3, kind=PatchSetKind.OTHER_MESSAGE)
        assert fail(service, 3, FLAKY) == -1

    def test_it_reaches_the_third_patch_set(self, service: Service) -> None:
        fail(service, 1, FLAKY)
        say(service, "override MB-1 the machine was full")
        for number in (2, 3):
            service.source.commits[f"patch{number}"] = service.source.commits["patch1"]
            upload(service, number, kind=PatchSetKind.OTHER_MESSAGE)
            assert fail(service, number, FLAKY) == 1
        assert "overridden by Bob on patch set 1: the machine was full (MB-1)" in message(service)


def test_nothing_is_proposed_while_another_process_proposes() -> None:
    store = MemoryStore()
    with store.exclusive("propose"):
        assert propose_known(store) == 0
