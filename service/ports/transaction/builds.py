"""Builds in a unit of work, and what was measured in them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from service.domain.building.findings import Finding
    from service.domain.calibration.evidence import History, Session
    from service.domain.decision.vote import Outcome
    from service.domain.identity import RunKind, SeriesKey
    from service.ports.records import (
        BuildRecord,
        NewBuild,
        RunRecord,
        StoredComparison,
        StoredPair,
        StoredResult,
    )


class Builds(Protocol):
    """Numbered executions of jobs."""

    def add_build(self, run_id: int, position: int, build: NewBuild) -> int:
        """Queue a numbered build as part of a run, or store it as finished; return its id."""

    def adopt_build(
        self, run: RunRecord, position: int, sequence: str, deadline_seconds: float
    ) -> BuildRecord | None:
        """Make the newest build of a sequence that has or will have a result a part of a run too.

        It is of the run's branch, and has at least so much time left from now on. None if there is none.
        """

    def builds_of(self, run_id: int) -> Sequence[BuildRecord]:
        """Return the builds of a run in their order."""

    def lock_build(self, build_id: int) -> BuildRecord:
        """Return a build, locked until the transaction ends. NotFound without such a build."""

    def name_build(self, build_id: int, external_number: int, url: str) -> None:
        """Store the number and address that another CI gave a build."""

    def finish_build(
        self, build_id: int, outcome: Outcome, causes: Sequence[str], blamed: Sequence[str] = ()
    ) -> Sequence[int]:
        """End a build; return the unfinished runs it belongs to. A finished build keeps its outcome.

        ``blamed`` are the benchmarks that made it slower. A machine that holds a lease on it loses it.
        """


class Pairs(Protocol):
    """The pairs of a sequence that machines stored."""

    def stored_pairs(self, sequence_id: int) -> Sequence[StoredPair]:
        """Return the pairs of a sequence, in order of variant and number."""

    def listing(self, sequence_id: int) -> Sequence[Mapping[str, Any]]:
        """Return the listing of a sequence; empty if none is fixed."""

    def disturbed_pairs(self, sequence_id: int) -> Mapping[int, bool]:
        """Return for each pair of the programs as built whether other work disturbed it."""


class Results(Protocol):
    """Samples, comparisons and findings of builds."""

    def store_results(
        self,
        build: BuildRecord,
        kind: RunKind,
        series: Mapping[SeriesKey, tuple[str, str]],
        results: Sequence[StoredResult],
        comparisons: Sequence[StoredComparison],
    ) -> None:
        """Replace the results of a build. ``series`` gives unit and better direction by key.

        Raises:
            KeyError: a result or comparison of a series that is not in ``series``.
        """

    def unresolved_benchmarks(self, build_id: int) -> Sequence[str]:
        """Return the benchmarks of a build with an undecided comparison that more pairs may decide.

        A comparison that the link layout leaves undecided is slower as linked, and instructions do not come
        in pairs: more pairs change neither.
        """

    def store_findings(self, build_id: int, findings: Sequence[Finding]) -> None:
        """Replace what a build reported by file and line."""


class Evidence(Protocol):
    """Sessions in which programs were compared with themselves, per series and machine."""

    def store_evidence(self, build: BuildRecord, sessions: Mapping[SeriesKey, Session]) -> None:
        """Store the A/A sessions of a build, each of a series whose results are stored already.

        The builds of one sequence share one session per series, of the machine that measured it first.
        """

    def evidence(self, machine: str, series: Sequence[SeriesKey]) -> Mapping[SeriesKey, History]:
        """Return the sessions of series on a machine; a series without one is left out."""
