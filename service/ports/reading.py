"""What pages and the HTTP API read: each method is one consistent look at the store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from service.domain.health import Condition
    from service.domain.search import Words
    from service.ports.views import (
        BuildDetail,
        ChangeDetail,
        ChangeSummary,
        ComparisonView,
        Cursor,
        MachineView,
        MeasuredPatchSets,
        PatchSetDetail,
        RunDetail,
        SamplesView,
        SeriesSummary,
        Trend,
        VotingStatusView,
    )


class Reading(Protocol):
    """Read-only and safe to call from several threads. Raises NotFound, Transient."""

    def changes(self, limit: int, after: Cursor | None = None) -> Sequence[ChangeSummary]:
        """Changes, the most recently updated first."""

    def change(self, number: int) -> ChangeDetail:
        """A change; where several servers have that number, the one updated last."""

    def patch_set(self, change: int, number: int | None = None) -> PatchSetDetail:
        """A patch set of a change; None: its newest."""

    def measured_patch_sets(self, change: int, limit: int, before: int | None = None) -> MeasuredPatchSets:
        """A change's newest patch sets that have comparisons; ``before`` is the last of the page before."""

    def run(self, run_id: int) -> RunDetail:
        """A run with its builds."""

    def build(self, job: str, number: int) -> BuildDetail:
        """A build with its environment."""

    def comparisons(self, build_id: int, measured_at: datetime) -> Sequence[ComparisonView]:
        """The comparisons of a build in their order; ``measured_at`` is the build's creation."""

    def samples(self, build_id: int, measured_at: datetime, series_id: int) -> SamplesView:
        """Both sides' samples of one comparison."""

    def series(self, words: Words, limit: int, after: int = 0) -> Sequence[SeriesSummary]:
        """Series that match all words, by id; ``after`` is the last id of the page before."""

    def trend(self, series_id: int, limit: int) -> Trend:
        """A series with at most ``limit`` newest points of merged commits, and of patch sets as many."""

    def machines(self) -> Sequence[MachineView]:
        """All machines by pool and name."""

    def voting_statuses(self, limit: int, after: int = 0) -> Sequence[VotingStatusView]:
        """What is known of series on machines, by machine and name; ``after`` leaves out so many."""

    def condition(self) -> Condition:
        """What tells whether the service is well."""
