"""Reports of another CI, as tests send them, and patch sets that wait for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from service.domain.runs.external import ExternalBuild, Notice, Report, ReportedRevision
from service.domain.runs.vote import Outcome
from service.steps.runs import record_external_build as step
from tests.support.fakes import WRITTEN
from tests.support.review.changes import KEY, Service, change_at, project

if TYPE_CHECKING:
    from collections.abc import Sequence

    from service.ports.store import Store


TARGET = ReportedRevision(KEY, "patch1")
ELSEWHERE = """\
version: 1
commands: {rerun: committers}
jobs:
  linux: {kind: external}
  macos: {kind: external}
  docs: {kind: external, paths: [docs/]}
  perf:
    kind: benchmark
    paths: [docs/]
    suites: [{name: bench, program: build/bench}]
"""


def announce_external(store: Store, target: ReportedRevision, started: ExternalBuild) -> bool:
    return step.record_external_build(store, Report(target, started, Notice.STARTED))


def record_external_build(
    store: Store, target: ReportedRevision, finished: ExternalBuild, result: str, causes: Sequence[str] = ()
) -> bool:
    return step.record_external_build(store, Report(target, finished, result, tuple(causes)))


def withdraw_external(store: Store, target: ReportedRevision, job: str) -> bool:
    dropped = ExternalBuild(job, 1, "http://ci.example.com/")
    return step.record_external_build(store, Report(target, dropped, Notice.WITHDRAWN))


def build(job: str, number: int) -> ExternalBuild:
    return ExternalBuild(job, number, f"http://ci.example.com/job/{job}/{number}/")


def begin(service: Service, job: str, number: int) -> bool:
    return announce_external(service.store, TARGET, build(job, number))


def end(service: Service, job: str, number: int, result: str = "SUCCESS", *causes: str) -> bool:
    return record_external_build(service.store, TARGET, build(job, number), result, causes)


def vote(service: Service) -> int | None:
    """Decide every run with a queued vote; return the last decision."""
    for _, run in [hint for hint in service.store.memory.hints if hint[0] == "vote"]:
        service.vote(run)
    return service.store.memory.decisions[-1].vote


def message(service: Service) -> list[str]:
    return service.store.memory.decisions[-1].message.split("\n\n")


def names(service: Service, run: int) -> list[tuple[str, int | None]]:
    """The builds of a run, with the numbers of the other CI."""
    builds = [
        service.store.memory.builds[b - 1] for number, b in service.store.memory.run_builds if number == run
    ]
    return [(each.job, each.external_number) for each in builds if each.outcome is not Outcome.NOT_BUILT]


def waiting_service() -> Service:
    """A patch set that waits for two jobs of another CI."""
    service = Service(source=project(ELSEWHERE))
    service.server.members = {("bob", "committers")}
    service.server.put(change_at(1, updated=WRITTEN))
    service.reconcile()
    service.plan()
    return service


def failed_service() -> Service:
    """The same after its first run, in which macos failed."""
    service = waiting_service()
    end(service, "linux", 5, "SUCCESS")
    end(service, "macos", 7, "FAILURE", "Test  #49: dcp")
    assert vote(service) == -1
    return service
