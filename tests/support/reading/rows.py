"""Rows of the read ports in memory."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar

from service.domain.runs.activity import Activity
from service.domain.values.errors import NotFound
from service.domain.values.identity import ChangeAddress, ChangeKey
from service.ports.runs.shown import BuildDetail, BuildOfRun, RunWithBuilds
from tests.support.reading.views import ENVIRONMENT

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from service.domain.building.logs.stored_log import StoredLog
    from service.domain.claims.answers import AnsweredClaim
    from service.domain.runs.health import Condition, FailingStep
    from service.domain.runs.retention import StoredSize
    from service.ports.machines import Machine
    from service.ports.reading import Viewer
    from service.ports.review.shown import Change, PatchSetDetail
    from service.ports.runs.shown import Run
    from service.ports.verdict import Comparison, SeriesVotingStatus, SeriesWithPoints

T = TypeVar("T")


@dataclass
class Rows:
    """Rows that the fakes of the read ports answer from.

    Each fact is in one row: votes, states, counts, causes and builds of changes and patch sets follow from
    ``runs``, and so do the pages of builds, except for what is ``about`` one by its id.
    """

    patch_set_rows: list[PatchSetDetail] = field(default_factory=list)
    runs: list[RunWithBuilds] = field(default_factory=list)
    about: dict[int, Mapping[str, Any]] = field(default_factory=dict)
    rows: dict[int, list[Comparison]] = field(default_factory=dict)
    spent: dict[tuple[int, str], float] = field(default_factory=dict)  # seconds by build and suite
    more_pairs: dict[int, float] = field(default_factory=dict)  # that decide a series which is undecided
    explained: dict[int, bytes] = field(default_factory=dict)  # by build, packed
    claimed: dict[int, Sequence[AnsweredClaim]] = field(default_factory=dict)  # by run
    trends: list[SeriesWithPoints] = field(default_factory=list)
    environments: dict[int, Mapping[str, Any]] = field(default_factory=dict)  # those that differ, by id
    continued: dict[int, int] = field(default_factory=dict)  # by the newer series, the older
    machine_rows: list[Machine] = field(default_factory=list)
    voting_status_rows: list[SeriesVotingStatus] = field(default_factory=list)
    failing: list[FailingStep] = field(default_factory=list)
    logs: dict[int, StoredLog] = field(default_factory=dict)
    log_bytes: int = len(b"compiled\n")  # of the artifact "log", the log of all other finished builds
    state: Condition | None = None
    sizes: list[StoredSize] = field(default_factory=list)
    recent: Activity = field(default_factory=Activity)
    is_away: bool = False
    hidden: set[ChangeKey] = field(default_factory=set)  # changes that are not public
    closed: set[tuple[str, str, str]] = field(default_factory=set)  # instance, project and branch
    viewer: Viewer | None = None
    merged_runs: list[RunWithBuilds] | None = None  # of the branch, for its readers; None: as ``runs``

    @property
    def change_rows(self) -> Sequence[Change]:
        """Each change as its patch set that was stored last has it."""
        return list({each.change.id: each.change for each in self.patch_set_rows}.values())

    @property
    def builds(self) -> Sequence[BuildDetail]:
        """Each build as its newest run has it."""
        placed = [(each.run, build) for each in self.runs for build in each.builds]
        builds = {build.id: build for _, build in placed}

        def page(build: BuildOfRun) -> BuildDetail:
            runs = tuple(run for run, each in placed if each.id == build.id)
            plain = BuildDetail(
                build=build, runs=runs, environment_id=1, fingerprint="a1b2c3", environment=ENVIRONMENT
            )
            return replace(plain, **self.about.get(build.id, {}))

        return [page(build) for build in builds.values()]

    def only(self, matching: Iterator[T], message: str, instance: str | None = None) -> T:
        for value in matching:
            return value
        if self.viewer is not None:
            self.viewer.require_answers(instance)
        raise NotFound(message)

    def shown_address(self, number: int, instance: str | None) -> str:
        has_several = len({row.instance for row in self.change_rows}) > 1
        return str(ChangeAddress(number, instance if has_several else None))

    def addressed(self, run: Run) -> Run:
        """Return a stored run with the address that pages show; the stored one always has an instance."""
        if run.change_address is None:
            return run
        stored = ChangeAddress.parse(run.change_address)
        return replace(run, change_address=self.shown_address(stored.number, stored.instance))
