"""``benchgate backfill``: measure older commits of a branch while machines are idle."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import click

from service.cli.operating.user_here import user_here
from service.cli.services.find_site import home_option, settings_of_running_site
from service.domain.trunk.backfill import MOST_COMMITS
from service.domain.values.errors import BadInput
from service.domain.values.text import plain
from service.steps.trunk.fill_history import ask_for_backfill, end_backfill
from service.wiring.control import build_control
from service.wiring.logs import log_as_json

if TYPE_CHECKING:
    from pathlib import Path

    from service.ports.backfill import StoredBackfill


@click.command()
@home_option
@click.option("--branch", default="", help="The branch to measure; without it, the backfills are listed.")
@click.option("--last", "commits", type=click.IntRange(1, MOST_COMMITS), help="So many commits of it.")
@click.option(
    "--project",
    default="",
    help="The project of the branch, if several have it; with several Gerrits INSTANCE~PROJECT.",
)
@click.option(
    "--cancel", type=click.IntRange(1), metavar="ID", help="End a backfill; what it measured stays."
)
def command(home: Path, branch: str, commits: int | None, project: str, cancel: int | None) -> None:
    """Measure older commits of a branch, each in pairs against its parent, the newest first.

    Every other build goes first, and a restart loses nothing. Commits that were measured after their merge
    are left out. The trends show the results at the dates of the commits; slow-downs are listed as
    regressions, and no notice leaves. A commit that does not build twice stays a gap.
    """
    if cancel is not None and (branch or commits):
        raise BadInput("write --cancel without other options", "--cancel")
    if bool(branch) != (commits is not None):
        raise BadInput("give both: --branch NAME --last N", "--last" if branch else "--branch")
    log_as_json()  # to stderr: stdout has the list only
    person = user_here()
    with closing(build_control(settings_of_running_site(home))) as plane:
        if cancel is not None:
            is_ended = end_backfill(plane.store, cancel, person)
            click.echo(f"ended backfill {cancel}" if is_ended else f"backfill {cancel} had ended", err=True)
        elif commits is not None:
            number = ask_for_backfill(plane.store, plane.servers, branch, project, commits, person)
            click.echo(f"stored backfill {number}: `benchgate backfill` shows how far it is", err=True)
        else:
            with plane.store.transaction() as tx:
                found = tx.backfills.list()
            for each in found:
                click.echo(_line(each))
            if not found:
                click.echo("there are no backfills; `benchgate backfill --help` describes them", err=True)


def _line(stored: StoredBackfill) -> str:
    asked = stored.backfill
    where = f"{asked.instance} {plain(asked.project, 100)} {plain(asked.branch, 100)}"
    progress = f"last {asked.commits}; {_progress(stored)}"
    return f"{stored.id}  {where}: {progress}; by {plain(stored.requested_by, 100)}"


def _progress(stored: StoredBackfill) -> str:
    if stored.links is None or stored.left is None:
        return "ended" if stored.ended_at else "waits until a pool is idle"
    done = f"{stored.links - stored.left} of {stored.links} comparisons"
    lost = f" ({stored.failed} could not be measured)" if stored.failed else ""
    return f"{done}{lost}" + (f", ended {stored.ended_at:%Y-%m-%d %H:%M} UTC" if stored.ended_at else "")
