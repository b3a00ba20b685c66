"""``benchgate bisect``: find the commit that made a benchmark slower, on a developer's machine."""

from __future__ import annotations

import json
import secrets
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from service.adapters.machines.local_build import LocalBuild
from service.adapters.sources.repository import first_parent_line
from service.adapters.system.locking import own_turn
from service.cli import EXIT_CANNOT, EXIT_OK
from service.cli.local.commits import open_commits
from service.cli.local.options import AS_JSON, MOST_MINUTES, NO_SANDBOX, SEED, say_wait
from service.cli.local.progress import TerminalProgress
from service.domain.project.project_file import FILE_NAME
from service.domain.values.errors import BadInput
from service.domain.values.text import listed
from service.domain.wording.bisection import NOT_ON_LINE, conclusion, measured_line, named, not_one_job
from service.steps.runs.bisect import bisect
from service.steps.runs.gate import (
    Asked,
    as_asked,
    choose_jobs,
    comparing_jobs,
    find_project_file,
    gate,
    local_spec,
    local_workspace,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from service.cli.local.commits import Commits
    from service.domain.project.job import Job
    from service.domain.sources.workspace import Workspace
    from service.domain.trunk.bisection import Bisection, Measured, Suspect
    from service.steps.runs.gate import LocalVerdict

_SHORT: Final = 10  # characters of a commit ID in the name of a log


@click.command()
@click.argument("good")
@click.argument("bad")
@click.option("--benchmark", required=True, help="Its name, or a part of it that no other benchmark has.")
@click.option("--job", "job_name", help="The job of benchgate.yaml; needed if several measure both sides.")
@click.option(
    "--repo", default=".", show_default=True, type=click.Path(exists=True, file_okay=False, path_type=Path)
)
@click.option(
    "--minutes",
    type=click.IntRange(1, MOST_MINUTES),
    help="Use this machine time for each comparison, instead of the policy's.",
)
@SEED
@NO_SANDBOX
@AS_JSON
@click.pass_context
def command(
    ctx: click.Context,
    good: str,
    bad: str,
    benchmark: str,
    job_name: str | None,
    repo: Path,
    minutes: int | None,
    seed: str | None,
    *,
    no_sandbox: bool,
    as_json: bool,
) -> None:
    """Find the commit after GOOD, up to BAD, that made a benchmark slower.

    Compares GOOD with BAD, then GOOD with about log2(n) of the n commits between them along first parents,
    with the engine and the project file of `benchgate gate`. Skips commits that cannot be built or stay
    undecided. Goes into a merge if the merged side is slower. At the end, compares the commit with its
    parent; only if that shows the slow-down too, the commit is confirmed.

    Exit code 0: one commit, confirmed; 2: wrong usage; 3: BAD is not slower, several commits are left, or
    the commit is not confirmed; 130: interrupted.
    """
    if not benchmark:
        raise click.UsageError("--benchmark is empty: name the benchmark that got slower")
    commits = open_commits(repo, good, bad, is_sandboxed=not no_sandbox)
    line = first_parent_line(repo, commits.base_commit, commits.patch_commit)
    if not line or line[0].parents[:1] != (commits.base_commit,):
        raise BadInput(NOT_ON_LINE, str(repo.resolve()))
    job, workspace = _choose_job(commits, job_name)
    seed = seed or secrets.token_hex(8)
    call = _Call(commits, repo, job, workspace, Asked(benchmark, minutes=minutes), seed, as_json=as_json)
    found = call.bisect(line)
    if as_json:
        request = commits.to_mapping() | {"benchmark": benchmark, "job": job.name, "minutes": minutes}
        click.echo(json.dumps({"schema_version": 1, "seed": seed, "asked": request} | to_mapping(found)))
    else:
        for text in conclusion(found):
            click.echo(text)
        click.echo(f"seed {seed}", err=True)
    ctx.exit(EXIT_OK if found.is_found else EXIT_CANNOT)


@dataclass(slots=True)
class _Call:
    """One call; ``seed`` makes that of each comparison."""

    commits: Commits
    repo: Path
    job: Job
    workspace: Workspace | None
    asked: Asked
    seed: str
    as_json: bool
    compared: int = 0

    def bisect(self, line: Sequence[Suspect]) -> Bisection:
        """Search the line for the commit; print each comparison."""
        known = {each.revision: named(each) for each in line}

        def line_of(since: str, tip: str) -> Sequence[Suspect]:
            side = first_parent_line(self.repo, since, tip)
            known.update({each.revision: named(each) for each in side})
            return side

        def tell(found: Measured) -> None:
            base = "GOOD" if found.base == self.commits.base_commit else known.get(found.base, found.base)
            text = measured_line(found, known.get(found.patch, found.patch), base)
            click.echo(text, err=self.as_json)

        with own_turn(self.commits.home, say_wait):
            return bisect(self.asked.filter, self.commits.base_commit, line, self._compare, line_of, tell)

    def _compare(self, base: str, patch: str) -> LocalVerdict:
        self.compared += 1
        commits = self.commits
        spec = as_asked(local_spec(commits.source, commits.project, base, patch, self.job), self.asked)
        spec = replace(spec, workspace=self.workspace)
        build = LocalBuild(spec, f"{self.seed}-{self.compared}", commits.home / "binaries")
        with TerminalProgress() as progress:
            found = gate(spec, build, commits.host, progress)
        commits.keep_log(f"{self.job.name}-{patch[:_SHORT]}", build.log)
        return found


def _choose_job(commits: Commits, name: str | None) -> tuple[Job, Workspace | None]:
    revisions = {commits.base: commits.base_commit, commits.patch: commits.patch_commit}
    text, revision = find_project_file(commits.source, commits.project, revisions)
    where = f"{FILE_NAME} of {revision}"
    jobs, misconfigured = choose_jobs(text, name, where)
    jobs, _ = comparing_jobs(jobs, where)
    if not jobs:
        raise BadInput("; ".join(f"{job.name}: {job.problem}" for job in misconfigured), where)
    if len(jobs) > 1:
        raise BadInput(not_one_job(listed([job.name for job in jobs])), where)
    return jobs[0], local_workspace(commits.source, commits.project, text, jobs)


def to_mapping(found: Bisection) -> dict[str, Any]:
    """Convert a result to plain values for JSON."""
    return {
        "found": found.is_found,
        "confirmed": found.is_confirmed,
        "may_hide": found.may_hide,
        "suspects": [asdict(each) for each in found.suspects],
        "merges": [asdict(each) for each in found.merges],
        "commits": found.commits,
        "seconds": found.seconds,
        "comparisons": [_measured(each) for each in found.measured],
    }


def _measured(found: Measured) -> dict[str, Any]:
    row = found.comparison
    return {
        "base": found.base,
        "patch": found.patch,
        "answer": str(found.answer),
        "metric": row.row.metric.name if row else None,
        "ratio": row.ratio if row else None,
        "interval": row.interval if row else None,
        "pairs": row.pairs if row else 0,
        "seconds": found.seconds,
        "causes": found.causes,
    }
