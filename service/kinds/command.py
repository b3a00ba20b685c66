"""Run a command build: repeat the command until it passes or no try is left."""

from __future__ import annotations

from typing import TYPE_CHECKING

from service.domain.failures.failure import (
    FailureKind,
    beside_limit,
    distinct,
    failure_at_limit,
    failure_of,
)
from service.domain.failures.output.patterns import failures_in
from service.domain.runs.machine_report import MachineReport
from service.domain.runs.vote import Outcome
from service.domain.values.text import plain
from service.domain.wording.failures import failure_causes, passed_on_retry
from service.steps.measuring.run_tests import launch, run_in_built_sources

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from service.domain.failures.failure import Failure
    from service.domain.project.tests import CommandConfiguration
    from service.steps.building.session import BuildSession
    from service.steps.measuring.run_tests import Launched


def run(session: BuildSession[CommandConfiguration]) -> MachineReport:
    """Build the patch's side, run the command in it, and report."""
    return run_in_built_sources(session, lambda tree: _report(session, tree))


def _report(session: BuildSession[CommandConfiguration], tree: Path) -> MachineReport:
    job, own = session.spec.job, session.own
    tries = [launch(session, tree, own.command)]
    while len(tries) <= own.retries and not tries[-1].end.is_success and not tries[-1].end.stopped_by:
        tries.append(launch(session, tree, own.command))
    sources = str(tree.resolve())
    if tries[-1].end.is_success:
        retried = (job.name,) if len(tries) > 1 else ()
        notes = (passed_on_retry(retried),) if retried else ()
        cleared, _ = distinct(
            each for one in tries[:-1] for each in failures_of_command(job.name, [one], sources)
        )
        return MachineReport(Outcome.PASSED, notes, retried=retried, cleared=cleared)
    failures, is_cut = distinct(failures_of_command(job.name, tries, sources))
    is_cut |= any(each.is_cut for each in tries)
    causes = failure_causes(failures, is_cut=is_cut)
    return MachineReport(Outcome.FAILED, causes, failures=failures, is_cut=is_cut)


def failures_of_command(name: str, tries: Sequence[Launched], sources: str) -> Iterator[Failure]:
    """Yield what the output of all tries names, or else how the command ended."""
    end = tries[-1].end
    named = list(failures_in((line for each in tries for line in each.output.splitlines()), sources))
    if end.stopped_by:
        yield failure_at_limit(end.stopped_by, "", f"{name} was {end.end}")
        yield from beside_limit(named)
        return
    yield from named
    if not named:
        last = next((line for line in reversed(tries[-1].output.splitlines()) if line.strip()), b"")
        said = plain(last.decode(errors="replace"))
        line = f"{name} ended with {end.end}: {said}" if said else f"{name} ended with {end.end}"
        yield failure_of(FailureKind.COMMAND, name, end.end, line)
