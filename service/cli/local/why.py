"""``benchgate why``: say what grew in a benchmark between two commits, on a developer's machine."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

import click

from service.adapters.sources.repository import WORKTREE
from service.cli import EXIT_CANNOT, EXIT_OK, EXIT_USAGE
from service.cli.local.commits import open_commits
from service.cli.local.gate import LocalCall
from service.cli.local.options import (
    AS_JSON,
    BENCHMARK,
    MINUTES,
    NO_SANDBOX,
    ONE_JOB,
    PROJECT_FILE,
    REPO,
    SEED,
)
from service.cli.local.project_text import choose_job
from service.cli.local.results import results_to_json
from service.domain.verdict.inference.verdict import Verdict
from service.steps.runs.gate import Asked, LocalVerdict, gate

if TYPE_CHECKING:
    from pathlib import Path


@click.command()
@click.argument("base", metavar="A")
@click.argument("patch", metavar="B")
@BENCHMARK
@ONE_JOB
@PROJECT_FILE
@REPO
@MINUTES
@SEED
@NO_SANDBOX
@AS_JSON
@click.pass_context
def command(
    ctx: click.Context,
    base: str,
    patch: str,
    benchmark: str,
    job_name: str | None,
    project_file: str | None,
    repo: Path,
    minutes: int | None,
    seed: str | None,
    *,
    no_sandbox: bool,
    as_json: bool,
) -> None:
    """Say what one iteration of a benchmark has more of at B than at A, and in which function.

    Builds both commits, and measures only this benchmark, as `benchgate gate` does; B may be WORKTREE. Then
    launches it under Valgrind, whether it is slower, faster or the same, and says what grew: system calls,
    allocations, locks, cache misses, branch misses, instructions and others. If it is slower, gperftools'
    profiler samples how long it waits, and which functions hold the slow-down.

    Exit code 0: it was measured, and counted or sampled, whatever the verdict; 2: wrong usage, or the name
    chooses no benchmark or several; 3: it could not be measured, or nothing was found and something could
    not be counted or sampled; 130: interrupted, after the verdict reached by then.
    """
    commits = open_commits(repo, base, patch, is_sandboxed=not no_sandbox)
    job, workspace = choose_job(commits, job_name, project_file)
    asked = Asked(benchmark, minutes=minutes, is_name=True)
    call = LocalCall(commits, asked, seed or secrets.token_hex(8), gate, workspace, is_explained=True)
    results = list(call.results((job,)))
    for result in results:
        result.show(as_json=as_json)
    found = next((each.found for each in results if isinstance(each.found, LocalVerdict)), None)
    if found and not found.is_chosen:
        ctx.exit(EXIT_USAGE)
    if as_json:
        options = {"benchmark": benchmark, "job": job.name, "project_file": project_file, "minutes": minutes}
        request = commits.to_mapping() | options
        click.echo(results_to_json(results, seed=call.seed, asked=request, interrupted=call.is_interrupted))
    else:
        if found and patch != WORKTREE and any(row.verdict is Verdict.FASTER for row in found.comparisons):
            click.echo(f"`benchgate why {patch} {base}` with the same options says what fell", err=True)
        click.echo(f"seed {call.seed}", err=True)
    if call.is_interrupted:
        raise click.Abort
    ctx.exit(EXIT_OK if found and is_answer(found) else EXIT_CANNOT)


def is_answer(found: LocalVerdict) -> bool:
    """Return whether the benchmark was compared, and explained or wholly examined if its programs differ."""
    is_compared = any(row.ratio is not None or row.verdict is Verdict.SAME for row in found.comparisons)
    return is_compared and not any(
        each["obstacle"] and not (each["sampled"] or each["causes"]) for each in found.why
    )
