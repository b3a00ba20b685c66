"""``benchgate prune``: delete what was kept long enough, or say what would go."""

from __future__ import annotations

import time
from collections import Counter
from contextlib import closing
from datetime import UTC
from typing import TYPE_CHECKING, Final

import click

from service.cli.services.find_site import home_option, settings_of_running_site
from service.domain.runs.retention import ARTIFACT_GRACE, RECENT, UNNEEDED, Kind
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

_HEAD: Final = ("kind", "records", "size", "oldest", "kept", "would go", "bytes of files")


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

    The schedule does so by itself, a part of the files every 90 minutes; its BENCHGATE_RETENTION sets the
    days.
    """
    log_as_json()  # to stderr: stdout has the list only
    if force and kind is not None:
        raise BadInput("is about files, and no file is deleted with --kind", "--force")
    settings = settings_of_running_site(home)
    with closing(build_control(settings)) as plane:
        days = _days(plane, is_set="retention" in settings.model_fields_set, may_guess=dry_run)
        policy = days if kind is None else {Kind(kind): days[Kind(kind)]}
        if dry_run:
            for line in _table(plane, policy, has_files=kind is None):
                click.echo(line)
        else:
            _prune(plane, policy, has_files=kind is None, may_delete_most=force)


def _days(plane: Control, *, is_set: bool, may_guess: bool) -> Policy:
    """Return the days that the schedule uses: this shell may have other settings.

    Raises:
        BadInput: the settings of this shell differ, or nobody says how long something is kept.
    """
    kept = plane.retention.kept_policy()
    if kept is None and not is_set and not may_guess:
        raise BadInput(
            "is not set here, and the schedule has not stored its days yet: start it", "BENCHGATE_RETENTION"
        )
    if kept is None:
        return plane.policy
    if is_set and (differing := [kind for kind in Kind if kept[kind] != plane.policy[kind]]):
        kind = differing[0]
        raise BadInput(
            f"keeps {kind} {_told(plane.policy[kind])} here, and {_told(kept[kind])} in the schedule; unset "
            "it here, or restart the schedule with it",
            "BENCHGATE_RETENTION",
        )
    return kept


def _told(days: int | None) -> str:
    return "for ever" if days is None else f"{days} days"


def _prune(plane: Control, policy: Policy, *, has_files: bool, may_delete_most: bool) -> None:
    if not has_files and None in policy.values():
        raise BadInput(
            f"{next(iter(policy))} are kept for ever; set BENCHGATE_RETENTION of the schedule", "--kind"
        )
    for kind, records in prune(plane.store, plane.retention, policy).items():
        click.echo(f"{kind}: deleted {records}, older than {_told(policy[kind])}", err=True)
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
    files, sizes, freed = _files(plane, policy)
    tables = {each.name: each.database_bytes for each in plane.reading.stored_sizes()}
    rows, shown = [_HEAD], set[str]()
    for kind, days in policy.items():
        supply, name = plane.retention.supply(kind, days), kind.stored_as
        is_first = name not in shown
        size = quantity(tables.get(name, 0) + sizes[name], "B") if is_first else ""
        goes = quantity(freed[name], "B") if is_first and has_files else ""
        shown.add(name)
        oldest = "" if supply.oldest_at is None else f"{supply.oldest_at.astimezone(UTC):%Y-%m-%d}"
        rows.append(
            (kind, f"{supply.records:,}", size, oldest, _told(days), f"{supply.expired or 0:,}", goes)
        )
    for name in (RECENT, UNNEEDED) if has_files else ():
        goes = f"{files[name]:,}" if name == UNNEEDED else "0"
        bytes_of = quantity(freed[name], "B")
        rows.append((name, f"{files[name]:,}", quantity(sizes[name], "B"), "", "24 hours", goes, bytes_of))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  ".join(map(str.ljust, row, widths)).rstrip()


def _files(plane: Control, policy: Policy) -> tuple[Mapping[str, int], Mapping[str, int], Mapping[str, int]]:
    """Count the artifacts, their bytes, and the bytes that would go, by the records that name them.

    An artifact goes with the last record that names it, if it is a day old.
    """
    files, sizes, freed, now = Counter[str](), Counter[str](), Counter[str](), time.time()
    for part in PARTS:
        needed = plane.retention.named(part, policy).keys()
        for name, found in sort_artifacts(plane.retention, plane.artifacts, part, now).items():
            files[name] += len(found)
            sizes[name] += sum(each.size for each in found)
            old = (each for each in found if each.stored_at < now - ARTIFACT_GRACE)
            freed[name] += sum(each.size for each in old if each.key not in needed)
    return files, sizes, freed
