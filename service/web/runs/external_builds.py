"""Route another CI's reports of its builds: start, result, causes, findings, log and tests."""

from __future__ import annotations

from hashlib import sha256
from time import monotonic
from typing import TYPE_CHECKING, Annotated, Final

from fastapi import APIRouter, Header, HTTPException, Path, Query, Request, Security
from fastapi.concurrency import run_in_threadpool
from fastapi.security import HTTPBearer
from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictInt

from service.domain.access.caller import TokenHolder
from service.domain.access.scopes import ScopeKind, TokenScope, cover_report
from service.domain.building.findings import MOST as MOST_FINDINGS
from service.domain.measuring.tests.junit import Dialect
from service.domain.runs.external import (
    MAX_CAUSE,
    MAX_CAUSES,
    MAX_FINDINGS,
    MAX_URL,
    ExternalBuild,
    Notice,
    Report,
    ReportedRevision,
    findings_of,
)
from service.domain.runs.vote import Result  # noqa: TC001 - pydantic reads the annotations
from service.domain.values.errors import BadInput, NotAllowed, NotFound, NotSeenYet
from service.domain.values.identity import ChangeKey, RunKind
from service.domain.values.text import plain
from service.domain.wording.refusals import never_seen
from service.ports.runs.builds import NewReport
from service.steps.runs.record_tests import RecordedTests, ReportedTests
from service.web.access.authenticate import known_caller
from service.web.problems import RESPONSES
from service.web.runs.unseen_revisions import UNSEEN_SECONDS, UnseenRevisions

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from service.domain.access.caller import Caller

BEARER: Final = HTTPBearer(
    auto_error=False, scheme_name="token", description="An API token, from `benchgate token create`."
)
MOST: Final = (1 << 31) - 1
MOST_TESTS: Final = 16 << 20  # bytes of a file of results; 100,000 short cases have fewer

Key = Annotated[
    str,
    Header(
        alias="Idempotency-Key",
        pattern="^[!-~]{0,200}$",
        description="a text that is unique to this report, as a UUID: sent again with the same key, it gets "
        "the same answer. Without a key, a repeated report is answered as one that changes nothing",
    ),
]
JobName = Annotated[
    str,
    Path(
        min_length=1, max_length=100, description="as benchgate.yaml names it", examples=["kv_engine.linux"]
    ),
]
Number = Annotated[
    int, Path(ge=1, le=MOST, description="of the build in the other CI; it grows", examples=[5904])
]


class ReportedFinding(BaseModel):
    """A message about a line of a source file, which becomes an inline comment if the build fails."""

    model_config = ConfigDict(extra="forbid")

    path: Annotated[str, Field(min_length=1, max_length=1000, description="from the root of the sources")]
    line: Annotated[StrictInt, Field(ge=1, le=MOST)]
    message: Annotated[str, Field(min_length=1, max_length=MAX_CAUSE, description="its first 300 characters")]


class ReportedBuild(BaseModel):
    """A build of another CI: it started, ended with a result, or will never start (`WITHDRAWN`)."""

    model_config = ConfigDict(extra="forbid")

    instance: Annotated[
        str,
        Field(max_length=100, description="the name of the change's Gerrit; required if there are several"),
    ] = ""
    project: Annotated[str, Field(min_length=1, max_length=500, examples=["kv_engine"])]
    change: Annotated[StrictInt, Field(ge=1, le=MOST, description="the change's number on Gerrit")]
    revision: Annotated[
        str,
        Field(pattern="^([0-9a-f]{40}|[0-9a-f]{64})$", description="the commit that was built, all digits"),
    ]
    url: Annotated[str, Field(max_length=MAX_URL, description="the build's page in the other CI")]
    log_url: Annotated[str, Field(max_length=MAX_URL, description="the build's log in the other CI")] = ""
    result: Notice | Result
    merged: Annotated[StrictBool, Field(description="the build is of the merged commit on its branch")] = (
        False
    )
    causes: Annotated[
        list[Annotated[str, Field(max_length=MAX_CAUSE)]],
        Field(max_length=MAX_CAUSES, description="reasons for a failure, a line each"),
    ] = []
    findings: Annotated[
        list[ReportedFinding],
        Field(max_length=MAX_FINDINGS, description=f"the first {MOST_FINDINGS} of source files are kept"),
    ] = []


class Recorded(BaseModel):
    """The answer to a report."""

    recorded: Annotated[bool, Field(description="false: Benchgate already has this report, or a newer one")]
    skipped_findings: Annotated[
        int, Field(description="findings beyond the first, or without a place in the sources")
    ] = 0


class TestsQuery(BaseModel):
    """The build and the file that results of tests are of."""

    __test__ = False
    model_config = ConfigDict(extra="forbid")

    instance: Annotated[str, Field(max_length=100)] = ""
    project: Annotated[str, Field(min_length=1, max_length=500)]
    suite: Annotated[
        str, Field(pattern=r"^[!-~]{1,100}$", description="tells the files of a build apart")
    ] = "tests"
    format: Annotated[
        Dialect, Field(description="ctest: written by `ctest --output-junit`, which has its own words")
    ] = Dialect.GENERIC


def create_external_builds(
    instances: Sequence[str],
    record: Callable[[Report, NewReport | None], bool],
    record_results: Callable[[ReportedTests], RecordedTests],
    unseen: UnseenRevisions | None = None,
) -> APIRouter:
    """Create the routes that take reports.

    Args:
        instances: the names of the review servers.
        record: records a report, once per idempotency key, and returns whether it is news; called in a
            thread.
        record_results: records results of tests; called in a thread.
        unseen: remembers reports of unknown revisions.
    """
    router = APIRouter(prefix="/api/v1", responses=RESPONSES, tags=["builds"])
    unknown = unseen or UnseenRevisions(monotonic)

    @router.post(
        "/builds/{job}/{number}",
        operation_id="reportBuild",
        dependencies=[Security(BEARER)],
        response_model_exclude_defaults=True,
    )
    def report_build(
        request: Request, job: JobName, number: Number, build: ReportedBuild, key: Key = ""
    ) -> Recorded:
        """Report a build of an external job: when it starts, when it ends, or that it will never start.

        Needs a token with the scope report:PROJECT/JOB of this project and job, or, if there are several
        Gerrits, report:INSTANCE~PROJECT/JOB. Reporting the same result again has no further effect.
        """
        build = build.model_copy(update={"instance": instance_of(build.instance, instances)})
        wanted = (build.instance, build.project, job)
        token_id = sender_of(known_caller(request), wanted, has_several=len(instances) > 1)
        report = _report(build, job, number)
        sent = None
        if key:
            # Without defaults: a report stays the same if one is written out, or is new in this version.
            content = f"{job}/{number} {build.model_dump_json(exclude_defaults=True)}"
            sent = NewReport(token_id, key, sha256(content.encode()).digest())
        skipped = len(build.findings) - len(report.findings)
        try:
            return Recorded(recorded=record(report, sent), skipped_findings=skipped)
        except NotSeenYet as error:
            if unknown.is_overdue(report.target):
                raise NotFound(never_seen(report.target, UNSEEN_SECONDS)) from error
            raise

    _add_tests(router, instances, record_results)
    return router


def _add_tests(
    router: APIRouter, instances: Sequence[str], record: Callable[[ReportedTests], RecordedTests]
) -> None:
    # Not in the route's signature: the body is read after the check of rights, and up to its own limit.
    schema = {
        "requestBody": {"required": True, "content": {"application/xml": {"schema": {"type": "string"}}}}
    }

    @router.post(
        "/builds/{job}/{number}/tests",
        operation_id="reportTests",
        dependencies=[Security(BEARER)],
        openapi_extra=schema,
    )
    async def report_tests(
        request: Request, job: JobName, number: Number, given: Annotated[TestsQuery, Query()]
    ) -> RecordedTests:
        """Report the results of tests of a build that was reported: the body is JUnit XML, at most 16 MiB.

        Report them before the result: then failed tests become causes of a failed build. Those that come
        later do too, as long as the vote waits for other builds. A file that is sent again for the same suite
        replaces the previous one. Needs the same token as the build.
        """
        instance = instance_of(given.instance, instances)
        sender_of(known_caller(request), (instance, given.project, job), has_several=len(instances) > 1)
        data = await _read(request)
        reported = ReportedTests(instance, given.project, job, number, given.suite, given.format, data)
        return await run_in_threadpool(record, reported)


async def _read(request: Request) -> bytes:
    announced = request.headers.get("content-length", "")
    is_too_large = announced.isdigit() and int(announced[:20]) > MOST_TESTS
    body = bytearray()
    if not is_too_large:
        async for chunk in request.stream():
            body += chunk
            if len(body) > MOST_TESTS:
                is_too_large = True
                break
    if is_too_large:
        raise HTTPException(413, f"a file of results has at most {MOST_TESTS >> 20} MiB")
    return bytes(body)


def _report(build: ReportedBuild, job: str, number: int) -> Report:
    target = ReportedRevision(
        ChangeKey(build.instance, build.change),
        build.revision,
        RunKind.POST_SUBMIT if build.merged else RunKind.CHECK,
        build.project,
    )
    return Report(
        target,
        ExternalBuild(job, number, build.url, build.log_url),
        build.result,
        tuple(build.causes),
        findings_of((each.path, each.line, each.message) for each in build.findings),
    )


def instance_of(named: str, instances: Sequence[str]) -> str:
    """Return the name of the review server of a report; BadInput if it must name one of several."""
    if named in instances:
        return named
    if not named and len(instances) == 1:
        return instances[0]
    problem = f"{plain(named)} is no review server" if named else "is missing"
    raise BadInput(f"{problem}; write {' or '.join(instances)}", "instance")


def sender_of(caller: Caller, wanted: tuple[str, str, str], *, has_several: bool) -> int:
    """Return the id of the token that may report builds of an instance's project and job.

    Raises:
        NotAllowed: the caller has no such token.
    """
    instance, project, job = wanted
    if not isinstance(caller, TokenHolder) or not cover_report(caller.scopes, instance, project, job):
        named = f"{instance}~{project}" if has_several else project
        scope = TokenScope(ScopeKind.REPORT, named, job)
        raise NotAllowed(f"this report needs a token with the scope {scope}")
    return caller.token_id
