"""``benchgate import``: import results of earlier commits."""

from __future__ import annotations

import json
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from service.cli.services.find_site import home_option, settings_of_running_site
from service.domain.values.errors import BadInput
from service.domain.values.identity import SeriesKey
from service.domain.values.text import plain
from service.steps.verdict.compare_files import ResultFile
from service.steps.verdict.import_values import import_values
from service.wiring.control import build_control

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from service.ports.store import Store

_FORM: Final = "a line is a JSON object with the texts file, commit and date"


@dataclass(frozen=True, slots=True)
class _Entry:
    """A file to import; ``place`` names it in errors."""

    place: str
    path: Path
    commit: str
    moment: datetime


@click.command()
@home_option
@click.option("--instance", default="", help="The Gerrit of the project; needed with several.")
@click.option("--project", required=True, help="The project, as Gerrit names it.")
@click.option("--branch", required=True, help="The branch that has the commits.")
@click.option("--job", required=True, help="The job that measures these benchmarks today.")
@click.option("--suite", required=True, help="Its suite, as benchgate.yaml names it.")
@click.option("--machine-class", required=True, help="The class of the machines that measured.")
@click.option("--commit", default="", help="The commit that FILE measured.")
@click.option(
    "--date", default="", metavar="DATE", help="When the commit came to the branch; UTC by default."
)
@click.option(
    "--list", "is_list", is_flag=True, help="FILE lists files, one JSON object each line: file, commit, date."
)
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.pass_context
def command(
    ctx: click.Context,
    home: Path,
    instance: str,
    project: str,
    branch: str,
    job: str,
    suite: str,
    machine_class: str,
    commit: str,
    date: str,
    file: Path,
    *,
    is_list: bool,
) -> None:
    """Import Google Benchmark JSON of commits that were measured before Benchgate came.

    Trends show the values beside the measured ones. They are part of no pair, verdict, level or vote.
    Importing a file again changes nothing; another file of the same commit replaces its values. Paths in a
    list are relative to the list. Exit codes: 0 all files are imported; 1 some are not, and each is named.
    """
    if is_list == bool(commit or date):
        raise BadInput("give --commit and --date of the file, or --list and a list of files", str(file))
    settings = settings_of_running_site(home)
    key = SeriesKey(
        _instance(instance, settings.instances), project, branch, machine_class, job, suite, "", ""
    )
    is_whole = True
    entries = _listed(file) if is_list else iter([_entry(str(file), file, commit, date)])
    with closing(build_control(settings)) as plane:
        for each in entries:
            try:
                _import(plane.store, key, each)
            except BadInput as error:
                is_whole = False
                click.echo(f"not imported: {plain(str(error), 500)}", err=True)
    ctx.exit(0 if is_whole else 1)


def _import(store: Store, key: SeriesKey, entry: _Entry | BadInput) -> None:
    if isinstance(entry, BadInput):
        raise entry
    try:
        data = entry.path.read_bytes()
    except (OSError, ValueError) as error:  # a name may have a character that no file has
        raise BadInput(getattr(error, "strerror", None) or "it cannot be read", entry.place) from None
    found = import_values(store, key, entry.commit, entry.moment, ResultFile(entry.place, data))
    for warning in found.warnings:
        click.echo(plain(warning, 500), err=True)
    click.echo(f"{plain(entry.place, 500)}: {found.values} values, {found.news} new")


def _instance(given: str, instances: Sequence[str]) -> str:
    instance = given or (instances[0] if len(instances) == 1 else "")
    if instance not in instances:
        raise BadInput(f"write {' or '.join(instances)}", "--instance")
    return instance


def _listed(path: Path) -> Iterator[_Entry | BadInput]:
    """Yield the entries of a list; a bad line is an error with its number, and the others follow."""
    with path.open(encoding="utf-8", errors="replace") as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            place = f"{path}:{number}"
            try:
                match json.loads(line):
                    case {"file": str(file), "commit": str(commit), "date": str(date)}:
                        yield _entry(f"{place}: {file}", path.parent / file, commit, date)
                    case _:
                        yield BadInput(_FORM, place)
            except BadInput as error:
                yield error
            except (ValueError, RecursionError):
                yield BadInput(_FORM, place)


def _entry(place: str, path: Path, commit: str, date: str) -> _Entry:
    try:
        moment = datetime.fromisoformat(date)
    except ValueError:
        what = f"{plain(date, 40)!r} is no date such as 2026-01-31 or 2026-01-31T12:00Z"
        raise BadInput(what, place) from None
    return _Entry(place, path, commit, moment if moment.tzinfo else moment.replace(tzinfo=UTC))
