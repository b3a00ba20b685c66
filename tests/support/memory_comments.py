"""The parts of the memory's unit of work that are about people, about rounds and about lines of files."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from service.domain.decision.overrides import Override
from service.domain.decision.states import BuildState, RunState
from service.domain.identity import RunKind
from service.ports.records import ReviewComment, SyncCursor
from tests.support.fakes import WRITTEN

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from datetime import datetime

    from service.domain.building.findings import Finding
    from service.domain.building.spec import BuildSpec
    from service.domain.gerrit.change import PostedMessage
    from service.domain.identity import ChangeKey
    from service.ports.records import BuildRecord, ChangeRecord, NewOverride, RunRecord
    from tests.support.memory import Memory


class MemoryHearing:
    """What people said and decided."""

    _m: Memory

    def sync_cursor(self, instance: str) -> SyncCursor | None:
        return self._m.sync_cursors.get(instance)

    def move_sync_cursor(self, instance: str, seen_until: datetime) -> None:
        known = self._m.sync_cursors.get(instance, SyncCursor(seen_until, seen_until))
        self._m.sync_cursors[instance] = replace(known, seen_until=max(known.seen_until, seen_until))

    def record_comments(self, record: ChangeRecord, messages: Sequence[PostedMessage]) -> Sequence[int]:
        new = []
        for message in messages:
            key = (record.change_id, message.author.account, message.written, message.text)
            if key not in self._m.said:
                self._m.said.add(key)
                new.append(len(self._m.comment) + 1)
                self._m.comment.append(
                    ReviewComment(
                        id=new[-1],
                        change_id=record.change_id,
                        patch_set_id=record.patch_set_id,
                        change=self._m.change_ids[record.change_id - 1],
                        patch_set=message.patch_set,
                        revision=self._m.changes[self._m.change_ids[record.change_id - 1]].current.revision,
                        account=message.author.account,
                        person=message.author.shown,
                        text=message.text,
                        is_pending=True,
                    )
                )
        return new

    def lock_comment(self, comment_id: int) -> ReviewComment:
        return self._m.comment[comment_id - 1]

    def pending_until(self, comment_id: int) -> Sequence[ReviewComment]:
        change = self._m.comment[comment_id - 1].change_id
        earlier = self._m.comment[:comment_id]
        return [each for each in earlier if each.change_id == change and each.is_pending]

    def answer(self, comment_id: int, text: str) -> None:
        self._m.comment[comment_id - 1] = replace(self._m.comment[comment_id - 1], is_pending=False)
        self._m.answers[comment_id] = text

    def add_override(self, patch_set_id: int, entry: NewOverride) -> int:
        number = len(self._m.overrides) + 1
        change, patch_set = self._m.patch_sets[patch_set_id - 1]
        current = self._m.changes[self._m.change_ids[change - 1]].current
        assert current.number == patch_set, "of the current patch set"
        made = Override(
            id=number,
            kind=entry.kind,
            revision=current.revision,
            filter=entry.pattern,
            bug=entry.bug,
            reason=entry.reason,
            who=entry.person,
            account=entry.account,
            at=WRITTEN,
            builds=frozenset(entry.builds),
        )
        self._m.overrides.append((patch_set_id, made))
        return number

    def overrides(self, patch_set_id: int) -> Sequence[Override]:
        return [override for where, override in self._m.overrides if where == patch_set_id]


class MemoryRounds:
    """How rounds follow each other."""

    _m: Memory

    def newest_check(self, patch_set_id: int) -> RunRecord | None:
        runs = [r for r in self._m.runs if r.patch_set_id == patch_set_id and r.kind is RunKind.CHECK]
        return next((run for run in reversed(runs) if not run.is_called_off), None)

    def checks_of(self, instance: str, revision: str) -> tuple[tuple[RunState, bool], ...]:
        wanted = (instance, revision, RunKind.CHECK)
        mine = [run for run in self._m.runs if (run.instance, run.revision, run.kind) == wanted]
        built = {run for run, _ in self._m.run_builds}
        return tuple((run.state, run.id in built) for run in mine)

    def follow_run(self, previous: RunRecord, comment_id: int | None) -> int:
        assert previous.state is RunState.FINISHED
        self._m.runs.append(replace(previous, id=len(self._m.runs) + 1, state=RunState.RUNNING))
        return len(self._m.runs)

    def take_build(self, run_id: int, position: int, build_id: int) -> None:
        assert position == sum(run == run_id for run, _ in self._m.run_builds)
        self._m.run_builds.append((run_id, build_id))
        self._m.reused.add((run_id, build_id))

    def repeat_build(self, build: BuildRecord, spec: BuildSpec | None, deadline_seconds: float) -> int:
        assert deadline_seconds > 0
        number = 1 + sum(each.job == build.job for each in self._m.builds)
        state = BuildState.RUNNING if build.is_external else BuildState.QUEUED
        again = replace(
            build, id=len(self._m.builds) + 1, number=number, state=state, outcome=None, causes=()
        )
        fresh = replace(again, execution=None, attempt=0, machine="", blamed=(), findings=())
        if spec is not None:
            if spec.sequence not in self._m.sequences:
                self._m.sequences.append(spec.sequence)
            sequence_id = self._m.sequences.index(spec.sequence) + 1
            fresh = replace(fresh, spec=spec.to_mapping(), sequence_id=sequence_id)
        self._m.builds.append(replace(fresh, external_number=None, url=""))
        return again.id

    def put_build(self, run_id: int, position: int, job: str, build_id: int, comment_id: int | None) -> None:
        for index, (run, build) in enumerate(self._m.run_builds):
            if run == run_id and self._m.builds[build - 1].job == job:
                self._m.run_builds[index] = (run_id, build_id)
                self._m.replaced.append((run_id, build))
                return
        assert position == sum(run == run_id for run, _ in self._m.run_builds)
        self._m.run_builds.append((run_id, build_id))

    def newest_run(self, change: ChangeKey, kind: RunKind, revision: str) -> RunRecord | None:
        wanted = (change, kind, revision)
        runs = [run for run in self._m.runs if (run.change, run.kind, run.revision) == wanted]
        return runs[-1] if runs else None

    def builds_of_job(self, run: RunRecord, job: str) -> Sequence[BuildRecord]:
        wanted = (run.patch_set_id, run.kind, run.revision)
        rounds = {r.id for r in self._m.runs if (r.patch_set_id, r.kind, r.revision) == wanted}
        stood = {build for number, build in self._m.run_builds + self._m.replaced if number in rounds}
        return [build for build in self._m.builds if build.id in stood and build.job == job]

    def name_build(self, build_id: int, external_number: int, url: str) -> None:
        build = self._m.builds[build_id - 1]
        self._m.builds[build_id - 1] = replace(build, external_number=external_number, url=url)

    def cancel_check(self, run_id: int) -> None:
        run = self._m.runs[run_id - 1]
        self._m.runs[run_id - 1] = replace(run, state=RunState.CANCELLED, is_called_off=True)


class MemoryRemarks:
    """What is said of lines of files."""

    _m: Memory

    def store_findings(self, build_id: int, findings: Sequence[Finding]) -> None:
        self._m.builds[build_id - 1] = replace(self._m.builds[build_id - 1], findings=tuple(findings))

    def remarks_on(self, change: ChangeKey, revision: str) -> Collection[tuple[str, str]]:
        return {
            (each.path, each.text)
            for stored in self._m.reviews.values()
            if stored.review.change == change
            and (stored.state == "sent" or (stored.state, stored.review.revision) == ("pending", revision))
            for each in stored.review.comments
        }
