"""The shapes of the API's answers: times in UTC, numbers with unit and better direction."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer

from service.domain.decision.overrides import OverrideKind  # noqa: TC001 - pydantic reads the annotation
from service.domain.wording.reasons import sentence

UtcTime = Annotated[
    datetime,
    PlainSerializer(
        lambda moment: moment.astimezone(UTC).isoformat().replace("+00:00", "Z"), when_used="json"
    ),
]
Vote = Annotated[int | None, Field(description="+1, -1, or null where no vote was given", examples=[-1])]
Better = Annotated[
    Literal["lower", "higher"], Field(description="the direction in which the metric improves")
]
Unit = Annotated[str, Field(description="s, 1/s, B, B/s, or empty for a plain number", examples=["1/s"])]


class Shape(BaseModel):
    """What every answer has in common: read from values by attribute, never changed."""

    model_config = ConfigDict(from_attributes=True, frozen=True)

    @classmethod
    def of(cls, value: object) -> Self:
        """The answer that shows a value."""
        return cls.model_validate(value)


class Change(Shape):
    """A change with the state of its newest patch set."""

    instance: str
    number: int
    project: str
    branch: str
    subject: str
    owner: str
    status: str
    updated_at: UtcTime
    patch_set: int
    revision: str
    vote: Vote
    header: str
    run_id: int | None
    run_state: str | None
    builds: int
    finished_builds: int
    cause: Annotated[str, Field(description="the first cause of the worst build")]


class PatchSet(Shape):
    """One patch set in the history of its change."""

    number: int
    revision: str
    author: str
    subject: str
    kind: str
    created_at: UtcTime
    vote: Vote
    header: str


class ChangeWithPatchSets(Shape):
    """A change with all its patch sets, oldest first."""

    change: Change
    patch_sets: tuple[PatchSet, ...]


class Decision(Shape):
    """A vote and the message that was posted with it."""

    run_id: int
    number: int
    vote: Vote
    header: str
    message: str
    created_at: UtcTime
    review_state: Annotated[str, Field(description="how far the message came; empty where all went well")]
    review_note: Annotated[str, Field(examples=["label not granted: Verified"])]


class BuildName(Shape):
    """A build by its job and number."""

    job: str
    number: int


class Override(Shape):
    """What a person decided about a patch set."""

    kind: Annotated[OverrideKind, Field(description="an undo takes back overrides and accepts before it")]
    who: str
    reason: str
    bug: str
    filter: Annotated[str, Field(description="of an accept: the benchmarks that may be slower")]
    at: UtcTime
    is_active: Annotated[bool, Field(description="nobody took it back")]
    waives: Annotated[tuple[BuildName, ...], Field(description="builds whose failure it makes not count")]
    sentence: Annotated[str, Field(examples=["overridden by Bob Reviewer: known flake (MB-1)"])]


class Run(Shape):
    """A round of builds."""

    id: int
    kind: str
    state: str
    project: str
    branch: str
    revision: str
    parent: str | None
    subject: str
    author: str
    reason: str
    change: int | None
    patch_set: int | None
    created_at: UtcTime
    finished_at: UtcTime | None
    label: Annotated[str, Field(description="what the round votes on", examples=["Verified"])]


class Build(Shape):
    """A build."""

    job: str
    number: int
    kind: str
    pool: str
    state: str
    phase: str
    result: str | None
    outcome: str | None
    causes: tuple[str, ...]
    is_voting: bool
    is_reused: bool
    attempt: int
    machine: str | None
    created_at: UtcTime
    started_at: UtcTime | None
    finished_at: UtcTime | None
    floor: Annotated[float, Field(description="differences below this share are no news")]


class Comparison(Shape):
    """Base against patch for one metric of one benchmark; values are medians over launches."""

    series_id: int
    suite: str
    benchmark: str
    metric: str
    unit: Unit
    better: Better
    verdict: str
    pairs: int
    ratio: Annotated[float | None, Field(description="patch divided by base")]
    low: Annotated[float | None, Field(description="lower end of the ratio's interval")]
    high: Annotated[float | None, Field(description="upper end of the ratio's interval")]
    base: float | None
    patch: float | None
    reason: str


class MeasuredBuild(Shape):
    """What one job of a patch set compared."""

    job: str
    number: int
    comparisons: tuple[Comparison, ...]


class MeasuredPatchSet(Shape):
    """A patch set with its comparisons against its own parent."""

    number: int
    revision: str
    run_id: int
    parent: str | None
    parent_tree: Annotated[
        str | None, Field(description="patch sets whose trees are equal were compared with the same base")
    ]
    builds: tuple[MeasuredBuild, ...]


class BuildOfRun(Build):
    """A build as a round sees it."""

    waived_by: Annotated[str, Field(description="by whose word its failure does not count; may be empty")]


class BuildWithComparisons(BuildOfRun):
    """A build of a patch set with all its comparisons."""

    comparisons: tuple[Comparison, ...]


class PatchSetWithBuilds(Shape):
    """The vote on a patch set and everything it rests on; decisions and rulings come newest first."""

    change: Change
    patch_set: PatchSet
    vote: Vote
    decisions: tuple[Decision, ...]
    overrides: tuple[Override, ...]
    runs: tuple[Run, ...]
    builds: tuple[BuildWithComparisons, ...]


class RunWithBuilds(Shape):
    """A run with its builds and decisions."""

    run: Run
    builds: tuple[BuildOfRun, ...]
    decisions: tuple[Decision, ...]


class BuildWithEnvironment(Shape):
    """A build with where it ran and what it found."""

    build: Build
    runs: tuple[Run, ...]
    fingerprint: str
    environment: dict[str, Any]
    comparisons: tuple[Comparison, ...]


class Samples(Shape):
    """Every sample of a comparison: element k of both sides belongs to pair k, null: discarded."""

    series_id: int
    suite: str
    benchmark: str
    metric: str
    unit: Unit
    better: Better
    base: tuple[float | None, ...]
    patch: tuple[float | None, ...]


class Series(Shape):
    """One metric of one benchmark on one machine class and branch, over time."""

    id: int
    instance: str
    project: str
    branch: str
    machine_class: str
    job: str
    suite: str
    benchmark: str
    metric: str
    unit: Unit
    better: Better


class VotingStatus(Shape):
    """What programs that were compared with themselves say of a series on a machine."""

    sessions: int
    pairs: int
    alarms: Annotated[int, Field(description="sessions in which the rule saw a difference")]
    alarm_share: Annotated[tuple[float, float], Field(description="95 % interval of alarms per session")]
    noise: Annotated[float | None, Field(description="spread of the pairs' log ratios, 1.4826 MAD")]
    beyond: Annotated[float | None, Field(description="share of pairs that are off by more than 3 %")]
    pairs_needed: Annotated[int | None, Field(description="about how many a change of 3 % takes")]
    is_measurable: bool
    may_vote: bool
    why_not: Annotated[str, BeforeValidator(lambda reason: sentence(reason) if reason else "")]


class SeriesStanding(Shape):
    """A series on a machine with its A/A evidence."""

    machine: str
    series: Series
    measured_at: UtcTime
    voting_status: VotingStatus


class VotingStatusPage(Shape):
    """A page of voting statuses; ``next`` is the cursor of the page after it, null on the last."""

    items: tuple[SeriesStanding, ...]
    next: str | None


class Point(Shape):
    """One comparison in the history of a series; of kind ``post-submit`` for a merged commit."""

    kind: str
    measured_at: UtcTime
    job: str
    number: int
    environment_id: int | None
    machine: str
    verdict: str
    pairs: int
    base: float | None
    patch: float | None
    ratio: float | None
    low: float | None
    high: float | None
    run_id: int | None
    revision: str
    subject: str
    author: str
    change: int | None
    patch_set: int | None


class SeriesWithPoints(Shape):
    """A series with its points, oldest first."""

    series: Series
    points: tuple[Point, ...]


class Changes(Shape):
    """A page of changes; ``next`` is the cursor of the page after it, null on the last."""

    items: tuple[Change, ...]
    next: str | None


class MeasuredPatchSets(Shape):
    """A page of patch sets; ``next`` is the cursor of the page after it, null on the last."""

    items: tuple[MeasuredPatchSet, ...]
    next: str | None


class SeriesPage(Shape):
    """A page of series; ``next`` is the cursor of the page after it, null on the last."""

    items: tuple[Series, ...]
    next: str | None


class Problem(BaseModel):
    """What went wrong (RFC 9457). ``request_id`` finds the request in the service's log."""

    type: str = "about:blank"
    title: str
    status: int
    detail: str = ""
    instance: str = ""
    request_id: str = ""
    errors: tuple[str, ...] = ()
