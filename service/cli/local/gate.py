"""``benchgate gate``: the service's engine on a developer's machine, without a server."""

from __future__ import annotations

import hashlib
import os
import secrets
from pathlib import Path
from typing import TYPE_CHECKING

import click

from service.adapters.local.build import LocalBuild
from service.adapters.local.repository import resolve_revision
from service.adapters.local.turn import own_turn
from service.cli import EXIT_CANNOT, EXIT_OK, EXIT_SLOWER, EXIT_USAGE
from service.cli.local.progress import TerminalProgress
from service.cli.local.project_text import read_project_text
from service.cli.local.verdicts import print_verdict, verdicts_to_json
from service.domain.decision.vote import CONSEQUENCES, LocalEnd, Outcome
from service.domain.project.project_file import FILE_NAME
from service.steps.local.gate import LocalVerdict, choose_jobs, find_project_file, gate, local_spec, rename_as
from service.wiring.machine import make_build_host

if TYPE_CHECKING:
    from service.ports.building import Source


@click.command()
@click.option(
    "--repo", default=".", show_default=True, type=click.Path(exists=True, file_okay=False, path_type=Path)
)
@click.option("--base", default="HEAD^", show_default=True, help="The commit to compare with.")
@click.option("--patch", default="HEAD", show_default=True, help="The commit to judge.")
@click.option("--job", "job_name", help="One job of benchgate.yaml; by default all of them.")
@click.option(
    "--project-file",
    type=click.Path(exists=True, dir_okay=False, allow_dash=True),
    help="Use this file instead of the base's benchgate.yaml; `-` reads stdin.",
)
@click.option("--seed", help="Repeat the random choices of an earlier call, which printed this seed.")
@click.option(
    "--no-sandbox",
    is_flag=True,
    help="Run the programs with your own permissions; use it only for code that you trust.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_context
def command(
    ctx: click.Context,
    repo: Path,
    base: str,
    patch: str,
    job_name: str | None,
    project_file: str | None,
    seed: str | None,
    *,
    no_sandbox: bool,
    as_json: bool,
) -> None:
    """Judge a commit before you push it.

    Runs the jobs of the base's benchgate.yaml, or of the patch's if the base has none: builds the patch,
    tests and checks it, measures the benchmarks of base and patch in interleaved pairs, and prints the
    verdicts. Uncommitted files are ignored. No server is needed. Measured programs are cached, so a second
    call only measures. Jobs of another CI are left out; those of a kind that this version does not run are
    named.

    Exit code 0: nothing would vote -1; 1: something would; 2: wrong usage, or no job that this version
    runs; 3: no verdict, because nothing could be measured or the vote would be withheld.
    """
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "benchgate"
    base_commit, patch_commit = (resolve_revision(repo, revision) for revision in (base, patch))
    seed = seed or secrets.token_hex(8)
    # The user named this path, so the mirror fetches from it and from nowhere else.
    host = make_build_host(home, lambda _: str(repo.resolve()), (), is_sandboxed=not no_sandbox)
    # The mirror's name; a path is no valid project name.
    project = "local-" + hashlib.sha256(str(repo.resolve()).encode()).hexdigest()[:16]
    host.source.fetch(project, base_commit, patch_commit)
    text, where = _project_file(host.source, project, {base: base_commit, patch: patch_commit}, project_file)
    jobs, misconfigured = choose_jobs(text, job_name, where)
    if project_file is None:
        jobs = rename_as(host.source, project, patch_commit, jobs)
    for job in misconfigured:
        click.echo(f"{job.name}: {Outcome.MISCONFIGURED}: {job.problem}", err=True)
    if not jobs:
        click.echo("correct the file; `--project-file FILE` tries it before you commit it", err=True)
        ctx.exit(EXIT_USAGE)
    comparing = sum(job.compares for job in jobs)
    verdicts: list[LocalVerdict] = []
    logs: list[Path] = []
    for job in jobs:
        spec = local_spec(host.source, project, base_commit, patch_commit, job, comparing)
        build = LocalBuild(spec, seed, home / "binaries")
        with own_turn(home, _say_wait), TerminalProgress() as progress:
            verdict = gate(spec, build, host, progress)
        verdicts.append(verdict)
        logs.append(_keep_log(home / "logs" / project, job.name, build.log))
        if not as_json:
            print_verdict(verdict, build.log, logs[-1])
    if as_json:
        click.echo(verdicts_to_json(verdicts, logs, seed))
    else:
        click.echo(f"seed {seed}", err=True)
    ctx.exit(exit_code([verdict.end.outcome for verdict in verdicts]))


def _say_wait() -> None:
    click.echo(
        "waiting for another `benchgate gate` on this machine: side by side, they would disturb each other",
        err=True,
    )


def _project_file(
    source: Source, project: str, revisions: dict[str, str], named: str | None
) -> tuple[str, str]:
    """Return the text of the project file, and its name in errors; print a note if it is not the base's."""
    if named is not None:
        return read_project_text(named)
    text, revision = find_project_file(source, project, revisions)
    base = next(iter(revisions))
    if revision != base:
        click.echo(
            f"note: {base} has no {FILE_NAME}; using that of {revision}. The service reads the file of "
            "the target branch only, so it votes after this one is merged",
            err=True,
        )
    return text, f"{FILE_NAME} of {revision}"


def _keep_log(directory: Path, job: str, log: bytes) -> Path:
    """Store the whole log of a job's last call, and return its path."""
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / f"{job}.log"
    path.write_bytes(log)
    return path


def exit_code(outcomes: list[Outcome]) -> int:
    """Return 1 if something would vote −1, else 3 if something has no verdict, else 0."""
    ends = {CONSEQUENCES[outcome].local for outcome in outcomes}
    if LocalEnd.FAILS in ends:
        return EXIT_SLOWER
    return EXIT_CANNOT if LocalEnd.NO_VERDICT in ends else EXIT_OK
