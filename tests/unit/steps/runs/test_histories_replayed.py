"""Replay recorded reports through the whole flow; it posts the recorded bot's messages."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import pytest

from service.domain.review.change import ChangeStatus, PatchSet
from service.domain.runs.external import ExternalBuild, ReportedRevision
from service.domain.runs.overrides import OverrideKind
from service.domain.runs.states import RunState
from service.domain.values.identity import RunKind
from service.ports.runs.queue import Task
from tests.support.building.memory_source import MemorySource
from tests.support.fakes import WRITTEN, FakeReviewServer
from tests.support.review.changes import KEY, LINKS, Service, change_at
from tests.support.runs.external import (
    announce_external,
    record_external_build,
    withdraw_external,
)
from tests.support.runs.histories import BOT, FOLDER, read_history, recorded_histories

if TYPE_CHECKING:
    from service.domain.review.change import Change
    from tests.support.runs.histories import Comment, RecordedHistory, Round
    from tests.support.runs.histories import ExternalBuild as RecordedBuild

LABEL = "Verified"
REVISION = "f9b60cd802102402c4e3ec82a153cd6e2f6eec78"
TWICE = range(2)
UNRECORDED = ("kv_engine.linux", "kv_engine.macos")  # which jobs were cancelled in the queue is not known
each_history = pytest.mark.parametrize("history", recorded_histories(), ids=lambda history: history.name)


@dataclass
class Replay:
    """The service with a review server that gets the comments of one history."""

    history: RecordedHistory
    service: Service = field(init=False)

    def __post_init__(self) -> None:
        server = FakeReviewServer(
            account=BOT, names={comment.by: comment.by for comment in self.history.story}
        )
        server.votes[KEY] = copy.deepcopy(self.history.votes_before)
        self.service = Service(server=server, source=self._source())
        self.service.reconcile()  # the first contact

    @property
    def jobs(self) -> tuple[str, ...]:
        """The jobs in the order of the first round."""
        first = next(comment.round for comment in self.history.story if comment.round is not None)
        return tuple(build.job for build in first.builds) or UNRECORDED

    @property
    def link(self) -> str:
        """The link of the last decision."""
        decision = self.service.store.memory.decisions[-1]
        return LINKS.decision(decision.run_id, decision.number)

    @property
    def votes(self) -> dict[str, dict[str, int]]:
        """The current votes, by label and person."""
        return {label: votes for label, votes in self.service.server.votes[KEY].items() if votes}

    @property
    def written(self) -> list[str]:
        """The texts of the service's messages on the change."""
        messages = self.service.server.messages(KEY) if KEY in self.service.server.changes else ()
        return [message.shown for message in messages if message.author.account == BOT]

    def play(self, comment: Comment) -> None:
        """Repeat a person's comment, or the events that led to a comment of the bot."""
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
        """Announce the builds in order, then end them in reverse order; report everything twice."""
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
        return announce_external(self.service.store, ReportedRevision(KEY, REVISION, kind), begun)

    def note(self, build: RecordedBuild, kind: RunKind) -> bool:
        ended, target = (
            ExternalBuild(build.job, build.number, build.url),
            ReportedRevision(KEY, REVISION, kind),
        )
        return record_external_build(self.service.store, target, ended, build.result, build.causes)

    def withdraw(self, job: str) -> bool:
        return withdraw_external(self.service.store, ReportedRevision(KEY, REVISION), job)

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
        return any(c.round is not None and c.round.kind is RunKind.CHECK for c in self.history.story)

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
def test_every_result_message_is_as_recorded(history: RecordedHistory) -> None:
    """Except the link in the last line, and an apostrophe of the old bot in messages without a vote."""
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
def test_the_bot_posts_as_many_messages_as_recorded(history: RecordedHistory) -> None:
    replay = Replay(history)
    for comment in history.story:
        replay.play(comment)

    assert len(replay.written) == sum(comment.by == BOT for comment in history.story)


@each_history
def test_repeated_reports_at_the_end_change_nothing(history: RecordedHistory) -> None:
    replay = Replay(history)
    for comment in history.story:
        replay.play(comment)
    written, rounds = replay.written, [c.round for c in history.story if c.round is not None]

    assert not any(replay.announce(build, ended.kind) for ended in rounds for build in ended.builds)
    assert not any(replay.note(build, ended.kind) for ended in rounds for build in ended.builds)
    replay.vote()
    replay.service.deliver()
    assert replay.written == written


def test_a_build_of_the_branch_is_announced_and_casts_no_vote() -> None:
    replay = Replay(read_history(FOLDER / "after_the_submit.json"))
    merge, started, _ = replay.history.story
    replay.play(merge)

    assert replay.written == [f"{started.text.rpartition(' ')[0]} {LINKS.run(1)}"]
    for comment in replay.history.story[1:]:
        replay.play(comment)
    assert replay.service.runs(RunKind.POST_SUBMIT) == [(REVISION, RunState.FINISHED)]
    assert replay.service.server.reviews[-1].labels == {}


def test_an_override_by_hand_is_recorded_without_a_message() -> None:
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
