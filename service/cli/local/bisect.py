"""``benchgate bisect``: find the commit that made a benchmark slower, on a developer's machine."""

from __future__ import annotations

import json
import secrets
import shlex
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import click

from service.adapters.machines.local_build import LocalBuild
from service.adapters.sources.repository import WORKTREE, first_parent_line
from service.adapters.system.locking import own_turn
from service.cli import EXIT_CANNOT, EXIT_OK
from service.cli.local.commits import open_commits
from service.cli.local.options import (
    AS_JSON,
    BENCHMARK,
    MINUTES,
    NO_SANDBOX,
    ONE_JOB,
    PROJECT_FILE,
    REPO,
    SEED,
    say_wait,
)
from service.cli.local.progress import TerminalProgress
from service.cli.local.project_text import choose_job
from service.domain.values.errors import BadInput
from service.domain.wording.bisection import NOT_ON_LINE, conclusion, measured_line, named
from service.steps.runs.bisect import bisect
from service.steps.runs.gate import Asked, as_asked, gate_until_explained, local_spec

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from service.cli.local.commits import Commits
    from service.domain.project.job import Job
    from service.domain.sources.workspace import Workspace
    from service.domain.trunk.bisection import Bisection, Measured, Suspect
    from service.steps.runs.bisect import Question
    from service.steps.runs.gate import LocalVerdict

_SHORT: Final = 10  # characters of a commit ID in the name of a log, and in a command


@click.command()
@click.argument("good")
@click.argument("bad")
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
    good: str,
    bad: str,
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
    """Find the commit after GOOD, up to BAD, that made a benchmark slower, and say what grew in it.

    Compares GOOD with BAD, then GOOD with about log2(n) of the n commits between them along first parents,
    with the engine and the project file of `benchgate gate`. Skips commits that cannot be built or stay
    undecided. Goes into a merge if the merged side is slower. At the end, compares the commit with its
    parent; only if that shows the slow-down too, the commit is confirmed. Then says what grew, as
    `benchgate gate --why`. BAD may be WORKTREE.

    Exit code 0: one commit, confirmed; 2: wrong usage; 3: BAD is not slower, several commits are left, or
    the commit is not confirmed; 130: interrupted, after the commits that are left and the command that goes
    on.
    """
    commits = open_commits(repo, good, bad, is_sandboxed=not no_sandbox)
    line = first_parent_line(repo, commits.base_commit, commits.patch_commit)
    if not line or line[0].parents[:1] != (commits.base_commit,):
        raise BadInput(NOT_ON_LINE, str(repo.resolve()))
    if bad == WORKTREE:
        line = (*line[:-1], replace(line[-1], is_uncommitted=True))
    job, workspace = choose_job(commits, job_name, project_file)
    seed = seed or secrets.token_hex(8)
    asked = Asked(benchmark, minutes=minutes, is_name=True)
    call = _Call(commits, repo, job, workspace, asked, seed, as_json=as_json)
    found = call.bisect(line)
    if as_json:
        request = {"benchmark": benchmark, "job": job.name, "project_file": project_file, "minutes": minutes}
        asked_for = {"schema_version": 1, "seed": seed, "asked": commits.to_mapping() | request}
        click.echo(json.dumps(asked_for | to_mapping(found)))
    else:
        for text in conclusion(found):
            click.echo(text)
        click.echo(f"seed {seed}", err=True)
    if found.is_interrupted:
        if command_line := going_on(ctx, found):
            click.echo(f"to go on: {command_line}", err=True)
        raise click.Abort
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
    is_ended: bool = False  # by Ctrl-C, after the pairs of a comparison

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

    def _compare(self, question: Question) -> LocalVerdict:
        if self.is_ended:
            raise KeyboardInterrupt
        self.compared += 1
        commits, base, patch = self.commits, question.base, question.patch
        spec = local_spec(commits.source, commits.project, base, patch, self.job)
        spec = as_asked(spec, replace(self.asked, filter=question.benchmark))
        spec = replace(spec, workspace=self.workspace, is_explained=question.is_explained)
        build = LocalBuild(spec, f"{self.seed}-{self.compared}", commits.home / "binaries")
        with TerminalProgress() as progress:
            found, self.is_ended = gate_until_explained(spec, build, commits.host, progress)
        commits.keep_log(f"{self.job.name}-{patch[:_SHORT]}", build.log)
        return found


def going_on(ctx: click.Context, found: Bisection) -> str:
    """Write the command that searches the commits that are left; empty if no commit is before them."""
    if not found.suspects or not found.suspects[0].parents:
        return ""
    last = found.suspects[-1]
    ends = found.suspects[0].parents[0][:_SHORT], WORKTREE if last.is_uncommitted else last.revision[:_SHORT]
    given = {"benchmark": found.benchmark}
    words = ["benchgate", "bisect", *ends]
    for option in ctx.command.params:
        if not isinstance(option, click.Option) or option.name in {"seed", "help"}:
            continue
        value = given.get(option.name, ctx.params[option.name])
        if value and str(value) != str(option.default):
            words += option.opts[-1:] if option.is_flag else [option.opts[-1], str(value)]
    return shlex.join(words)


def to_mapping(found: Bisection) -> dict[str, Any]:
    """Convert a result to plain values for JSON."""
    return {
        "found": found.is_found,
        "confirmed": found.is_confirmed,
        "may_hide": found.may_hide,
        "interrupted": found.is_interrupted,
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
        "why": [each.to_mapping() for each in found.why],
    }
