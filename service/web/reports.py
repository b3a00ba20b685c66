"""The API route to which another CI reports its builds."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Annotated, Final

from fastapi import APIRouter, Header, Request, Security
from fastapi.security import HTTPBearer
from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictInt

from service.domain.access.caller import TokenHolder
from service.domain.access.scopes import Scope, ScopeKind, cover_report
from service.domain.decision.external import (
    MAX_CAUSE,
    MAX_CAUSES,
    MAX_URL,
    ExternalBuild,
    Notice,
    Report,
    Target,
)
from service.domain.decision.vote import Result  # noqa: TC001 - pydantic reads the annotations
from service.domain.errors import BadInput, NotAllowed
from service.domain.identity import ChangeKey, RunKind
from service.domain.text import plain
from service.ports.records import NewReport
from service.web.access.authenticate import known_caller
from service.web.problems import RESPONSES

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from service.domain.access.caller import Caller

BEARER: Final = HTTPBearer(
    auto_error=False, scheme_name="token", description="An API token, from `benchgate token create`."
)
_MOST: Final = (1 << 31) - 1

Key = Annotated[
    str,
    Header(
        alias="Idempotency-Key",
        pattern="^[!-~]{1,200}$",
        description="a text that is unique to this report, as a UUID; a client that received no answer sends "
        "the report again with the same key",
    ),
]


class ReportedBuild(BaseModel):
    """A build of another CI: it started, ended with a result, or will never start (`WITHDRAWN`)."""

    model_config = ConfigDict(extra="forbid")

    instance: Annotated[
        str,
        Field(max_length=100, description="the name of the change's Gerrit; required if there are several"),
    ] = ""
    project: Annotated[str, Field(min_length=1, max_length=500, examples=["kv_engine"])]
    change: Annotated[StrictInt, Field(ge=1, le=_MOST, description="the change's number on Gerrit")]
    revision: Annotated[
        str,
        Field(pattern="^([0-9a-f]{40}|[0-9a-f]{64})$", description="the commit that was built, all digits"),
    ]
    job: Annotated[str, Field(min_length=1, max_length=100, description="as benchgate.yaml names it")]
    number: Annotated[StrictInt, Field(ge=1, le=_MOST, description="of the build in the other CI; it grows")]
    url: Annotated[str, Field(max_length=MAX_URL, description="the build's page in the other CI")]
    result: Notice | Result
    merged: Annotated[StrictBool, Field(description="the build is of the merged commit on its branch")] = (
        False
    )
    causes: Annotated[
        list[Annotated[str, Field(max_length=MAX_CAUSE)]],
        Field(max_length=MAX_CAUSES, description="reasons for a failure, a line each"),
    ] = []


class Recorded(BaseModel):
    """The answer to a report."""

    recorded: Annotated[bool, Field(description="false: Benchgate already has this report, or a newer one")]


def create_reports(
    instances: Sequence[str],
    record: Callable[[Report, NewReport], bool],
) -> APIRouter:
    """Create the route that takes reports.

    Args:
        instances: the names of the review servers.
        record: records a report once under its key, and returns whether it is news; called in a thread.
    """
    router = APIRouter(prefix="/api/v1", responses=RESPONSES, tags=["reports"])

    @router.post("/reports", operation_id="reportBuild", dependencies=[Security(BEARER)])
    def report_build(request: Request, key: Key, build: ReportedBuild) -> Recorded:
        """Report a build of an external job: when it starts, when it ends, or that it will never start.

        Needs a token with the scope report:PROJECT/JOB of this project and job, or, if there are several
        Gerrits, report:INSTANCE~PROJECT/JOB. A report that is sent again with the same key gets the same
        answer and has no further effect.
        """
        build = _with_instance(build, instances)
        token_id = _sender_of(known_caller(request), build, has_several=len(instances) > 1)
        target = Target(
            ChangeKey(build.instance, build.change),
            build.revision,
            RunKind.POST_SUBMIT if build.merged else RunKind.CHECK,
            build.project,
        )
        report = Report(
            target, ExternalBuild(build.job, build.number, build.url), build.result, tuple(build.causes)
        )
        # Without defaults: it is the same report if one is written out, or if a new version has a new field.
        content = build.model_dump_json(exclude_defaults=True)
        return Recorded(recorded=record(report, NewReport(token_id, key, sha256(content.encode()).digest())))

    return router


def _with_instance(build: ReportedBuild, instances: Sequence[str]) -> ReportedBuild:
    """Return a report with the name of its review server; BadInput if it must name one of several."""
    if build.instance in instances:
        return build
    if not build.instance and len(instances) == 1:
        return build.model_copy(update={"instance": instances[0]})
    problem = f"{plain(build.instance)} is no review server" if build.instance else "is missing"
    raise BadInput(f"{problem}; write {' or '.join(instances)}", "instance")


def _sender_of(caller: Caller, build: ReportedBuild, *, has_several: bool) -> int:
    """Return the id of the token that may send this report; NotAllowed if the caller has none."""
    if not isinstance(caller, TokenHolder) or not cover_report(
        caller.scopes, build.instance, build.project, build.job
    ):
        project = f"{build.instance}~{build.project}" if has_several else build.project
        wanted = Scope(ScopeKind.REPORT, project, build.job)
        raise NotAllowed(f"this report needs a token with the scope {wanted}")
    return caller.token_id
