"""The whole flow, fed with what other CIs told in recorded histories, writes what readers saw for years."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import pytest

from service.domain.decision.external import ExternalBuild, Target
from service.domain.decision.overrides import OverrideKind
from service.domain.decision.states import RunState
from service.domain.gerrit.change import ChangeStatus, PatchSet
from service.domain.identity import RunKind
from service.ports.queue import Task
from service.steps.intake.record_external_build import (
    announce_external,
    record_external_build,
    withdraw_external,
)
from tests.support.build_host import MemorySource
from tests.support.changes import KEY, LINKS, Service, change_at
from tests.support.fakes import WRITTEN, FakeReviewServer
from tests.support.histories import BOT, FOLDER, read_history, recorded_histories

if TYPE_CHECKING:
    from service.domain.gerrit.change import Change
    from tests.support.histories import Comment, RecordedHistory, Round
    from tests.support.histories import ExternalBuild as RecordedBuild

LABEL = "Verified"
REVISION = "f9b60cd802102402c4e3ec82a153cd6e2f6eec78"
TWICE = range(2)
UNRECORDED = ("kv_engine.linux", "kv_engine.macos")  # which jobs were cancelled in the queue is not known
each_history = pytest.mark.parametrize("history", recorded_histories(), ids=lambda history: history.name)


@dataclass
class Replay:
    """The service beside a review server on which the comments of one history are written."""

    history: RecordedHistory
    service: Service = field(init=False)

    def __post_init__(self) -> None:
        server = FakeReviewServer(account=BOT, names={each.by: each.by for each in self.history.story})
        server.votes[KEY] = copy.deepcopy(self.history.votes_before)
        self.service = Service(server=server, source=self._source())
        self.service.reconcile()  # the first contact

    @property
    def jobs(self) -> tuple[str, ...]:
        """In the order in which the first round names them."""
        first = next(each.round for each in self.history.story if each.round is not None)
        return tuple(build.job for build in first.builds) or UNRECORDED

    @property
    def link(self) -> str:
        """Of the last decision."""
        decision = self.service.store.memory.decisions[-1]
        return LINKS.decision(decision.run_id, decision.number)

    @property
    def votes(self) -> dict[str, dict[str, int]]:
        """Those that stand, by label and person."""
        return {label: votes for label, votes in self.service.server.votes[KEY].items() if votes}

    @property
    def written(self) -> list[str]:
        """What the service wrote on the change, as the server shows it."""
        said = self.service.server.messages(KEY) if KEY in self.service.server.changes else ()
        return [message.text for message in said if message.author.account == BOT]

    def play(self, comment: Comment) -> None:
        """A person does something, or what led to a comment of the bot happens."""
        if comment.round is not None:
            self._run(comment.round)
        elif comment.by != BOT:
            self._act(comment)
            self._look()
        self.service.deliver()

    def _act(self, comment: Comment) -> None:
        server = self.service.server
        if comment.is_new_patch_set or KEY not in server.changes:
            server.put(self._change())
        if comment.is_new_patch_set:
            server.votes[KEY].pop(LABEL, None)
        for label, value in comment.votes.items():
            server.votes[KEY].setdefault(label, {})[comment.by] = value
        for label, person in comment.removes.items():
            del server.votes[KEY][label][person]
        server.say(KEY, comment.by, comment.text, self.history.patch_set)

    def _look(self) -> None:
        service = self.service
        service.see(service.server.changes[KEY])
        service.reconcile(is_full=True)
        for run in service.store.memory.runs:
            service.plan(run.id)
        assert service.run_comment_commands() == []

    def _run(self, ended: Round) -> None:
        """One after the other is asked for, then they end in another order; all of it is told twice."""
        for build in ended.builds:
            assert [self.announce(build, ended.kind) for _ in TWICE] == [True, False]
        for build in reversed(ended.builds):
            assert [self.note(build, ended.kind) for _ in TWICE] == [True, False]
            self.vote()
        for job in () if ended.builds else self.jobs:
            assert [self.withdraw(job) for _ in TWICE] == [True, False]
            self.vote()

    def announce(self, build: RecordedBuild, kind: RunKind) -> bool:
        begun = ExternalBuild(build.job, build.number, build.url)
        return announce_external(self.service.store, Target(KEY, REVISION, kind), begun)

    def note(self, build: RecordedBuild, kind: RunKind) -> bool:
        ended, target = ExternalBuild(build.job, build.number, build.url), Target(KEY, REVISION, kind)
        return record_external_build(self.service.store, target, ended, build.result, build.causes)

    def withdraw(self, job: str) -> bool:
        return withdraw_external(self.service.store, Target(KEY, REVISION), job)

    def vote(self) -> None:
        memory = self.service.store.memory
        for run in {entity for task, entity in memory.hints if task is Task.VOTE}:
            self.service.vote(run)
        memory.hints.clear()

    def _change(self) -> Change:
        number = self.history.patch_set
        current = PatchSet(number, REVISION, f"refs/changes/07/7/{number}", ("parent",))
        change = change_at(number, current=current, subject=self.history.story[0].text, updated=WRITTEN)
        return change if self._is_reviewed else merged(change)

    @property
    def _is_reviewed(self) -> bool:
        return any(each.round is not None and each.round.kind is RunKind.CHECK for each in self.history.story)

    def _source(self) -> MemorySource:
        source = MemorySource()
        jobs = "".join(f"  {job}: {{kind: external}}\n" for job in self.jobs)
        source.commit("parent", None, {"benchgate.yaml": f"version: 1\njobs:\n{jobs}"}, "refs/heads/master")
        number = self.history.patch_set
        files = {**source.commits["parent"].files, "executor.cc": "int main() {}"}
        source.commit(REVISION, "parent", files, f"refs/changes/07/7/{number}")
        return source


def merged(change: Change) -> Change:
    return replace(change, status=ChangeStatus.MERGED, merged_as=REVISION, submitted=WRITTEN)


@each_history
def test_every_result_comment_comes_out_as_recorded(history: RecordedHistory) -> None:
    """But for the link as last line, and the apostrophe that the old bot left where it cast no vote."""
    replay = Replay(history)
    for comment in history.story:
        before = len(replay.written)
        replay.play(comment)
        if comment.round is not None:
            assert replay.written[before:] == [f"{comment.text.removesuffix(chr(39))}\n\n{replay.link}"]


@each_history
def test_the_votes_after_every_comment_are_those_recorded(history: RecordedHistory) -> None:
    replay = Replay(history)
    for comment in history.story:
        replay.play(comment)
        assert replay.votes == comment.votes_after


@each_history
def test_the_bot_writes_when_it_wrote_and_not_otherwise(history: RecordedHistory) -> None:
    replay = Replay(history)
    for comment in history.story:
        replay.play(comment)

    assert len(replay.written) == sum(comment.by == BOT for comment in history.story)


@each_history
def test_what_was_told_in_the_course_of_it_may_be_told_again_at_its_end(history: RecordedHistory) -> None:
    replay = Replay(history)
    for comment in history.story:
        replay.play(comment)
    written, rounds = replay.written, [each.round for each in history.story if each.round is not None]

    assert not any(replay.announce(build, ended.kind) for ended in rounds for build in ended.builds)
    assert not any(replay.note(build, ended.kind) for ended in rounds for build in ended.builds)
    replay.vote()
    replay.service.deliver()
    assert replay.written == written


def test_a_build_of_the_branch_is_told_of_when_it_starts_and_casts_no_vote() -> None:
    replay = Replay(read_history(FOLDER / "after_the_submit.json"))
    merge, started, _ = replay.history.story
    replay.play(merge)

    assert replay.written == [f"{started.text.rpartition(' ')[0]} {LINKS.run(1)}"]
    for comment in replay.history.story[1:]:
        replay.play(comment)
    assert replay.service.runs(RunKind.POST_SUBMIT) == [(REVISION, RunState.FINISHED)]
    assert replay.service.server.reviews[-1].labels == {}


def test_a_persons_own_override_is_written_down_and_left_alone() -> None:
    replay = Replay(read_history(FOLDER / "overridden_by_a_person.json"))
    for comment in replay.history.story:
        replay.play(comment)
    written = replay.written
    replay.service.reconcile(is_full=True)
    replay.service.deliver()

    ((_, override),) = replay.service.store.memory.overrides
    assert (override.kind, override.who, override.bug) == (OverrideKind.PERSON_VOTE, "Jamie H", "MB-37948")
    assert override.reason == "Overriding buildbot, known intermittent failure (MB-37948)"
    assert replay.written == written
    assert replay.votes[LABEL] == {"Jamie H": 1}
