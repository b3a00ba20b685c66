"""``benchgate import``: import results of earlier commits."""

from __future__ import annotations

import json
import os
import stat
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from service.cli.services.find_site import home_option, settings_of_running_site
from service.domain.measuring.formats.row import ReadLimits
from service.domain.values.errors import BadInput
from service.domain.values.identity import SeriesKey
from service.domain.values.text import plain
from service.steps.verdict.compare_files import ResultFile
from service.steps.verdict.import_values import OldCommit, import_values, moment_of, remove_values
from service.wiring.control import build_control

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from service.ports.store import Store

_FORM: Final = "a line is a JSON object with the texts file, commit and date"
_MOST: Final = ReadLimits().max_bytes


@dataclass(frozen=True, slots=True)
class _Entry:
    """A file to import; ``place`` names it in errors, and ``position`` is its line in the list."""

    place: str
    path: Path
    commit: str
    moment: datetime
    position: int = 0


@click.command()
@home_option
@click.option("--instance", default="", help="The Gerrit of the project; needed with several.")
@click.option("--project", required=True, help="The project, as Gerrit names it.")
@click.option("--branch", required=True, help="The branch that has the commits.")
@click.option("--job", required=True, help="The job that measures these benchmarks today.")
@click.option("--suite", required=True, help="Its suite, as benchgate.yaml names it.")
@click.option("--machine-class", required=True, help="The class of the machines that measured.")
@click.option("--commit", default="", help="The commit that FILE measured, or the one to remove.")
@click.option(
    "--date", default="", metavar="DATE", help="When the commit came to the branch; UTC by default."
)
@click.option(
    "--list",
    "is_list",
    is_flag=True,
    help="FILE lists files, the oldest first, one JSON object each line: file, commit, date.",
)
@click.option("--new", "is_new", is_flag=True, help="Import also what Benchgate has not measured.")
@click.option(
    "--remove", "is_removal", is_flag=True, help="Remove what was imported: of --commit, or of all commits."
)
@click.argument("file", required=False, type=click.Path(exists=True, dir_okay=False, path_type=Path))
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
    file: Path | None,
    *,
    is_list: bool,
    is_new: bool,
    is_removal: bool,
) -> None:
    """Import Google Benchmark JSON of commits that were measured before Benchgate came.

    Trends show the values beside the measured ones. They are part of no pair, verdict, level or vote.
    A file replaces what was imported of its commit; the same file again changes nothing. Paths in a list
    are relative to the list. Exit codes: 0 all files are imported; 1 some are not, and each is named.
    """
    if is_removal and (file or date or is_list or is_new):
        raise BadInput("takes no file, --date, --list or --new", "--remove")
    if not is_removal and (file is None or is_list == bool(commit or date)):
        raise BadInput(
            "give --commit and --date of the file, or --list and a list of files", str(file or "import")
        )
    settings = settings_of_running_site(home)
    key = SeriesKey(
        _instance(instance, settings.instances), project, branch, machine_class, job, suite, "", ""
    )
    with closing(build_control(settings)) as plane:
        if file is None:
            click.echo(f"{remove_values(plane.store, key, commit)} values removed")
            return
        entries = _listed(file) if is_list else iter([_entry(str(file), file, commit, date)])
        ctx.exit(0 if _import_all(plane.store, key, entries, is_new=is_new) else 1)


def _import_all(store: Store, key: SeriesKey, entries: Iterator[_Entry | BadInput], *, is_new: bool) -> bool:
    """Import each file; return whether all could be."""
    is_whole = True
    for each in entries:
        try:
            _import(store, key, each, is_new=is_new)
        except BadInput as error:
            is_whole = False
            click.echo(f"not imported: {plain(str(error), 500)}", err=True)
    return is_whole


def _import(store: Store, key: SeriesKey, entry: _Entry | BadInput, *, is_new: bool) -> None:
    if isinstance(entry, BadInput):
        raise entry
    file = ResultFile(entry.place, _read(entry))
    commit = OldCommit(entry.commit, entry.moment, entry.position)
    found = import_values(store, key, commit, file, is_new=is_new)
    for warning in found.warnings:
        click.echo(plain(warning, 500), err=True)
    counts = f"{found.values} values, {found.changes} changed; Benchgate measures {found.measured} of them"
    click.echo(f"{plain(entry.place, 500)}: {counts}")


def _read(entry: _Entry) -> bytes:
    try:
        # Opening a FIFO could block forever.
        with os.fdopen(os.open(entry.path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            about = os.fstat(file.fileno())
            if not stat.S_ISREG(about.st_mode):
                raise BadInput("it is not a regular file", entry.place)
            data = file.read(_MOST + 1) if about.st_size <= _MOST else b""
    except (OSError, ValueError) as error:  # a name may have a character that no file has
        raise BadInput(getattr(error, "strerror", None) or "it cannot be read", entry.place) from None
    if max(about.st_size, len(data)) > _MOST:
        raise BadInput(f"it has more than {_MOST} bytes", entry.place)
    return data


def _instance(given: str, instances: Sequence[str]) -> str:
    instance = given or (instances[0] if len(instances) == 1 else "")
    if instance not in instances:
        raise BadInput(f"write {' or '.join(instances)}", "--instance")
    return instance


def _listed(path: Path) -> Iterator[_Entry | BadInput]:
    """Yield the entries of a list; a bad line is an error with its number, and the others follow."""
    lines_of: dict[str, int] = {}
    with path.open(encoding="utf-8", errors="replace") as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            place = f"{path}:{number}"
            try:
                match json.loads(line):
                    case {"file": str(file), "commit": str(commit), "date": str(date)}:
                        if (first := lines_of.setdefault(commit, number)) != number:
                            yield BadInput(f"line {first} has this commit, too", place)
                        else:
                            yield _entry(f"{place}: {file}", path.parent / file, commit, date, number)
                    case _:
                        yield BadInput(_FORM, place)
            except BadInput as error:
                yield error
            except (ValueError, RecursionError):
                yield BadInput(_FORM, place)


def _entry(place: str, path: Path, commit: str, date: str, position: int = 0) -> _Entry:
    return _Entry(place, path, commit, moment_of(date, place, datetime.now(UTC)), position)
