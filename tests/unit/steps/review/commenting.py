"""A patch set with a slower build, and people who comment on it."""

from __future__ import annotations

from service.domain.runs.states import BuildState
from service.domain.runs.vote import Outcome
from tests.support.fakes import WRITTEN
from tests.support.review.changes import KEY, PROJECT_FILE, Service, change_at, project

RIGHTS = "commands: {rerun: committers, override: reviewers}\n"
HEAD, JOB = PROJECT_FILE.split("jobs:\n")
TWO_JOBS = f"{HEAD}jobs:\n{JOB.replace('perf:', 'other:')}{JOB}"
MAY = {("bob", "reviewers"), ("bob", "committers"), ("carol", "committers")}


def voted() -> Service:
    """A patch set with two finished builds, the second slower; Bob has all permissions."""
    service = Service(source=project(TWO_JOBS + RIGHTS))
    service.server.members = set(MAY)
    service.server.put(change_at(1, updated=WRITTEN))
    service.reconcile()
    service.plan()
    finish(service, 1, Outcome.PASSED)
    finish(service, 2, Outcome.SLOWER, ("BM_a", "BM_b"))
    service.vote()
    assert [(each.number, each.vote) for each in service.store.memory.decisions] == [(1, -1)]
    return service


def finish(service: Service, build: int, outcome: Outcome, blamed: tuple[str, ...] = ()) -> None:
    service.store.update(build, state=BuildState.FINISHED, outcome=outcome, blamed=blamed)


def say(service: Service, text: str, who: str = "bob") -> list[str]:
    """Post a message on the change, and return the replies."""
    service.server.say(KEY, who, f"Patch Set 1:\n\n{text}")
    service.see(service.server.changes[KEY])
    return service.run_comment_commands()


def comment(service: Service, *texts: str, who: str = "bob") -> list[str]:
    """Post comments on lines of files, and return the replies."""
    service.server.comment(KEY, who, *texts)
    service.see(service.server.changes[KEY])
    return service.run_comment_commands()


def builds(service: Service, run: int) -> list[int]:
    return [build for number, build in service.store.memory.run_builds if number == run]
