"""``benchgate gate``: run the service's engine on a developer's machine, without a server."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import click

from service.adapters.machines.local_build import LocalBuild
from service.adapters.sources.repository import WORKTREE
from service.adapters.system.locking import own_turn
from service.cli import EXIT_CANNOT, EXIT_OK, EXIT_SLOWER, EXIT_USAGE
from service.cli.local.commits import open_commits
from service.cli.local.options import (
    AS_JSON,
    MOST_MINUTES,
    NO_SANDBOX,
    PROJECT_FILE,
    REPO,
    SEED,
    say_wait,
)
from service.cli.local.progress import TerminalProgress
from service.cli.local.project_text import choose_project_file
from service.cli.local.results import JobResult, results_to_json
from service.domain.project.policy import MOST_PAIRS
from service.domain.runs.vote import CONSEQUENCES, LocalEnd, Outcome
from service.domain.values.text import listed
from service.domain.verdict.inference.estimate import MIN_PAIRS
from service.steps.runs.gate import (
    Asked,
    LocalVerdict,
    as_asked,
    choose_jobs,
    comparing_jobs,
    concerned_jobs,
    gate,
    local_spec,
    local_workspace,
    rename_as,
    verdict_so_far,
)
from service.steps.runs.list_benchmarks import list_benchmarks, listing_spec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from service.cli.local.commits import Commits
    from service.domain.building.spec import BuildSpec
    from service.domain.project.job import Job
    from service.domain.sources.workspace import Workspace
    from service.ports.building import Progress
    from service.steps.building.session import BuildHost
    from service.steps.runs.list_benchmarks import ListedJob

_READ_LATER: Final = (
    ". The service reads the file of the target branch only, so it votes after this one is merged"
)


@click.command()
@REPO
@click.option("--base", help=f"The commit to compare with.  [default: HEAD^; HEAD with --patch {WORKTREE}]")
@click.option(
    "--patch",
    default="HEAD",
    show_default=True,
    help=f"The commit to judge; {WORKTREE} is the state of the working tree, with untracked files that are "
    "not ignored.",
)
@click.option("--job", "job_name", help="One job of benchgate.yaml, whatever its `paths`; by default all.")
@PROJECT_FILE
@click.option(
    "--filter",
    "pattern",
    metavar="FILTER",
    help="Measure only the benchmarks whose name contains this, or is this with `*` for any characters.",
)
@click.option(
    "--pairs",
    type=click.IntRange(MIN_PAIRS, MOST_PAIRS),
    help="Measure an undecided benchmark until it has so many pairs, rounded up to the next number of pairs "
    "at which Benchgate looks at the results.",
)
@click.option(
    "--minutes",
    type=click.IntRange(1, MOST_MINUTES),
    help="Use this machine time, including relinks and their builds, instead of the policy's.",
)
@click.option(
    "--list",
    "as_list",
    is_flag=True,
    help="Do not judge: build, list the benchmarks, measure one pair, and print how long a launch takes and "
    "how many pairs fit into the machine time.",
)
@click.option(
    "--why",
    is_flag=True,
    help="Say what grew in each slower benchmark: system calls, allocations, locks, cache misses, branch "
    "misses or instructions, and in which function. Needs Valgrind, and a minute at most.",
)
@SEED
@NO_SANDBOX
@AS_JSON
@click.pass_context
def command(
    ctx: click.Context,
    repo: Path,
    base: str | None,
    patch: str,
    job_name: str | None,
    project_file: str | None,
    pattern: str | None,
    pairs: int | None,
    minutes: int | None,
    seed: str | None,
    *,
    as_list: bool,
    why: bool,
    no_sandbox: bool,
    as_json: bool,
) -> None:
    """Judge a commit, or the working tree, before you push it.

    Runs the jobs of the base's benchgate.yaml, or of the patch's if the base has none: builds the patch,
    tests and checks it, measures the benchmarks of base and patch in interleaved pairs, and prints the
    verdicts. Without `--patch WORKTREE`, uncommitted files are ignored. No server is needed. Measured
    programs are cached, so a second call only measures. Jobs of another CI are left out, and so are those
    without a changed file that their `paths` match; those of a kind that this version does not run are named.
    BENCHGATE_CPUS chooses the CPUs of measured programs, as on a machine of the service.

    Exit code 0: nothing would vote -1; 1: something would; 2: wrong usage, or no job that this version
    runs; 3: no verdict, because nothing could be measured or the vote would be withheld; 130: interrupted,
    after the verdicts reached by then.
    """
    _check_options(pattern, pairs, as_list=as_list, why=why)
    asked = Asked(pattern or "", pairs, minutes)
    commits = open_commits(repo, base, patch, is_sandboxed=not no_sandbox)
    jobs, not_built, workspace = _choose_jobs(commits, job_name, project_file, asked, as_list=as_list)
    if not jobs and not not_built:
        click.echo("correct the file; `--project-file FILE` tries it before you commit it", err=True)
        ctx.exit(EXIT_USAGE)
    seed = seed or secrets.token_hex(8)
    call = LocalCall(commits, asked, seed, list_benchmarks if as_list else gate, workspace, why)
    results = [JobResult(verdict) for verdict in not_built]
    for each in results:
        each.show(as_json=as_json)
    for result in call.results(jobs):
        result.show(as_json=as_json)
        results.append(result)
    if jobs and not call.is_interrupted and not any(each.is_chosen for each in results[len(not_built) :]):
        ctx.exit(EXIT_USAGE)
    if as_json:
        options = {"job": job_name, "project_file": project_file, "filter": pattern}
        request = commits.to_mapping() | options | {"pairs": pairs, "minutes": minutes, "why": why}
        more = {"seed": call.seed, "asked": request, "interrupted": call.is_interrupted}
        click.echo(results_to_json(results, **more))
    elif jobs and not as_list:
        click.echo(f"seed {call.seed}", err=True)
    if call.is_interrupted:
        raise click.Abort
    verdicts = [each.found for each in results if isinstance(each.found, LocalVerdict)]
    ctx.exit(exit_code([verdict.end.outcome for verdict in verdicts if verdict.is_chosen]))


def _check_options(pattern: str | None, pairs: int | None, *, as_list: bool, why: bool) -> None:
    if pattern == "":
        raise click.UsageError("--filter is empty, and would choose nothing: leave it out to measure all")
    if as_list and pairs:
        raise click.UsageError("--list measures one pair: leave out --pairs")
    if as_list and why:
        raise click.UsageError("--list judges nothing: leave out --why")


@dataclass(slots=True)
class LocalCall:
    """One call: the commits that it compares, what it does with their builds, and the other repositories.

    ``is_explained``: slower benchmarks are explained. ``is_interrupted``: a person ended it early.
    """

    commits: Commits
    asked: Asked
    seed: str
    execute: Callable[[BuildSpec, LocalBuild, BuildHost, Progress], LocalVerdict | ListedJob]
    workspace: Workspace | None
    is_explained: bool
    is_interrupted: bool = False

    def results(self, jobs: Sequence[Job]) -> Iterator[JobResult]:
        """Run the jobs one after the other, until one is interrupted; it may have a verdict by then."""
        comparing = sum(job.compares for job in jobs)
        for job in jobs:
            try:
                result = self._run(job, comparing)
            except KeyboardInterrupt:
                self.is_interrupted = True
                return
            yield result
            if self.is_interrupted:
                return

    def _run(self, job: Job, comparing: int) -> JobResult:
        """Run a job; ``comparing`` is the number of jobs that compare both sides."""
        commits = self.commits
        sides = (commits.base_commit, commits.patch_commit)
        spec = as_asked(local_spec(commits.source, commits.project, *sides, job, comparing), self.asked)
        spec = replace(spec, workspace=self.workspace if job.builds else None, is_explained=self.is_explained)
        if self.execute is list_benchmarks:
            spec = listing_spec(spec)
        build = LocalBuild(spec, self.seed, commits.home / "binaries")
        with own_turn(commits.home, say_wait), TerminalProgress() as progress:
            try:
                found = self.execute(spec, build, commits.host, progress)
            except KeyboardInterrupt:
                if self.execute is list_benchmarks or not (so_far := verdict_so_far(spec, build)):
                    raise
                found, self.is_interrupted = so_far, True
        try:
            log = commits.keep_log(job.name, build.log)
        except KeyboardInterrupt:  # the job has its verdict
            self.is_interrupted = True
            log = commits.keep_log(job.name, build.log)
        return JobResult(found, build.log, log)


def _choose_jobs(
    commits: Commits, job_name: str | None, project_file: str | None, asked: Asked, *, as_list: bool
) -> tuple[tuple[Job, ...], tuple[LocalVerdict, ...], Workspace | None]:
    """Return the jobs to run, verdicts of those that no changed file concerns, and the jobs' repositories.

    Print the names of the jobs that are left out.
    """
    text, where = choose_project_file(commits, project_file, _READ_LATER)
    jobs, misconfigured = choose_jobs(text, job_name, where)
    for job in misconfigured:
        click.echo(f"{job.name}: {Outcome.MISCONFIGURED}: {job.problem}", err=True)
    if project_file is None:
        jobs = rename_as(commits.source, commits.project, commits.patch_commit, jobs)
    if as_list or not asked.is_empty:
        jobs, left_out = comparing_jobs(jobs, where)
        if left_out:
            names = listed([job.name for job in left_out])
            click.echo(
                f"left out, because only jobs that measure both sides were asked for: {names}", err=True
            )
    others: tuple[LocalVerdict, ...] = ()
    if not (job_name or as_list):
        sides = (commits.base_commit, commits.patch_commit)
        jobs, others = concerned_jobs(commits.source, commits.project, *sides, jobs)
    return jobs, others, local_workspace(commits.source, commits.project, text, jobs)


def exit_code(outcomes: list[Outcome]) -> int:
    """Return 1 if something would vote −1, else 3 if something has no verdict, else 0."""
    ends = {CONSEQUENCES[outcome].local for outcome in outcomes}
    if LocalEnd.FAILS in ends:
        return EXIT_SLOWER
    return EXIT_CANNOT if LocalEnd.NO_VERDICT in ends else EXIT_OK
