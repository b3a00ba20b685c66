"""Builds of other CIs and the reports about them, in a unit of work."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from service.domain.runs.external import ExternalBuild
    from service.domain.runs.vote import Outcome
    from service.ports.records import BuildRecord, NewReport, SentReport


class Reports(Protocol):
    """Reports that other CIs send with API tokens under a key that their sender chose."""

    def claim_report(self, report: NewReport) -> SentReport | None:
        """Store a report; return the one that its token sent before under its key, if any.

        Another transaction with the same token and key waits until this one ends.
        """

    def answer_report(self, report: NewReport, *, is_news: bool) -> None:
        """Store the answer to a report."""


class ExternalBuilds(Protocol):
    """Builds of other CIs, as they reported them."""

    def builds_numbered(
        self, instance: str, project: str, job: str, external_number: int
    ) -> Sequence[BuildRecord]:
        """Return the builds of a project's job that another CI gave a number, oldest first."""

    def runs_with(self, build_id: int) -> Sequence[int]:
        """Return the ids of the runs that have a build, oldest first."""

    def record_report(self, build_id: int, reported: ExternalBuild, state: str) -> None:
        """Store how another CI names a build, and the build's state or result there.

        The address of a log that is empty leaves the stored one as it is.
        """

    def keep_result(self, build_id: int, outcome: Outcome, causes: Sequence[str]) -> None:
        """Replace the end of a build by a result that arrived later; no run is decided again."""

    def store_execution(self, build_id: int, execution: Mapping[str, Any]) -> None:
        """Replace what is stored of a build's execution."""
