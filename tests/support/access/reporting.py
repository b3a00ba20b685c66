"""Another CI that reports its builds over HTTP with an API token."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Final

from service.domain.access.caller import Role, TokenHolder, User
from service.domain.access.scopes import parse_scope
from service.domain.review.change import PatchSet
from service.steps.runs.record_external_build import record_once
from service.steps.runs.record_tests import record_tests
from service.web.application import assemble
from service.web.runs.external_builds import create_external_builds
from tests.support.access.callers import Callers
from tests.support.fakes import WRITTEN
from tests.support.memory.files import MemoryArtifacts
from tests.support.review.changes import KEY, Service, change_at, project
from tests.support.web import call

if TYPE_CHECKING:
    from collections.abc import Sequence

    import httpx

    from service.domain.access.caller import Caller
    from service.web.runs.unseen_revisions import UnseenRevisions

REVISION: Final = "5fdec2f0" * 5
BUILD: Final = {
    "project": "kv",
    "change": KEY.number,
    "revision": REVISION,
    "url": "https://ci.example.com/job/linux/5/",
    "result": "SUCCESS",
}
FINDING: Final = {"path": "src/a.cc", "line": 7, "message": "warning: x"}
FILE: Final = "version: 1\njobs:\n  linux: {kind: external}\n  macos: {kind: external}\n"


def holder(*scopes: str, token_id: int = 1) -> TokenHolder:
    return TokenHolder(token_id=token_id, name="ci", scopes=frozenset(map(parse_scope, scopes)))


LINUX: Final = holder("report:kv/linux")
PERSON: Final = User(subject="o", name="", email="", role=Role.OPERATOR, session=b"")


def service_waiting_for_ci() -> Service:
    """A patch set that waits for two jobs of another CI."""
    service = Service(source=project(FILE))
    service.source.commit(REVISION, "parent", {}, "refs/changes/07/7/1")
    current = PatchSet(1, REVISION, "refs/changes/07/7/1", ("parent",))
    service.server.put(change_at(1, updated=WRITTEN, current=current))
    service.reconcile()
    service.plan()
    return service


def send(
    service: Service,
    build: object,
    *,
    caller: Caller = LINUX,
    key: str | None = "key-1",
    path: str = "linux/5",
    instances: Sequence[str] = (KEY.instance,),
    unseen: UnseenRevisions | None = None,
) -> httpx.Response:
    headers = {"Content-Type": "application/json"} | ({} if key is None else {"Idempotency-Key": key})
    callers = Callers()
    match caller:
        case TokenHolder():
            callers.tokens["bgt_ci"] = caller
            headers["Authorization"] = "Bearer bgt_ci"
        case User():
            headers |= callers.as_person(caller.role)
    reports = create_external_builds(
        instances,
        partial(record_once, service.store),
        partial(record_tests, service.store, MemoryArtifacts()),
        unseen,
    )
    app = assemble([reports], access=callers.access(), version="0.1.0")
    content = build if isinstance(build, str) else json.dumps(build)
    return call(app, "POST", f"/api/v1/builds/{path}", content=content, headers=headers)


def assert_problem(answer: httpx.Response, status: int, detail: str) -> None:
    assert (answer.status_code, answer.headers["content-type"]) == (status, "application/problem+json")
    assert answer.json()["detail"].startswith(detail)
