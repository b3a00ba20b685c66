"""Views: the values that the pages show and that the HTTP API answers.

A field's ``metadata`` describes the field in the API's document. All times are in UTC.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, Literal

from service.domain.failures.evidence import ParentBuild
from service.domain.failures.known import Ends
from service.domain.measuring.metric import Better
from service.domain.project.job_kinds import JobKind
from service.domain.project.project_file import Permission
from service.domain.review.change import ChangeStatus
from service.domain.runs.overrides import OverrideKind
from service.domain.runs.states import BuildState, RunState
from service.domain.runs.vote import Outcome, Result
from service.domain.values.identity import BuildName, RunKind
from service.domain.values.text import change, interval
from service.domain.verdict.inference.verdict import Verdict
from service.ports.page_requests import ShownRequest
from service.ports.records import ReviewState

if TYPE_CHECKING:
    from service.domain.verdict.calibration.evidence import VotingStatus

_PAGES_ONLY: Final = {"exclude": True}
_VOTE: Final = {"description": "+1, -1, or null if there is no vote", "examples": [-1]}
_ADDRESS: Final = {
    "description": "names the change in addresses: its number; `instance~number` if there are more servers",
    "examples": ["core~4711"],
}
_UNIT: Final = {"description": "s, 1/s, B, B/s, or empty for a plain number", "examples": ["1/s"]}
_BETTER: Final = {"description": "the direction in which the metric improves"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A change with the state of its newest patch set."""

    id: int = field(metadata=_PAGES_ONLY)
    instance: str
    number: int
    address: str = field(metadata=_ADDRESS)
    project: str
    branch: str
    subject: str
    owner: str
    status: ChangeStatus
    updated_at: datetime
    patch_set: int
    revision: str
    vote: int | None = field(metadata=_VOTE)
    header: str = field(metadata={"description": "first line of the newest decision; may be empty"})
    run_id: int | None
    run_state: RunState | None
    builds: int
    finished_builds: int
    undecided: int = field(metadata={"description": "undecided results of the newest run"})
    cause: str = field(metadata={"description": "the first cause of the worst build"})


@dataclass(frozen=True, slots=True, kw_only=True)
class PatchSet:
    """One patch set in the history of its change."""

    id: int = field(metadata=_PAGES_ONLY)
    number: int
    revision: str
    author: str
    subject: str
    kind: str = field(metadata={"description": "in Gerrit's words", "examples": ["REWORK"]})
    created_at: datetime
    vote: int | None = field(metadata=_VOTE)
    header: str
    undecided: int = field(metadata={"description": "undecided results of the newest run"})


@dataclass(frozen=True, slots=True)
class ChangeWithPatchSets:
    """A change with all its patch sets, oldest first."""

    change: Change
    patch_sets: tuple[PatchSet, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """A vote and the message that was posted with it; ``number`` counts per patch set."""

    run_id: int
    number: int
    vote: int | None = field(metadata=_VOTE)
    header: str
    message: str
    created_at: datetime
    review_state: ReviewState | Literal[""] = field(
        metadata={"description": "how far the message came; empty if there was no problem"}
    )
    review_note: str = field(
        metadata={
            "description": "the review server's problem with the message; empty if there was none",
            "examples": ["label not granted: Verified"],
        }
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Override:
    """A person's decision about a patch set."""

    kind: OverrideKind = field(
        metadata={"description": "an undo revokes the overrides and accepts before it"}
    )
    who: str
    reason: str
    bug: str
    filter: str = field(metadata={"description": "of an accept: the benchmarks that may be slower"})
    at: datetime
    is_active: bool = field(metadata={"description": "whether nobody revoked it"})
    waives: tuple[BuildName, ...] = field(metadata={"description": "the builds, in any run, that it waives"})
    sentence: str = field(
        metadata={
            "description": "the line that messages have",
            "examples": ["overridden by Bob Reviewer: known flake (MB-1)"],
        }
    )
    levels: tuple[str, ...] = ()  # of an accept: "Hash/Insert CPU time up to +12.9 %"


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A run of builds; ``change`` and ``patch_set`` are None if it belongs to no patch set."""

    id: int
    kind: RunKind
    state: RunState
    instance: str
    project: str
    branch: str
    revision: str
    parent: str | None
    subject: str
    author: str
    reason: str
    change: int | None
    change_address: str | None = field(metadata=_ADDRESS)
    patch_set: int | None
    created_at: datetime
    finished_at: datetime | None
    label: str = field(metadata={"description": "the label that the run votes on", "examples": ["Verified"]})


@dataclass(frozen=True, slots=True, kw_only=True)
class Build:
    """A build."""

    id: int = field(metadata=_PAGES_ONLY)
    job: str
    number: int
    kind: JobKind
    pool: str
    state: BuildState
    phase: str
    result: Result | None
    outcome: Outcome | None
    causes: tuple[str, ...]
    is_voting: bool
    is_reused: bool
    attempt: int
    machine: str | None
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    floor: float = field(metadata={"description": "the share below which a difference does not matter"})
    undecided: int = field(metadata={"description": "undecided results"})
    external_number: int | None = field(default=None, metadata={"description": "the number in another CI"})
    url: str = field(default="", metadata={"description": "the page in another CI; may be empty"})
    notes: tuple[str, ...] = field(default=(), metadata=_PAGES_ONLY)
    blamed: tuple[str, ...] = field(default=(), metadata=_PAGES_ONLY)  # from here: for next steps
    compares: bool = field(default=True, metadata=_PAGES_ONLY)  # its rows are comparisons
    seed: str = field(default="", metadata=_PAGES_ONLY)
    permissions: tuple[Permission, ...] = field(default=(), metadata=_PAGES_ONLY)
    groups: Mapping[str, str] = field(default_factory=dict, metadata=_PAGES_ONLY)  # by permission

    @property
    def shown_number(self) -> int:
        """The number by which people know the build: another CI's, if it has one."""
        return self.external_number or self.number


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildOfRun(Build):
    """A build as part of a run."""

    waived_by: str = field(metadata={"description": "the override that waives its failure; may be empty"})


@dataclass(frozen=True, slots=True, kw_only=True)
class PatchSetDetail:
    """Everything known of a patch set, with the builds of its newest check run.

    Decisions, overrides and requests come newest first; revoked overrides are included.
    """

    change: Change
    patch_set: PatchSet
    message: str
    decisions: tuple[Decision, ...]
    runs: tuple[Run, ...]
    builds: tuple[BuildOfRun, ...]
    overrides: tuple[Override, ...]
    problems: tuple[str, ...]  # steps of the change that failed several times
    requests: tuple[ShownRequest, ...] = field(default=(), metadata=_PAGES_ONLY)
    patch_sets: tuple[PatchSet, ...] = field(default=(), metadata=_PAGES_ONLY)  # of the change, oldest first


@dataclass(frozen=True, slots=True)
class RunWithBuilds:
    """A run with its builds and the decisions that it led to, newest first."""

    run: Run
    builds: tuple[BuildOfRun, ...]
    decisions: tuple[Decision, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildDetail:
    """A build with the environment it ran in."""

    build: Build
    runs: tuple[Run, ...]
    log_url: str = field(default="", metadata={"description": "the log in another CI; may be empty"})
    environment_id: int | None = field(metadata=_PAGES_ONLY)
    fingerprint: str
    environment: Mapping[str, Any]
    conditions: Mapping[str, Any] = field(default_factory=dict, metadata=_PAGES_ONLY)  # as MachineReport's
    seconds: Mapping[str, float] = field(default_factory=dict, metadata=_PAGES_ONLY)  # of each stage
    configuration: Mapping[str, Any] | None = field(default=None, metadata=_PAGES_ONLY)  # of the job
    workspace: Mapping[str, Any] | None = field(default=None, metadata=_PAGES_ONLY)  # as Workspace's
    tests: str = field(default="", metadata=_PAGES_ONLY)  # the artifact with the test cases
    parents: tuple[ParentBuild, ...] = field(default=(), metadata=_PAGES_ONLY)  # that fail in the same way
    ends: Ends | None = field(default=None, metadata=_PAGES_ONLY)  # its failures if none can be made known


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """Base against patch for one metric; values are medians over launches."""

    verdict: Verdict
    pairs: int
    ratio: float | None = field(metadata={"description": "patch divided by base"})
    low: float | None = field(metadata={"description": "lower end of the ratio's interval"})
    high: float | None = field(metadata={"description": "upper end of the ratio's interval"})
    base: float | None
    patch: float | None

    @property
    def change_text(self) -> str:
        """The ratio as a change, such as ``−12.3 %``; empty if there is none."""
        return "" if self.ratio is None else change(self.ratio)

    @property
    def interval_text(self) -> str:
        """The ratio's interval, such as ``[−13.1, −11.4]``; empty if there is none."""
        return "" if self.low is None or self.high is None else interval(self.low, self.high, self.ratio)


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison(Compared):
    """Base against patch for one metric of one benchmark; values are medians over launches."""

    series_id: int
    suite: str
    benchmark: str
    metric: str
    unit: str = field(metadata=_UNIT)
    better: Better = field(metadata=_BETTER)
    reason: str
    needs_pairs: bool = field(default=False, metadata=_PAGES_ONLY)  # undecided, and more pairs may decide it


@dataclass(frozen=True, slots=True)
class MeasuredBuild:
    """The comparisons of one job of a patch set."""

    job: str
    number: int
    comparisons: tuple[Comparison, ...]


@dataclass(frozen=True, slots=True)
class MeasuredPatchSet:
    """A patch set with the comparisons, against ``parent``, of its newest check run that has some."""

    number: int
    revision: str
    run_id: int
    parent: str | None
    parent_tree: str | None = field(
        metadata={"description": "patch sets with equal trees were compared with the same base programs"}
    )
    builds: tuple[MeasuredBuild, ...]


@dataclass(frozen=True, slots=True)
class MeasuredPatchSets:
    """Patch sets of a change that have comparisons, newest first; ``older`` counts those left out."""

    patch_sets: tuple[MeasuredPatchSet, ...]
    older: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Samples:
    """Every sample of a comparison: element k of both sides was measured in pair k; null: discarded."""

    series_id: int
    suite: str
    benchmark: str
    metric: str
    unit: str = field(metadata=_UNIT)
    better: Better = field(metadata=_BETTER)
    base: tuple[float | None, ...]
    patch: tuple[float | None, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
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
    unit: str = field(metadata=_UNIT)
    better: Better = field(metadata=_BETTER)


@dataclass(frozen=True, slots=True, kw_only=True)
class Point(Compared):
    """One comparison in the history of a series; its kind is post-submit for a merged commit."""

    kind: RunKind
    measured_at: datetime
    job: str
    number: int
    environment_id: int | None
    machine: str
    run_id: int | None
    revision: str
    subject: str
    author: str
    change: int | None
    change_address: str | None = field(metadata=_ADDRESS)
    patch_set: int | None


@dataclass(frozen=True, slots=True)
class SeriesWithPoints:
    """A series with its points, oldest first: merged commits, and patch sets."""

    series: Series
    points: tuple[Point, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """A machine and the build that it holds now; machines of one ``host`` share its CPUs."""

    name: str
    machine_class: str
    pool: str
    host: str
    first_seen_at: datetime
    last_seen_at: datetime
    environment_id: int | None
    environment: Mapping[str, Any]
    build: BuildName | None
    obstacle: str  # why it takes no work; empty if it does


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesVotingStatus:
    """The voting status of a series on a machine, by the policy of the job's newest A/A session."""

    machine: str
    series: Series
    measured_at: datetime
    voting_status: VotingStatus
