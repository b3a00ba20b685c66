"""``benchgate check``: list every error of a project file before it is pushed."""

from __future__ import annotations

import click

from service.cli import EXIT_OK, EXIT_USAGE
from service.cli.local.project_text import read_project_text
from service.domain.project.project_file import FILE_NAME, problems_of


@click.command()
@click.argument("file", default=FILE_NAME, type=click.Path(exists=True, dir_okay=False, allow_dash=True))
@click.pass_context
def command(ctx: click.Context, file: str) -> None:
    """List every error of a project file, as the service would report it; `-` reads stdin.

    Prints one line per error to stdout: `path:line: key: message`, the message with the allowed values. Exit
    code 0: no error; 2: errors, or a file that cannot be read.
    """
    text, name = read_project_text(file)
    problems = problems_of(text, where=name)
    for problem in problems:
        click.echo(str(problem))
    if not problems:
        click.echo(f"{name}: no errors", err=True)
    ctx.exit(EXIT_USAGE if problems else EXIT_OK)
