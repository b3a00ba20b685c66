"""``python -m bench.real``: projects of local mirrors, from `init` to the verdicts of `gate`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from bench.real.campaign import Campaign
from bench.real.projects import BadProjects, load_projects
from bench.real.report import goals_missed, report
from bench.timing import say_load

if TYPE_CHECKING:
    from collections.abc import Sequence

_WORK: Final = Path("var/bench-real")
_MINUTES: Final = 10


@click.command()
@click.argument("mirrors", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.argument("projects", type=click.Path(exists=True, path_type=Path))
@click.option("--only", multiple=True, metavar="NAME", help="Try this project; may be repeated.")
@click.option(
    "--minutes",
    type=click.IntRange(1),
    help="Machine time of each gate; with --report, leave out results of another.  "
    f"[default: {_MINUTES}; any with --report]",
)
@click.option(
    "--work",
    default=_WORK,
    show_default=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="The directory of the campaign; a later call continues there.",
)
@click.option("--report", "only_report", is_flag=True, help="Try nothing: print the stored results.")
def main(
    *, mirrors: Path, projects: Path, only: Sequence[str], minutes: int | None, work: Path, only_report: bool
) -> None:
    """Try projects whose bare repositories OWNER/NAME.git are in MIRRORS; never uses the network.

    PROJECTS is a TOML file, or a directory of them. Ends with 1 if a goal is missed. Progress is on stderr,
    the report on stdout.
    """
    try:
        found = load_projects(projects)
    except BadProjects as error:
        raise click.ClickException(str(error)) from None
    if unknown := sorted({*only} - {each.name for each in found}):
        raise click.UsageError(f"there is no project {', '.join(unknown)} in {projects}")
    chosen = [each for each in found if not only or each.name in only]
    minutes = minutes if only_report else minutes or _MINUTES
    campaign = Campaign(mirrors, work, minutes or _MINUTES, _progress)
    if not only_report:
        for project in chosen:
            campaign.run(project)
    tried = [campaign.tried(each, minutes) for each in chosen]
    click.echo(report(tried))
    if not only_report:
        say_load("after")
    sys.exit(1 if goals_missed(tried) else 0)


def _progress(text: str) -> None:
    click.echo(text, err=True)


if __name__ == "__main__":
    main()
