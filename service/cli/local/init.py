"""``benchgate init``: a first benchgate.yaml."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from service.domain.errors import BadInput
from service.domain.project.project_file import FILE_NAME
from service.domain.project.starter_file import BUILD_FILES, BuildSystem, benchmark_programs, starter_file

if TYPE_CHECKING:
    from collections.abc import Iterator

_MOST_FILES: Final = 2000
_MOST_BYTES: Final = 1 << 20


@click.command()
@click.argument("file", default=FILE_NAME, type=click.Path(dir_okay=False, path_type=Path))
def command(file: Path) -> None:
    """Write a first benchgate.yaml, with comments that say what to edit.

    Looks for CMake, Meson or make in the directory of FILE, and for programs that link Google Benchmark. It
    never replaces a file.
    """
    system = _system_of(file.parent)
    programs = benchmark_programs(system, dict(_build_files(file.parent, system)))
    try:
        with file.open("x", encoding="utf-8") as stream:
            stream.write(starter_file(system, programs))
    except FileExistsError:
        raise BadInput("exists already; `benchgate check` lists its errors", str(file)) from None
    except OSError as error:
        raise BadInput(error.strerror or str(error), str(file)) from None
    click.echo(f"wrote {file} for {system}")
    for program in programs:
        click.echo(f"  benchmark program {program}")
    if not programs:
        click.echo("  no benchmark program was found: edit the lines marked EDIT")
    click.echo(f"try it on the last commit before you commit it:\n  benchgate gate --project-file {file}")


def _system_of(directory: Path) -> BuildSystem:
    for system, names in BUILD_FILES.items():
        if any((directory / name).is_file() for name in names):
            return system
    return BuildSystem.OTHER


def _build_files(directory: Path, system: BuildSystem) -> Iterator[tuple[str, str]]:
    """Yield the paths and texts of the build files below a directory; skip hidden and build directories."""
    names = BUILD_FILES.get(system, ())
    left = _MOST_FILES
    for place, below, files in os.walk(directory):
        below[:] = sorted(name for name in below if not name.startswith((".", "build")))
        for name in (name for name in files if name in names):
            path = Path(place, name)
            if left == 0:
                return
            left -= 1
            if path.is_file() and path.stat().st_size <= _MOST_BYTES:
                yield path.relative_to(directory).as_posix(), path.read_text("utf-8", "replace")
