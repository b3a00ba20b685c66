"""Show a patch set's builds in Gerrit's Checks tab."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from service.domain.measuring.metric import Better, metric_named
from service.domain.project.job_kinds import JobKind
from service.domain.runs.states import UNFINISHED, BuildState
from service.domain.runs.vote import CONSEQUENCES, Ballot, Counts, Outcome
from service.domain.values.identity import BuildName, ChangeKey
from service.domain.values.text import plain, shortened
from service.domain.verdict.inference.verdict import Verdict
from service.domain.wording.claims import claims_told
from service.domain.wording.standing import expected
from service.web.review.schemas import MAX_SUMMARY, Category, CheckResult, CheckRun, Link, RunStatus, Tag

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from service.domain.claims.answers import AnsweredClaim
    from service.domain.review.links import Links
    from service.ports.runs.shown import Build, BuildOfRun, Run, RunWithBuilds
    from service.ports.verdict import Comparison

    ReadRows = Callable[[Build], Sequence[Comparison]]
    ReadClaims = Callable[[int], Sequence[AnsweredClaim]]

_MAX_CAUSE: Final = 1000  # as long as messages have them
_MOST_CAUSES: Final = 50
_STATUS: Final[Mapping[BuildState, RunStatus]] = MappingProxyType(
    {
        BuildState.QUEUED: RunStatus.SCHEDULED,
        BuildState.RUNNING: RunStatus.RUNNING,
        BuildState.EXECUTED: RunStatus.RUNNING,
        BuildState.FINISHED: RunStatus.COMPLETED,
    }
)
# Without a default on purpose, like the vote. None: there is no result to show.
_CATEGORIES: Final[Mapping[Outcome, Category | None]] = MappingProxyType(
    {
        Outcome.PASSED: Category.SUCCESS,
        Outcome.FAILED: Category.ERROR,
        Outcome.SLOWER: Category.ERROR,
        Outcome.MEASURED_NOTHING: Category.ERROR,
        Outcome.BROKEN: Category.ERROR,
        Outcome.REMOVED: Category.ERROR,
        Outcome.UNDECIDED: Category.WARNING,
        Outcome.UNDECIDED_WITHHELD: Category.WARNING,
        Outcome.NO_PARENT: Category.INFO,
        Outcome.CONFLICT: Category.WARNING,
        Outcome.PARENT_BROKEN: Category.WARNING,
        Outcome.MISCONFIGURED: Category.WARNING,
        Outcome.INFRASTRUCTURE: Category.WARNING,
        Outcome.CANCELLED: Category.INFO,
        Outcome.NOT_BUILT: None,
    }
)


def check_runs(
    runs: Sequence[RunWithBuilds], read_rows: ReadRows, read_claims: ReadClaims, links: Links
) -> tuple[CheckRun, ...]:
    """Return a check run for every build of a patch set's runs, by job, oldest attempts first.

    Args:
        runs: of the patch set, oldest first.
        read_rows: returns the comparisons of a finished build.
        read_claims: returns the answered claims of a run, by its id.
        links: addresses of Benchgate's pages.
    """
    attempts: dict[str, dict[int, tuple[BuildOfRun, RunWithBuilds]]] = {}
    for run in runs:
        for build in run.builds:
            # A reused build keeps its place among the attempts, and is shown as part of its newest run.
            attempts.setdefault(build.job, {})[build.id] = (build, run)
    return tuple(
        _check_run(build, number, run, _findings(build, run, read_rows, read_claims), links)
        for builds in attempts.values()
        for number, (build, run) in enumerate(builds.values(), start=1)
    )


@dataclass(frozen=True, slots=True)
class _Findings:
    """The override that waives a build, its largest changes for the worse and the better, and a sentence.

    The sentence counts how the claims of the commit message held, if the build answers any or has a benchmark
    that one may mean; the lines of a message about them follow.
    """

    override: str
    claims: str
    worst: Comparison | None
    best: Comparison | None


def _findings(
    build: BuildOfRun, run: RunWithBuilds, read_rows: ReadRows, read_claims: ReadClaims
) -> _Findings:
    is_measured = JobKind(build.kind).may_compare and build.state is BuildState.FINISHED
    rows = read_rows(build) if is_measured else ()
    claims = read_claims(run.run.id) if rows else ()
    names = {row.benchmark for row in rows}
    is_meant = any(near.benchmark in names for each in claims for near in each.near)
    so_far = " so far" if run.run.state in UNFINISHED else ""
    counts, *lines = claims_told(claims) or ("",)
    told = "\n\n".join([f"{counts}{so_far}.", *lines])
    return _Findings(
        override=plain(build.waived_by, _MAX_CAUSE),
        claims=told if is_meant or any(each.job == build.job for each in claims) else "",
        worst=_most(rows, Verdict.SLOWER, _worsening),
        best=_most(rows, Verdict.FASTER, lambda row: 1 / _worsening(row)),
    )


def _check_run(build: Build, attempt: int, run: RunWithBuilds, findings: _Findings, links: Links) -> CheckRun:
    return CheckRun(
        change=run.run.change,
        patchset=run.run.patch_set,
        attempt=attempt,
        external_id=str(BuildName(build.job, build.number)),
        check_name=build.job,
        check_link=_page_of(build, links),
        status=_STATUS[build.state],
        status_description=_status(build),
        label_name=run.run.label if build.is_voting else None,
        scheduled_timestamp=build.created_at,
        started_timestamp=build.started_at,
        finished_timestamp=build.finished_at,
        results=_results(build, findings, _links(build, run.run, findings, links)),
    )


def _status(build: Build) -> str:
    machine = f" on {plain(build.machine, 100)}" if build.machine else ""
    match build.state:
        case BuildState.QUEUED:
            waits = plain(build.waits, 300) or f"waiting for a machine of pool {plain(build.pool, 100)}"
            return "; ".join(filter(None, (waits, expected(build.wait))))
        case BuildState.RUNNING:
            return f"{plain(build.phase, 160) or 'running'}{machine}"
        case BuildState.EXECUTED:
            return f"measured{machine}; analysing the results"
        case BuildState.FINISHED:
            return ": ".join(filter(None, (build.outcome, *_causes(build)[:1])))


def _results(build: Build, findings: _Findings, links: tuple[Link, ...]) -> tuple[CheckResult, ...]:
    if build.state is not BuildState.FINISHED or build.outcome is None:
        return ()
    outcome = build.outcome
    category = _category(outcome, build, findings)
    if category is None:
        return ()
    causes = _causes(build)
    summary = plain(causes[0] if causes else outcome, MAX_SUMMARY)
    message = "\n\n".join(filter(None, (findings.override, *causes, findings.claims)))
    return (
        CheckResult(
            external_id=str(BuildName(build.job, build.number)),
            category=category,
            summary=summary,
            message=message if message not in {"", summary} else None,
            tags=tuple(_tags(outcome, build, findings)),
            links=links,
        ),
    )


def _category(outcome: Outcome, build: Build, findings: _Findings) -> Category | None:
    """Return how much the outcome matters: only a failure that counts prevents submitting."""
    category = _CATEGORIES[outcome]
    if CONSEQUENCES[outcome].counts is Counts.FAIL:
        return category if _fails(build, findings) else Category.WARNING
    has_news = findings.worst is not None or findings.best is not None
    # Gerrit collapses successes; a change in performance is worth a look.
    return Category.INFO if category is Category.SUCCESS and has_news else category


def _tags(outcome: Outcome, build: Build, findings: _Findings) -> Iterable[Tag]:
    row = findings.worst or findings.best
    if row is not None:
        yield _change_tag(row)
    if findings.override:
        yield Tag(name="overridden", tooltip=findings.override, color="purple")
    if outcome is Outcome.INFRASTRUCTURE:
        yield Tag(name="infra", tooltip="caused by the infrastructure, not by the change", color="yellow")
    if build.machine:
        yield Tag(name=plain(build.machine, 40), tooltip="the machine that measured")


def _change_tag(row: Comparison) -> Tag:
    label = plain(metric_named(row.metric).label, 100)
    tooltip = " ".join(filter(None, (plain(row.benchmark), label, row.interval_text)))
    is_slower = row.verdict is Verdict.SLOWER
    return Tag(name=row.change_text, tooltip=tooltip, color="pink" if is_slower else "cyan")


def _most(
    rows: Iterable[Comparison], verdict: Verdict, size: Callable[[Comparison], float]
) -> Comparison | None:
    # Without a ratio, or with one of zero, there is no figure to show.
    return max((row for row in rows if row.verdict is verdict and row.ratio), key=size, default=None)


def _worsening(row: Comparison) -> float:
    """Return the factor of a metric's worsening."""
    ratio = row.ratio or 1.0
    return ratio if row.better is Better.LOWER else 1 / ratio


def _links(build: Build, run: Run, findings: _Findings, links: Links) -> tuple[Link, ...]:
    page = _page_of(build, links)
    name = BuildName(build.job, build.external_number or build.number)
    common: tuple[Link, ...] = (
        Link(url=page, tooltip=f"Build {name}", primary=True, icon="external"),
        Link(url=links.run(run.id), tooltip="All builds of this run", icon="view_timeline"),
    )
    if _fails(build, findings) and run.change is not None and run.patch_set is not None:
        known = build.job if build.outcome is Outcome.FAILED else ""  # measurements are never known
        form = links.override_form(ChangeKey(run.instance, run.change), run.patch_set, known)
        tooltip = "Override it, or make it a known failure" if known else "Override it"
        common = (*common, Link(url=form, tooltip=tooltip, icon="external"))
    # A build of another CI has its log there.
    return common if build.url else (*common, Link(url=f"{page}#log", tooltip="Log", icon="file_present"))


def _fails(build: Build, findings: _Findings) -> bool:
    if build.outcome is None:
        return False
    return Ballot(build.outcome, is_voting=build.is_voting, is_waived=bool(findings.override)).fails


def _page_of(build: Build, links: Links) -> str:
    """Return the address that messages have."""
    return build.url or links.build(BuildName(build.job, build.number))


def _causes(build: Build) -> tuple[str, ...]:
    kept = tuple(shortened(cause, _MAX_CAUSE) for cause in build.causes[:_MOST_CAUSES])
    omitted = len(build.causes) - len(kept)
    return (*kept, f"… and {omitted} more") if omitted else kept
