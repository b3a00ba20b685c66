"""``benchgate prune``: delete what was kept long enough, or say what would go."""

from __future__ import annotations

import time
from collections import Counter
from contextlib import closing
from datetime import UTC
from typing import TYPE_CHECKING, Final

import click

from service.cli.services.find_site import home_option, settings_of_running_site
from service.domain.runs.retention import RECENT, UNNEEDED, Kind
from service.domain.values.errors import BadInput
from service.domain.values.text import quantity
from service.steps.runs.prune import PARTS, collect_artifacts, prune, sort_artifacts
from service.wiring.control import build_control
from service.wiring.logs import log_as_json

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from service.domain.runs.retention import Policy
    from service.wiring.control import Control

_HEAD: Final = ("kind", "records", "size", "oldest", "kept", "would go")


@click.command()
@home_option
@click.option("--dry-run", is_flag=True, help="Delete nothing; print what is there and what would go.")
@click.option("--force", is_flag=True, help="Delete files even if more than half of them would go.")
@click.option(
    "--kind",
    type=click.Choice([kind.value for kind in Kind]),
    help="Only records of this kind, and no files.",
)
def command(home: Path, kind: str | None, *, dry_run: bool, force: bool) -> None:
    """Delete records that were kept for their days, and files that no record names.

    The schedule does so by itself, a part of the files every 90 minutes. BENCHGATE_RETENTION sets the days.
    """
    log_as_json()  # to stderr: stdout has the list only
    if force and kind is not None:
        raise BadInput("is about files, and no file is deleted with --kind", "--force")
    with closing(build_control(settings_of_running_site(home))) as plane:
        policy = plane.policy if kind is None else {Kind(kind): plane.policy[Kind(kind)]}
        if dry_run:
            for line in _table(plane, policy, has_files=kind is None):
                click.echo(line)
        else:
            _prune(plane, policy, has_files=kind is None, may_delete_most=force)


def _prune(plane: Control, policy: Policy, *, has_files: bool, may_delete_most: bool) -> None:
    if not has_files and None in policy.values():
        raise BadInput(f"{next(iter(policy))} are kept for ever; set BENCHGATE_RETENTION", "--kind")
    for kind, records in prune(plane.store, plane.retention, policy).items():
        click.echo(f"{kind}: deleted {records}", err=True)
    now = time.time()
    files = sum(
        collect_artifacts(
            plane.store, plane.retention, plane.artifacts, part, now, may_delete_most=may_delete_most
        )
        for part in (PARTS if has_files else ())
    )
    if files:
        click.echo(f"{UNNEEDED}: deleted {files}", err=True)


def _table(plane: Control, policy: Policy, *, has_files: bool) -> Iterator[str]:
    files, sizes = _files(plane)
    tables = {each.name: each.database_bytes for each in plane.reading.stored_sizes()}
    rows, shown = [_HEAD], set[str]()
    for kind, days in policy.items():
        supply, name = plane.retention.supply(kind, days), kind.stored_as
        size = "" if name in shown else quantity(tables.get(name, 0) + sizes[name], "B")
        shown.add(name)
        oldest = "" if supply.oldest_at is None else f"{supply.oldest_at.astimezone(UTC):%Y-%m-%d}"
        kept = "for ever" if days is None else f"{days} days"
        rows.append((kind, f"{supply.records:,}", size, oldest, kept, f"{supply.expired or 0:,}"))
    for name in (RECENT, UNNEEDED) if has_files else ():
        goes = f"{files[name]:,}" if name == UNNEEDED else "0"
        rows.append((name, f"{files[name]:,}", quantity(sizes[name], "B"), "", "24 hours", goes))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  ".join(map(str.ljust, row, widths)).rstrip()


def _files(plane: Control) -> tuple[Mapping[str, int], Mapping[str, int]]:
    """Count the artifacts and their bytes, by the records that name them."""
    files, sizes, now = Counter[str](), Counter[str](), time.time()
    for part in PARTS:
        for name, found in sort_artifacts(plane.retention, plane.artifacts, part, now).items():
            files[name] += len(found)
            sizes[name] += sum(each.size for each in found)
    return files, sizes
