"""The verdicts of a local gate, as text for people or as JSON for programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click

from service.cli.local.tables import print_comparisons, print_reasons, to_json
from service.domain.building.compile_errors import excerpt
from service.domain.decision.vote import Outcome

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from service.steps.local.gate import LocalVerdict

_ERRORS: Final = 5


def print_verdict(verdict: LocalVerdict, log: bytes, path: Path) -> None:
    """Print a verdict to stdout, and to stderr the times and what a person needs if nothing was measured."""
    if verdict.end.outcome is Outcome.FAILED:
        _print_errors(verdict, log)
    click.echo(f"{verdict.job}: {verdict.end.outcome}")
    if verdict.comparisons:
        print_comparisons(verdict.comparisons)
        print_reasons(verdict.comparisons)
    for cause in verdict.end.causes:
        click.echo(f"  {cause}")
    if not verdict.comparisons and log:
        click.echo(f"the whole log: {path}", err=True)
    if times := ", ".join(f"{name} {seconds:.0f} s" for name, seconds in verdict.seconds.items()):
        click.echo(f"took: {times}", err=True)


def _print_errors(verdict: LocalVerdict, log: bytes) -> None:
    """Print the first errors of the compiler, which may be far above the end; without any, an excerpt."""
    for error in verdict.errors[:_ERRORS]:
        click.echo(f"{error.path}:{error.line}: {error.text}", err=True)
    if (more := len(verdict.errors) - _ERRORS) > 0:
        click.echo(f"{more} more in the log", err=True)
    if not verdict.errors:
        click.echo(excerpt(log), err=True)


def verdicts_to_json(verdicts: Sequence[LocalVerdict], logs: Sequence[Path], seed: str) -> str:
    """Make the stable JSON of all jobs: as of one comparison, with ``jobs`` and ``seed``."""
    jobs = [
        {
            "job": verdict.job,
            "outcome": verdict.end.outcome,
            "causes": list(verdict.end.causes),
            "seconds": dict(verdict.seconds),
            "log": str(log),
        }
        for verdict, log in zip(verdicts, logs, strict=True)
    ]
    rows = [row for verdict in verdicts for row in verdict.comparisons]
    return to_json(rows, jobs=jobs, seed=seed)
