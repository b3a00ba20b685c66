"""Histories of a branch and a patch set, and the sides that the jobs of its run compare."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from service.domain.building.spec import Merge
from service.domain.project.project_file import parse_job
from service.domain.review.change import ChangeStatus, PatchSet
from service.domain.runs.states import RunState
from service.domain.values.errors import BadInput, Transient
from service.domain.values.identity import ChangeKey, RunKind
from service.ports.runs.runs import RunRecord
from service.steps.runs.choose_sides import ChosenSides, choose_sides
from tests.support.building.memory_source import MemorySource
from tests.support.fakes import FakeReviewServer
from tests.support.memory.store import MemoryStore
from tests.support.review.changes import KEY, change_at

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MASTER, CHANGE, BELOW = "refs/heads/master", "refs/changes/07/7/1", "refs/changes/06/6/1"
PERF = parse_job(
    "perf",
    {
        "kind": "benchmark",
        "build": {"compile": "make"},
        "suites": [{"name": "b", "program": "build/b"}],
        "paths": ["*.c"],
    },
)
TESTS = parse_job("tests", {"kind": "ctest", "build": {"compile": "make"}})
BELOW_KEY = ChangeKey("gerrit", 6)
FILES = {"a.c": "1", "b.c": "1", "note": "1"}
RUN = RunRecord(
    1, RunKind.CHECK, RunState.PLANNING, "gerrit", "kv", "master", "patch", None, "", 1, KEY, CHANGE
)


class History:
    """A branch with the commit ``root``; ``patch`` is the change's."""

    def __init__(self) -> None:
        self.store, self.source, self.server = MemoryStore(), MemorySource(), FakeReviewServer()
        self.server.put(change_at(1))
        self.commit("root", None, {}, MASTER)

    def commit(self, name: str, parent: str | None, changed: Mapping[str, str], *refs: str) -> None:
        files = FILES if parent is None else self.source.commits[parent].files
        self.source.commit(name, parent, {**files, **changed}, *refs)

    def below(self, revision: str, status: ChangeStatus, branch: str = "master") -> None:
        """Make a commit the patch set of another change."""
        current = PatchSet(1, revision, BELOW, ("root",))
        self.server.put(change_at(1, key=BELOW_KEY, branch=branch, current=current, status=status))

    def sides(self, kind: RunKind = RunKind.CHECK) -> ChosenSides:
        return choose_sides(self.store, self.server, self.source, replace(RUN, kind=kind))

    def compared(self) -> tuple[str, str]:
        """Compare by the benchmark job; return what the sides have in a.c, b.c and note."""
        sides = self.sides().of(PERF)
        assert sides.base is not None
        assert not sides.conflict
        return self.content(sides.base.commit), self.content(sides.patch.commit)

    def content(self, commit: str) -> str:
        return "".join(self.source.commits[commit].files[name] for name in FILES)


@pytest.fixture
def history() -> History:
    return History()


def test_a_patch_set_on_the_head_is_compared_with_it(history: History) -> None:
    history.commit("patch", "root", {"a.c": "2"}, CHANGE)
    sides = history.sides()
    assert history.compared() == ("111", "211")
    assert sides.merged == sides.own


def test_a_patch_set_on_an_old_parent_is_compared_as_it_would_be_merged(history: History) -> None:
    history.commit("patch", "root", {"a.c": "2"}, CHANGE)
    history.commit("head", "root", {"b.c": "2"}, MASTER)
    assert history.compared() == ("121", "221")
    patch = history.sides().of(PERF).patch
    assert patch.merge == Merge("head", "patch")
    assert (patch.pushed, patch.ref, patch.trust) == ("patch", CHANGE, "unreviewed")


def test_a_patch_set_that_repeats_what_was_merged_adds_only_the_rest(history: History) -> None:
    history.commit("patch", "root", {"a.c": "2", "b.c": "3"}, CHANGE)
    history.commit("head", "root", {"a.c": "2"}, MASTER)
    assert history.compared() == ("211", "231")


def test_a_patch_set_is_compared_with_its_parent_if_the_branch_changed_no_file_of_the_job(
    history: History,
) -> None:
    history.commit("patch", "root", {"a.c": "2"}, CHANGE)
    history.commit("head", "root", {"note": "2"}, MASTER)
    assert history.compared() == ("111", "211")


def test_too_many_changed_files_concern_every_job(history: History, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(project: str, base: str, patch: str) -> Sequence[str]:
        raise BadInput("too many paths")

    history.commit("patch", "root", {"a.c": "2"}, CHANGE)
    history.commit("head", "root", {"note": "2"}, MASTER)
    monkeypatch.setattr(history.source, "changed_paths", refuse)
    assert history.compared() == ("112", "212")


def test_tests_run_on_the_patch_set_as_it_is(history: History) -> None:
    history.commit("patch", "root", {"a.c": "2"}, CHANGE)
    history.commit("head", "root", {"b.c": "2"}, MASTER)
    sides = history.sides()
    assert sides.of(TESTS) == sides.own
    assert sides.own.patch.commit == "patch"


@pytest.mark.parametrize("status", [ChangeStatus.NEW, ChangeStatus.ABANDONED])
class TestChain:
    """The parent is a patch set of a change that is not merged."""

    def test_on_the_head_the_parent_is_the_base(self, history: History, status: ChangeStatus) -> None:
        history.commit("below", "root", {"a.c": "2"}, BELOW)
        history.commit("patch", "below", {"b.c": "2"}, CHANGE)
        history.below("below", status)
        assert history.compared() == ("211", "221")

    def test_behind_the_head_both_are_merged(self, history: History, status: ChangeStatus) -> None:
        history.commit("below", "root", {"a.c": "2"}, BELOW)
        history.commit("patch", "below", {"note": "2"}, CHANGE)
        history.commit("head", "root", {"b.c": "2"}, MASTER)
        history.below("below", status)
        assert history.compared() == ("221", "222")
        base = history.sides().of(PERF).base
        assert base is not None
        assert base.is_under_review

    def test_a_parent_that_conflicts_withholds_the_vote(self, history: History, status: ChangeStatus) -> None:
        history.commit("below", "root", {"a.c": "2"}, BELOW)
        history.commit("patch", "below", {"b.c": "2"}, CHANGE)
        history.commit("head", "root", {"a.c": "3"}, MASTER)
        history.below("below", status)
        sides = history.sides().of(PERF)
        assert sides.base is not None
        assert (sides.base.commit, sides.patch.commit, sides.conflict) == ("below", "patch", "head")


class TestChangeThatTheSearchMisses:
    """The database knows that the parent is a patch set of change 6."""

    @pytest.fixture
    def history(self, history: History, monkeypatch: pytest.MonkeyPatch) -> History:
        history.commit("below", "root", {"a.c": "2"}, BELOW)
        history.commit("patch", "below", {"b.c": "2"}, CHANGE)
        history.below("below", ChangeStatus.NEW)
        with history.store.transaction() as tx:
            tx.changes.upsert(history.server.changes[BELOW_KEY])
        monkeypatch.setattr(history.server, "status_of", lambda *_: None)
        return history

    def test_its_current_status_counts(self, history: History) -> None:
        assert history.compared() == ("211", "221")
        history.below("below", ChangeStatus.MERGED)
        assert history.compared() == ("111", "121")

    def test_it_does_not_count_after_it_moved_to_another_branch(self, history: History) -> None:
        history.below("below", ChangeStatus.NEW, "7.6.x")
        assert history.compared() == ("111", "221")

    def test_it_does_not_count_after_it_was_deleted(self, history: History) -> None:
        del history.server.changes[BELOW_KEY]
        assert history.compared() == ("111", "221")


def test_a_parent_that_was_merged_as_another_commit_is_not_merged_again(history: History) -> None:
    history.commit("below", "root", {"a.c": "2"}, BELOW)
    history.commit("patch", "below", {"b.c": "2"}, CHANGE)
    history.commit("picked", "root", {"a.c": "2"})
    history.commit("head", "picked", {"a.c": "1", "note": "2"}, MASTER)  # reverts it
    history.below("below", ChangeStatus.MERGED)
    assert history.compared() == ("112", "122")


def test_a_parent_that_is_no_change_is_compared_with_the_patch_set_against_the_head(history: History) -> None:
    history.commit("slow", "root", {"a.c": "9"})
    history.commit("patch", "slow", {"a.c": "5"}, CHANGE)
    assert history.compared() == ("111", "511")


@pytest.mark.parametrize("status", [ChangeStatus.NEW, ChangeStatus.MERGED])
def test_a_parent_from_another_branch_would_come_with_the_patch_set(
    history: History, status: ChangeStatus
) -> None:
    history.commit("slow", "root", {"a.c": "9"})
    history.commit("patch", "slow", {"b.c": "2"}, CHANGE)
    history.below("slow", status, "7.6.x")
    assert history.compared() == ("111", "921")


def test_a_conflict_names_the_head(history: History) -> None:
    history.commit("patch", "root", {"a.c": "2"}, CHANGE)
    history.commit("head", "root", {"a.c": "3"}, MASTER)
    sides = history.sides()
    assert (sides.of(PERF).patch, sides.of(PERF).conflict) == (sides.own.patch, "head")
    assert sides.of(TESTS).conflict == ""


def test_a_conflict_in_files_that_do_not_concern_the_job_withholds_nothing(
    history: History,
) -> None:
    history.commit("patch", "root", {"a.c": "2", "note": "2"}, CHANGE)
    history.commit("head", "root", {"note": "3"}, MASTER)
    assert history.compared() == ("111", "212")


def test_a_root_commit_has_no_base(history: History) -> None:
    history.commit("patch", None, {"a.c": "2"}, CHANGE)
    assert history.sides().of(PERF).base is None


def test_a_merged_commit_is_compared_with_its_parent(history: History) -> None:
    history.commit("patch", "root", {"a.c": "2"}, MASTER)
    history.commit("head", "patch", {"b.c": "2"}, MASTER)
    sides = history.sides(RunKind.POST_SUBMIT).of(PERF)
    assert sides.base is not None
    assert (sides.base.commit, sides.patch.commit) == ("root", "patch")


def test_a_change_that_a_merge_commit_brought_is_compared_as_it_was_merged(history: History) -> None:
    history.commit("patch", "root", {"a.c": "2"}, CHANGE)
    history.commit("before", "root", {"b.c": "2"}, MASTER)
    history.commit("merge", "before", {"a.c": "2"}, MASTER)
    commits = history.source.commits
    commits["merge"] = replace(commits["merge"], merged="patch")
    history.commit("head", "merge", {"note": "2"}, MASTER)
    sides = history.sides(RunKind.POST_SUBMIT).of(PERF)
    assert sides.base is not None
    assert (sides.base.commit, sides.patch.commit, sides.patch.trust) == ("before", "merge", "reviewed")


def test_a_server_without_an_answer_is_asked_again(history: History) -> None:
    history.commit("below", "root", {"a.c": "2"}, BELOW)
    history.commit("patch", "below", {"b.c": "2"}, CHANGE)
    history.server.faults["status_of"] = Transient("no answer")
    with pytest.raises(Transient):
        history.sides()


def anchored(history: History, base: str, patch: str) -> ChosenSides:
    run = replace(
        RUN, kind=RunKind.ANCHOR, parent=base, revision=patch, patch_set_id=None, change=None, ref=None
    )
    return choose_sides(history.store, history.server, history.source, run)


def test_an_anchor_compares_a_commit_with_an_earlier_one_of_its_branch(history: History) -> None:
    history.commit("middle", "root", {"a.c": "2"}, MASTER)
    history.commit("tip", "middle", {"a.c": "3"}, MASTER)
    sides = anchored(history, "root", "tip").of(PERF)

    assert sides.base is not None
    assert (sides.base.commit, sides.patch.commit) == ("root", "tip")


@pytest.mark.parametrize("ends", [("tip", "root"), ("patch", "tip"), ("root", "patch")])
def test_ends_of_an_anchor_in_the_opposite_order_or_outside_of_the_branch_are_refused(
    history: History, ends: tuple[str, str]
) -> None:
    history.commit("tip", "root", {"a.c": "3"}, MASTER)
    history.commit("patch", "root", {"a.c": "4"}, CHANGE)

    with pytest.raises(BadInput):
        anchored(history, *ends)
