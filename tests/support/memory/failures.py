"""Failures and known failures in memory."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from service.domain.access.audit import AuditKind
from service.domain.failures.evidence import Rate, Sighting, parent_builds
from service.domain.failures.known import (
    ACTIVE,
    CLOSED,
    DEFAULT_DAYS,
    PROPOSABLE,
    KnownFailure,
    Scope,
    TriageState,
)
from service.domain.failures.output.ends import is_specific
from service.domain.failures.signature import signature_of
from service.domain.runs.states import BuildState
from service.domain.runs.vote import CONSEQUENCES, Outcome, Result
from service.domain.values.identity import BuildName, RunKind
from service.ports.failures.storing import (
    PROPOSER,
    BuildFailures,
    Failures,
    KnownFailures,
    KnownNow,
    UnknownSignature,
    known_details,
    known_subject,
    proposal_details,
)
from tests.support.memory.audit import MemoryAudit
from tests.support.memory.state import NOW, InMemory, row

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence
    from datetime import datetime

    from service.domain.failures.evidence import ParentBuild
    from service.domain.failures.failure import Failure
    from service.ports.access import Author
    from service.ports.failures.storing import KnownChange, Matches, NewKnown
    from service.ports.runs.builds import BuildRecord
    from service.ports.runs.runs import RunRecord

_DAYS = 30
_COUNTED = {Result.SUCCESS, Result.UNSTABLE, Result.FAILURE}


class MemorySightings(InMemory):
    def _runs_of(self, build: BuildRecord) -> list[RunRecord]:
        ids = {run for run, number in self._m.run_builds + self._m.replaced if number == build.id}
        return [run for run in self._m.runs if run.id in ids]

    def _recent(self) -> Iterator[BuildRecord]:
        """Yield the builds of the last days that have a result."""
        for build in self._m.builds:
            is_counted = build.outcome is not None and CONSEQUENCES[build.outcome].result in _COUNTED
            is_recent = self._m.waiting[build.id].since > self._m.clock - _DAYS * 86400
            if build.state is BuildState.FINISHED and is_counted and is_recent:
                yield build

    def _ended(self, build: BuildRecord) -> datetime:
        return NOW + timedelta(seconds=self._m.waiting[build.id].since)

    def _counting(self, build: BuildRecord) -> set[bytes]:
        found = self._m.build_failures.get(build.id, BuildFailures())
        return {signature_of(failure).digest for failure in found.failures}

    def _cleared(self, build: BuildRecord) -> set[bytes]:
        return {signature_of(failure).digest for failure in self._m.cleared.get(build.id, ())}

    def _of_parent(self, run: RunRecord, job: str) -> Iterator[BuildRecord]:
        """Yield the failed builds of a job at a run's parent."""
        _, parent_tree = self._m.trees.get(run.id, ("", None))
        for build in self._m.builds:
            if build.job == job and build.outcome is Outcome.FAILED:
                for older in self._runs_of(build):
                    tree, _ = self._m.trees.get(older.id, (None, None))
                    is_here = older.kind is RunKind.CHECK or older.branch == run.branch
                    is_equal = older.revision == run.parent or (tree is not None and tree == parent_tree)
                    if is_here and is_equal:
                        yield build

    def _is_in(self, scope: Scope, build: BuildRecord) -> bool:
        return any(
            scope.covers(
                Scope(
                    instance=run.instance,
                    project=run.project,
                    branch=run.branch,
                    job=build.job,
                    host=build.host,
                )
            )
            for run in self._runs_of(build)
        )


class MemoryFailures(MemorySightings, Failures):
    def store_failures(self, build_id: int, found: BuildFailures, cleared: Sequence[Failure] = ()) -> None:
        self._m.build_failures[row(self._m.builds, build_id, "build").id] = found
        self._m.cleared[build_id] = tuple(cleared)

    def failures_of(self, build_ids: Sequence[int]) -> Mapping[int, BuildFailures]:
        stored = {build: self._m.build_failures.get(build, BuildFailures()) for build in build_ids}
        return {build: found for build, found in stored.items() if found != BuildFailures()}

    def known_now(self, instance: str, project: str) -> KnownNow:
        known = [
            each
            for each in self._m.known
            if each.state in ACTIVE and (each.scope.instance, each.scope.project) == (instance, project)
        ]
        active = tuple(each for each in known if self._m.now < each.expires_at)
        expired = tuple(each for each in known if each not in active)
        return KnownNow(self._m.now, active, expired)

    def keep_matches(self, run_id: int, matches: Mapping[tuple[int, int], int]) -> None:
        for (build, position), known in matches.items():
            self._m.known_matches.setdefault((run_id, build, position), known)

    def matches_of(self, run_id: int) -> Matches:
        return {
            (build, position): self._m.known[known - 1]
            for (run, build, position), known in self._m.known_matches.items()
            if run == run_id
        }

    def on_parent(self, run_id: int, build_ids: Collection[int]) -> Mapping[int, tuple[ParentBuild, ...]]:
        run = row(self._m.runs, run_id, "run")
        found = {}
        for build in (row(self._m.builds, each, "build") for each in build_ids):
            others = [each for each in self._of_parent(run, build.job) if each.id != build.id]
            pairs = [
                (failure, BuildName(newest.job, newest.external_number or newest.number))
                for failure in self._m.build_failures.get(build.id, BuildFailures()).failures
                if (newest := self._newest_with(signature_of(failure).digest, others)) is not None
            ]
            if pairs:
                found[build.id] = parent_builds(pairs)
        return found

    def _newest_with(self, digest: bytes, builds: Sequence[BuildRecord]) -> BuildRecord | None:
        same = [build for build in builds if digest in self._counting(build)]
        return max(same, key=lambda build: build.id, default=None)

    def rates_of(self, known_ids: Sequence[int]) -> Mapping[int, Rate]:
        return {known: self._rate(self._m.known[known - 1]) for known in known_ids}

    def _rate(self, known: KnownFailure) -> Rate:
        matched = {build for (_, build, _), number in self._m.known_matches.items() if number == known.id}
        since = self._m.known_since[known.id]
        builds = [
            build
            for build in self._recent()
            if self._is_in(known.scope, build)
            and (known.signature is not None or self._ended(build) > since or build.id in matched)
        ]
        failed = [
            build
            for build in builds
            if known.signature in self._counting(build) | self._cleared(build) or build.id in matched
        ]
        return Rate(len(failed), len(builds))


class MemoryKnownFailures(MemorySightings, MemoryAudit, KnownFailures):
    def make(self, new: NewKnown, author: Author) -> KnownFailure:
        digest = new.signature.digest if new.signature else None
        values: dict[str, Any] = {
            "bug": new.bug,
            "reason": new.reason,
            "owner": author.name,
            "expires_at": self._m.now + timedelta(days=new.days),
        }
        wanted = (digest, new.pattern, new.scope)
        for old in self._m.known:
            same = (old.signature, old.pattern, old.scope) == wanted
            if same and old.state is not TriageState.INVALID:
                is_infra = old.state is TriageState.INFRASTRUCTURE
                state = old.state if is_infra else TriageState.CONFIRMED
                return self._put(replace(old, state=state, **values), AuditKind.KNOWN_CHANGED, author)
        made = KnownFailure(
            id=len(self._m.known) + 1,
            signature=digest,
            pattern=new.pattern,
            scope=new.scope,
            assignee="",
            state=TriageState.CONFIRMED,
            text=new.signature.text if new.signature else "",
            **values,
        )
        self._m.known.append(made)
        self._m.known_since[made.id] = self._m.now
        return self._put(made, AuditKind.KNOWN_CREATED, author)

    def lock(self, known_id: int) -> KnownFailure:
        return row(self._m.known, known_id, "known failure")

    def change(self, known_id: int, change: KnownChange, author: Author) -> KnownFailure:
        was = self.lock(known_id)
        end = was.expires_at if change.days is None else self._m.now + timedelta(days=change.days)
        known = replace(
            was,
            state=change.state,
            bug=change.bug,
            assignee=change.assignee,
            expires_at=end,
            owner=was.owner or author.name,
        )
        is_closed = known.state in CLOSED and was.state not in CLOSED
        return self._put(known, AuditKind.KNOWN_CLOSED if is_closed else AuditKind.KNOWN_CHANGED, author)

    def _put(self, known: KnownFailure, kind: AuditKind, author: Author) -> KnownFailure:
        self._m.known[known.id - 1] = known
        self.record_act(kind, author.account, known_subject(known), known_details(known, author))
        return known

    def unknown_signatures(self) -> Sequence[UnknownSignature]:
        found: dict[tuple[bytes, Scope], list[Sighting]] = {}
        for build in self._recent():
            for digest in self._proposable(build):
                run = self._runs_of(build)[0]
                scope = Scope(instance=run.instance, project=run.project, branch=run.branch, job=build.job)
                if run.kind is not RunKind.CALIBRATION and not self._is_known(digest, scope):
                    found.setdefault((digest, scope), []).append(self._sighting(build, run, digest))
        return [UnknownSignature(*key, tuple(sightings)) for key, sightings in found.items()]

    def propose(self, found: UnknownSignature, grounds: Sequence[str]) -> int | None:
        if self._is_known(found.signature, found.scope):
            return None
        number = len(self._m.known) + 1
        self._m.known_since[number] = self._m.now
        self._m.known.append(
            KnownFailure(
                id=number,
                signature=found.signature,
                pattern="",
                scope=found.scope,
                bug="",
                reason="",
                owner="",
                assignee="",
                state=TriageState.UNTRIAGED,
                expires_at=self._m.now + timedelta(days=DEFAULT_DAYS),
            )
        )
        self.record_act(
            AuditKind.KNOWN_PROPOSED, PROPOSER, f"known failure {number}", proposal_details(found, grounds)
        )
        return number

    def _proposable(self, build: BuildRecord) -> set[bytes]:
        found = self._m.build_failures.get(build.id, BuildFailures())
        return {
            signature_of(failure).digest
            for failure in (*found.failures, *self._m.cleared.get(build.id, ()))
            if failure.kind in PROPOSABLE and is_specific(failure)
        }

    def _is_known(self, digest: bytes, scope: Scope) -> bool:
        return any(known.signature == digest and known.scope.covers(scope) for known in self._m.known)

    def _sighting(self, build: BuildRecord, run: RunRecord, digest: bytes) -> Sighting:
        same = [other for other in self._m.builds if other.job == build.job and other.outcome is not None]
        retried = [
            other
            for other in same
            if any((each.revision, each.kind) == (run.revision, run.kind) for each in self._runs_of(other))
        ]
        return Sighting(
            change=run.revision if run.change is None else str(run.change),
            revision=run.revision,
            parent=run.parent or "",
            host=build.host,
            at=self._ended(build),
            fails_on_parent=any(digest in self._counting(other) for other in self._of_parent(run, build.job)),
            passed_on_retry=digest in self._cleared(build)
            or any(other.outcome is Outcome.PASSED for other in retried),
        )
