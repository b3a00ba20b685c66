"""Compose API answers that are not one view: pages of a list, and several views together."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from datetime import datetime  # noqa: TC003 - pydantic reads the annotation
from typing import TYPE_CHECKING, Annotated, Final, TypeVar

from pydantic import BaseModel, BeforeValidator, Field

from service.domain.claims.answers import AnsweredClaim
from service.domain.sources.workspace import Workspace
from service.domain.values.errors import NotFound
from service.domain.values.identity import SeriesKey
from service.domain.verdict.calibration.usefulness import NEWEST, Fault
from service.domain.verdict.inference.estimate import MeasuredRatio, ratio_of
from service.domain.verdict.inference.verdict import Verdict
from service.domain.verdict.trend.line import level_line
from service.domain.wording.reasons import sentence
from service.ports.commits import BranchName, MergedCommit
from service.ports.failures.reading import KnownRow
from service.ports.machines import Machine
from service.ports.review.shown import Change, PatchSet
from service.ports.runs.shown import Build, BuildDetail, BuildOfRun, Decision, Override, Run
from service.ports.trunk import Regression
from service.ports.verdict import (
    Anchor,
    Comparison,
    MeasuredPatchSet,
    Point,
    Series,
    SeriesWithPoints,
)
from service.steps.verdict.review_benchmarks import SeriesVote

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from _typeshed import DataclassInstance

    from service.domain.verdict.calibration.usefulness import MeasuredSeries
    from service.domain.verdict.trend.line import Step

T = TypeVar("T")
_NEXT: Final = {"description": "the cursor of the next page; null on the last page"}
_VOTE: Final = {"description": "+1, -1, or null if there is no vote", "examples": [-1]}


@dataclass(frozen=True, slots=True)
class Changes:
    """A page of changes."""

    items: tuple[Change, ...]
    next: str | None = field(metadata=_NEXT)


@dataclass(frozen=True, slots=True)
class MeasuredPatchSets:
    """A page of patch sets."""

    items: tuple[MeasuredPatchSet, ...]
    next: str | None = field(metadata=_NEXT)


@dataclass(frozen=True, slots=True)
class SeriesPage:
    """A page of series."""

    items: tuple[Series, ...]
    next: str | None = field(metadata=_NEXT)


@dataclass(frozen=True, slots=True)
class Regressions:
    """A page of regressions."""

    items: tuple[Regression, ...]
    next: str | None = field(metadata=_NEXT)


@dataclass(frozen=True, slots=True)
class KnownFailures:
    """A page of known failures."""

    items: tuple[KnownRow, ...]
    next: str | None = field(metadata=_NEXT)


@dataclass(frozen=True, slots=True)
class Claims:
    """The claims of a commit message; empty while a run is planned."""

    items: tuple[AnsweredClaim, ...]


@dataclass(frozen=True, slots=True)
class Machines:
    """All machines."""

    items: tuple[Machine, ...]


@dataclass(frozen=True, slots=True)
class Queue:
    """A page of unfinished builds."""

    items: tuple[Build, ...]
    next: str | None = field(metadata=_NEXT)


@dataclass(frozen=True, slots=True)
class Branches:
    """Branches with a commit in the last 30 days."""

    items: tuple[BranchName, ...]


@dataclass(frozen=True, slots=True)
class Commits:
    """The newest merged commits of a branch."""

    items: tuple[MergedCommit, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """Distance of a merged commit from the commit ``since``, by the paired ratios between them."""

    revision: str = field(metadata={"examples": ["f1db58c29f4c40a3a68e1f5d2a0a7f7f7c2d9e10"]})
    since: str = field(
        metadata={"description": "the chosen commit; behind a gap in the measurements, the first one there"}
    )
    ratio: float = field(metadata={"description": "value at `revision` divided by that at `since`"})
    low: float = field(metadata={"description": "lower end of the ratio's 95 % interval"})
    high: float = field(metadata={"description": "upper end of the ratio's 95 % interval"})
    offset: float = field(
        metadata={"description": "ratio at which `since` is drawn: 1, or where the line ends before the gap"}
    )
    subject: str
    author: str
    measured_at: datetime
    run_id: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredStep(MeasuredRatio):
    """A merged commit against its parent; a range of commits against the commit before it."""

    revision: str
    parent: str
    is_range: bool
    pairs: int
    verdict: Verdict
    subject: str
    author: str
    measured_at: datetime
    run_id: int | None


@dataclass(frozen=True, slots=True)
class SeriesLevels:
    """A series with the levels of the measured commits on its branch, and the steps between these.

    The oldest commit comes first, and ranges after all single commits. Commits that the branch lost when it
    was set back are left out.
    """

    series: Series
    levels: tuple[Level, ...]
    steps: tuple[MeasuredStep, ...]


class VotingStatus(BaseModel):
    """The noise and false alarms of a series, from comparisons of programs with themselves (A/A)."""

    sessions: int
    pairs: int
    alarms: Annotated[int, Field(description="sessions in which the rule saw a difference")]
    alarm_share: Annotated[tuple[float, float], Field(description="95 % interval of alarms per session")]
    noise: Annotated[float | None, Field(description="spread of the pairs' log ratios, 1.4826 MAD")]
    beyond: Annotated[float | None, Field(description="share of pairs that are off by more than 3 %")]
    pairs_needed: Annotated[
        int | None, Field(description="about how many pairs find a change of 3 %; null for more than 1,000")
    ]
    is_measurable: bool
    may_vote: bool
    why_not: Annotated[str, BeforeValidator(lambda reason: sentence(reason) if reason else "")]


class SeriesVotingStatus(BaseModel):
    """A series on a machine with its voting status."""

    machine: str
    series: Series
    measured_at: datetime
    voting_status: VotingStatus


class VotingStatusPage(BaseModel):
    """A page of voting statuses."""

    items: tuple[SeriesVotingStatus, ...]
    next: Annotated[str | None, Field(description=_NEXT["description"])]


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredBenchmark:
    """A series as the newest builds of its job measured it: noise, faults, and whether it votes."""

    id: int = field(metadata={"description": "the series", "examples": [17]})
    series: SeriesKey
    builds: int = field(
        metadata={
            "description": f"the newest that measured it, at most {NEWEST}, one of each change",
            "examples": [20],
        }
    )
    undecided: int = field(
        metadata={"description": "builds that left it undecided for lack of pairs", "examples": [16]}
    )
    differed: int = field(metadata={"description": "builds that found it slower or faster", "examples": [0]})
    failed: int = field(metadata={"description": "builds in which it failed on both sides", "examples": [0]})
    identical: int = field(
        metadata={"description": "builds with the same program on both sides", "examples": [2]}
    )
    noise: float | None = field(
        metadata={
            "description": "standard deviation of a pair's log ratio, the median over builds",
            "examples": [0.021],
        }
    )
    limit: float = field(metadata={"description": "the least slow-down that votes", "examples": [0.02]})
    pairs_needed: int | None = field(
        metadata={
            "description": "about how many pairs find a slow-down of the limit; null for more than 1,000",
            "examples": [112],
        }
    )
    finds_from: float | None = field(
        metadata={
            "description": "smallest slow-down that its pairs find half of the time; null if unknown",
            "examples": [0.09],
        }
    )
    suite_seconds: float = field(
        metadata={
            "description": "machine time of its suite's launches in the last ``suite_builds`` builds",
            "examples": [7560.0],
        }
    )
    suite_builds: int = field(
        metadata={"description": "builds with timed launches of its suite", "examples": [20]}
    )
    fault: Fault | None = field(
        metadata={
            "description": "what is wrong with the benchmark; null: nothing known",
            "examples": ["noisy"],
        }
    )
    votes: tuple[SeriesVote, ...]

    @staticmethod
    def of(row: MeasuredSeries, fault: Fault | None, votes: Iterable[SeriesVote]) -> MeasuredBenchmark:
        """Make the item of a series."""
        own = {"series", "fault", "votes", "suite_seconds"}
        values = {
            each.name: getattr(row, each.name) for each in fields(MeasuredBenchmark) if each.name not in own
        }
        return MeasuredBenchmark(
            **values,
            series=row.key,
            suite_seconds=round(row.suite_seconds, 1),
            fault=fault,
            votes=tuple(votes),
        )


@dataclass(frozen=True, slots=True)
class Benchmarks:
    """A page of measured benchmarks."""

    items: tuple[MeasuredBenchmark, ...]
    next: str | None = field(metadata=_NEXT)


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildWithComparisons(BuildOfRun):
    """A build of a patch set with all its comparisons."""

    comparisons: tuple[Comparison, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PatchSetWithBuilds:
    """The vote on a patch set and everything it rests on; decisions and overrides come newest first."""

    change: Change
    patch_set: PatchSet
    vote: int | None = field(metadata=_VOTE)
    sentence: str = field(
        metadata={
            "description": "the decision with its first cause, or what the run waits for",
            "examples": ["1 of 20 results is slower"],
        }
    )
    decisions: tuple[Decision, ...]
    overrides: tuple[Override, ...]
    problems: tuple[str, ...] = field(
        metadata={"description": "steps of the change that failed several times, with error and next try"}
    )
    runs: tuple[Run, ...]
    builds: tuple[BuildWithComparisons, ...]


@dataclass(frozen=True, slots=True)
class Repository:
    """A repository beside the project's own, of which a build had the files of a commit."""

    path: str = field(metadata={"description": "its place below the top; empty for the top itself"})
    url: str = field(
        metadata={"description": "its address, which begins with `./` on the project's own server"}
    )
    commit: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildWithEnvironment(BuildDetail):
    """A build with the environment it ran in and its comparisons."""

    comparisons: tuple[Comparison, ...]
    repositories: tuple[Repository, ...] = field(
        metadata={"description": "the other repositories of a project of several, from its manifest"}
    )


def levels_of(trend: SeriesWithPoints, since: str) -> SeriesLevels:
    """Level the merged commits of a trend relative to the one that begins with ``since``; empty: the oldest.

    Raises:
        NotFound: there is no such commit, or there are several.
    """
    line = level_line(trend.steps, _commit_among(trend.steps, since) if since else "", trend.links)
    points = {each.revision: each for each in trend.levelled(line.followed)}
    levels = []
    for revision, point in points.items():
        level = line.levels[revision]
        levels.append(
            Level(
                revision=revision,
                since=level.since,
                ratio=ratio_of(level.log),
                low=ratio_of(level.low),
                high=ratio_of(level.high),
                offset=ratio_of(level.offset),
                subject=point.subject,
                author=point.author,
                measured_at=point.measured_at,
                run_id=point.run_id,
            )
        )
    followed = set(line.followed)
    ranges = (each for each in trend.anchors if {each.revision, each.parent} <= followed)
    measured: tuple[Point | Anchor, ...] = (*points.values(), *ranges)
    steps = tuple(_step(each, points.get(each.revision)) for each in measured)
    return SeriesLevels(trend.series, tuple(levels), steps)


def _step(measured: Point | Anchor, at: Point | None) -> MeasuredStep:
    """Make the step of a commit or a range; ``at`` is the point of its last commit."""
    same = ("revision", "parent", "pairs", "verdict", "ratio", "low", "high", "measured_at")
    values = {name: getattr(measured, name) for name in same}
    if measured.is_same_program:
        values |= dict.fromkeys(("ratio", "low", "high"), 1.0)
    is_range = isinstance(measured, Anchor)
    return MeasuredStep(
        **values,
        is_range=is_range,
        subject=at.subject if at else "",
        author=at.author if at else "",
        run_id=at.run_id if at and not is_range else None,
    )


def _commit_among(steps: Iterable[Step], beginning: str) -> str:
    found = {name for each in steps for name in (each.revision, each.parent) if name.startswith(beginning)}
    if len(found) == 1:
        return found.pop()
    what = "several commits begin" if found else "no measured commit begins"
    raise NotFound(f"{what} with {beginning} among those of the trend: a larger limit reaches older ones")


def repositories_of(build: BuildDetail) -> tuple[Repository, ...]:
    """List the other repositories of a build."""
    others = Workspace.from_mapping(build.workspace).others if build.workspace else ()
    return tuple(Repository(each.path, each.url, each.commit) for each in others)


def with_comparisons(
    kind: Callable[..., T], view: DataclassInstance, rows: Iterable[Comparison], **more: object
) -> T:
    """Make an answer that has the fields of a view, comparisons, and ``more``."""
    values = {item.name: getattr(view, item.name) for item in fields(view)}
    return kind(**values, comparisons=tuple(rows), **more)


class Problem(BaseModel):
    """An error (RFC 9457). ``request_id`` finds the request in the service's log."""

    type: str = "about:blank"
    title: str
    status: int
    detail: str = ""
    instance: str = ""
    request_id: str = ""
    errors: tuple[str, ...] = ()
