"""Runs, builds and decisions as pages and API show them.

A field's ``metadata`` describes the field in the API's document. All times are in UTC.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, Literal

from service.domain.failures.evidence import ParentBuild
from service.domain.failures.known import Ends
from service.domain.project.job_kinds import JobKind
from service.domain.project.project_file import Permission
from service.domain.runs.overrides import OverrideKind
from service.domain.runs.states import BuildState, RunState
from service.domain.runs.vote import Outcome, Result
from service.domain.values.errors import BadResults
from service.domain.values.identity import BuildName, RunKind
from service.domain.verdict.explanation.explanation import Explanation, unpack
from service.ports.runs.decisions import ReviewState

PAGES_ONLY: Final = {"exclude": True}
VOTE: Final = {"description": "+1, -1, or null if there is no vote", "examples": [-1]}
ADDRESS: Final = {
    "description": "names the change in addresses: its number; `instance~number` if there are more servers",
    "examples": ["core~4711"],
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """A vote and the message that was posted with it; ``number`` counts per patch set."""

    run_id: int
    number: int
    vote: int | None = field(metadata=VOTE)
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
    change_address: str | None = field(metadata=ADDRESS)
    patch_set: int | None
    created_at: datetime
    finished_at: datetime | None
    label: str = field(metadata={"description": "the label that the run votes on", "examples": ["Verified"]})
    merged_as: str = field(
        default="",
        metadata={"description": "the merge commit that brought the revision to the branch; may be empty"},
    )


def leading(newest_first: Sequence[Run]) -> Run | None:
    """Choose the run that a page shows first: the newest, but not one after the merge that was given up."""
    return min(newest_first, key=_is_given_up, default=None)


def _is_given_up(run: Run) -> bool:
    return run.kind is RunKind.POST_SUBMIT and run.state in {RunState.CANCELLED, RunState.REFUSED}


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """The results of builds, counted; what says only how many instructions ran is left out.

    ``worst`` is the ratio of the slower result that changed most. ``not_counted`` says of each slower result
    that may not vote what it waits for.
    """

    results: int = 0
    slower: int = 0
    faster: int = 0
    worst: float | None = None
    not_counted: tuple[str, ...] = ()

    def __add__(self, other: Tally) -> Tally:
        worst = (each for each in (self.worst, other.worst) if each)
        return Tally(
            results=self.results + other.results,
            slower=self.slower + other.slower,
            faster=self.faster + other.faster,
            worst=max(worst, key=lambda ratio: max(ratio, 1 / ratio), default=None),
            not_counted=self.not_counted + other.not_counted,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class CountedBuild:
    """A build as its run's standing counts it."""

    state: BuildState
    result: Result | None
    undecided: int = field(metadata={"description": "undecided results"})
    place: int | None = field(
        default=None, metadata={"description": "of a queued build, in the queue of its pool: 1 is next"}
    )
    wait: float | None = field(default=None, metadata=PAGES_ONLY)  # expected seconds until it begins
    phase: str = field(default="", metadata=PAGES_ONLY)
    tally: Tally = field(default=Tally(), metadata=PAGES_ONLY)
    waiver: str = field(default="", metadata=PAGES_ONLY)  # in few words: "overridden MB-12"

    @property
    def is_measuring(self) -> bool:
        """Return whether a machine measures pairs now."""
        return self.state is BuildState.RUNNING and self.phase.partition(",")[0] in MEASURING


MEASURING: Final = frozenset({"measure", "confirm", "second opinion", "control"})  # phases of a build
_WORST_FIRST: Final = (Result.FAILURE, Result.ABORTED, Result.UNSTABLE, Result.SUCCESS, Result.NOT_BUILT)


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """Facts of a patch set's newest run for its badge.

    ``kind`` and ``state`` are None without a run. ``vote`` is that of the newest decision, perhaps of an
    earlier run; ``waivers`` name why failures do not count, and ``waived`` slower results with them.
    ``place`` is that of the first waiting build, if none is past the queue, and ``wait`` the expected seconds
    until one of them begins.
    """

    kind: RunKind | None = None
    state: RunState | None = None
    vote: int | None = None
    result: Result | None = None  # the worst one
    undecided: int = 0
    tally: Tally = Tally()
    waivers: tuple[str, ...] = ()
    waived: int = 0
    place: int | None = None
    wait: float | None = None
    is_measuring: bool = False

    @staticmethod
    def of(
        kind: RunKind | None, state: RunState | None, vote: int | None, builds: Iterable[CountedBuild]
    ) -> Standing:
        """Sum up the builds of a run."""
        found = list(builds)
        results = {each.result for each in found}
        begun = any(each.state in {BuildState.RUNNING, BuildState.EXECUTED} for each in found)
        queued = [] if begun else [each for each in found if each.place is not None]
        return Standing(
            kind=kind,
            state=state,
            vote=vote,
            result=next((each for each in _WORST_FIRST if each in results), None),
            undecided=sum(each.undecided for each in found),
            tally=sum((each.tally for each in found), Tally()),
            waivers=tuple(dict.fromkeys(each.waiver for each in found if each.waiver)),
            waived=sum(each.tally.slower - len(each.tally.not_counted) for each in found if each.waiver),
            place=min((each.place for each in queued if each.place is not None), default=None),
            wait=min((each.wait for each in queued if each.wait is not None), default=None),
            is_measuring=any(each.is_measuring for each in found),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Build(CountedBuild):
    """A build."""

    id: int = field(metadata=PAGES_ONLY)
    job: str
    number: int
    kind: str
    pool: str
    phase: str = field(
        metadata={
            "description": "what its machine does now, and how far it is",
            "examples": ["confirm, relink 6 of up to 12, pair 10, at most 3 min more"],
        }
    )
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
    external_number: int | None = field(default=None, metadata={"description": "the number in another CI"})
    url: str = field(default="", metadata={"description": "the page in another CI; may be empty"})
    waits: str = field(
        default="",
        metadata={
            "description": "why a queued build waits; else empty",
            "examples": [
                "2nd in the queue of pool perf; perf-01 takes no benchmarks: work takes 99 % of its CPUs"
            ],
        },
    )
    compares: bool = field(default=True, metadata={"description": "whether its results compare two sides"})
    notes: tuple[str, ...] = field(default=(), metadata=PAGES_ONLY)
    blamed: tuple[str, ...] = field(default=(), metadata=PAGES_ONLY)  # from here: for next steps
    seed: str = field(default="", metadata=PAGES_ONLY)
    permissions: tuple[Permission, ...] = field(default=(), metadata=PAGES_ONLY)
    groups: Mapping[str, str] = field(default_factory=dict, metadata=PAGES_ONLY)  # by permission

    @property
    def shown_number(self) -> int:
        """The number that people know the build by: another CI's, if it has one."""
        return self.external_number or self.number

    @property
    def is_external(self) -> bool:
        """Return whether another CI runs the build."""
        return JobKind(self.kind).is_external


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildOfRun(Build):
    """A build as part of a run."""

    waived_by: str = field(metadata={"description": "the override that waives its failure; may be empty"})


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
    environment_id: int | None = field(metadata=PAGES_ONLY)
    fingerprint: str
    environment: Mapping[str, Any]
    conditions: Mapping[str, Any] = field(default_factory=dict, metadata=PAGES_ONLY)  # as MachineReport's
    seconds: Mapping[str, float] = field(default_factory=dict, metadata=PAGES_ONLY)  # of each stage
    configuration: Mapping[str, Any] | None = field(default=None, metadata=PAGES_ONLY)  # of the job
    workspace: Mapping[str, Any] | None = field(default=None, metadata=PAGES_ONLY)  # as Workspace's
    tests: str = field(default="", metadata=PAGES_ONLY)  # the artifact with the test cases
    parents: tuple[ParentBuild, ...] = field(default=(), metadata=PAGES_ONLY)  # that fail in the same way
    ends: Ends | None = field(default=None, metadata=PAGES_ONLY)  # its failures if none can be made known


UNREADABLE: Final = "the explanations cannot be read: they are damaged, or a later version wrote them"


@dataclass(frozen=True, slots=True)
class ExplainedBuild:
    """The explained benchmarks of a build, or the problem that keeps what is stored from being read."""

    items: tuple[Explanation, ...] = ()
    problem: str = ""

    @staticmethod
    def of(packed: bytes, stacks_of: int) -> ExplainedBuild:
        """Read what is stored; a problem if a later version wrote it, or a machine that is not honest."""
        try:
            return ExplainedBuild(unpack(packed, stacks_of))
        except BadResults:
            return ExplainedBuild(problem=UNREADABLE)
