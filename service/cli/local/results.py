"""Print the results of a local gate's jobs, as text for people or as JSON for programs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import click

from service.cli.local.listing import listing_to_mapping, print_listing
from service.cli.local.tables import print_comparisons, print_reasons, to_json
from service.domain.building.compile_errors import excerpt
from service.domain.runs.vote import Outcome
from service.steps.runs.gate import LocalVerdict

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from service.steps.runs.list_benchmarks import ListedJob

_ERRORS: Final = 5


@dataclass(frozen=True, slots=True)
class JobResult:
    """A job's verdict or listing, its log, and the file of the log (None: nothing was run)."""

    found: LocalVerdict | ListedJob
    log: bytes = b""
    file: Path | None = None

    @property
    def is_chosen(self) -> bool:
        """Return whether the filter chooses a benchmark of the job."""
        return not isinstance(self.found, LocalVerdict) or self.found.is_chosen

    def show(self, *, as_json: bool) -> None:
        """Print the result unless it becomes JSON; print to stderr if the filter chooses nothing of it."""
        if isinstance(self.found, LocalVerdict) and not self.found.is_chosen:
            click.echo(f"{self.found.job}: {'; '.join(self.found.end.causes)}", err=True)
        elif not as_json:
            if isinstance(self.found, LocalVerdict):
                self._print_verdict(self.found)
            else:
                print_listing(self.found)
            times = ", ".join(f"{name} {seconds:.0f} s" for name, seconds in self.found.seconds.items())
            if times:
                click.echo(f"took: {times}", err=True)

    def to_mapping(self) -> dict[str, Any]:
        """Convert it to plain values for JSON, without comparisons."""
        log = str(self.file) if self.file else None
        if not isinstance(self.found, LocalVerdict):
            return {**listing_to_mapping(self.found), "log": log}
        return {
            "job": self.found.job,
            "outcome": self.found.end.outcome if self.is_chosen else None,
            "causes": list(self.found.end.causes),
            "why": list(self.found.why),
            "seconds": dict(self.found.seconds),
            "log": log,
        }

    def _print_verdict(self, verdict: LocalVerdict) -> None:
        """Print a verdict to stdout, and to stderr what a person needs if nothing was measured."""
        if verdict.end.outcome is Outcome.FAILED:
            _print_errors(verdict, self.log)
        click.echo(f"{verdict.job}: {verdict.end.outcome}")
        if verdict.comparisons:
            print_comparisons(verdict.comparisons)
            print_reasons(verdict.comparisons)
        for cause in verdict.end.causes:
            click.echo(f"  {cause}")
        if not verdict.comparisons and self.log:
            click.echo(f"the whole log: {self.file}", err=True)


def _print_errors(verdict: LocalVerdict, log: bytes) -> None:
    """Print the first errors of the compiler, which may be far above the end; without any, an excerpt."""
    for error in verdict.errors[:_ERRORS]:
        click.echo(f"{error.path}:{error.line}: {error.text}", err=True)
    if (more := len(verdict.errors) - _ERRORS) > 0:
        click.echo(f"{more} more in the log", err=True)
    if not verdict.errors:
        click.echo(excerpt(log), err=True)


def results_to_json(results: Sequence[JobResult], **more: object) -> str:
    """Make the stable JSON of all jobs: that of :func:`to_json`, with ``jobs``."""
    rows = [
        row
        for result in results
        if isinstance(result.found, LocalVerdict)
        for row in result.found.comparisons
    ]
    return to_json(rows, jobs=[result.to_mapping() for result in results], **more)
