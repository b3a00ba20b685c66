"""``benchgate backup``: copy all state into a directory, while everything runs."""

from __future__ import annotations

import os
import time
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from service.adapters.building.artifacts import DirectoryArtifacts
from service.adapters.embedded.postgres import programs
from service.adapters.postgres.dump import dump_database, site_of
from service.adapters.runs.backups import BackupDirectory, Manifest, copy_review
from service.cli.services.find_site import home_option, settings_of_running_site
from service.domain.values.errors import BadInput, Transient
from service.ports.building import ArtifactKind
from service.steps.access.verify_audit import verify_audit
from service.steps.building.copy_artifacts import copy_artifacts, lacking
from service.steps.runs.prune import PARTS, SECTION
from service.wiring.build_host import directory_of
from service.wiring.control import build_control
from service.wiring.logs import log_as_json

if TYPE_CHECKING:
    from collections.abc import Iterator

    from service.config.control import ControlSettings
    from service.ports.store import Store
    from service.wiring.control import Control

_PATIENCE: Final = 600.0  # seconds until a round of deletion ends, at most
_EVERY: Final = 1000  # artifacts between two lines of progress


@click.command()
@click.argument("directory", type=click.Path(file_okay=False, path_type=Path))
@home_option
def command(directory: Path, home: Path) -> None:
    """Copy database, artifacts and the console's reviews into DIRECTORY; builds may run meanwhile.

    The next backup into the same directory copies only new artifacts. It holds what private changes printed:
    only this user can read it.
    """
    log_as_json()  # to stderr
    os.umask(0o077)
    settings = settings_of_running_site(home)
    _require_apart(directory, settings)
    target = BackupDirectory(directory)
    with closing(build_control(settings)) as plane:
        with _undisturbed(plane.store):
            manifest = _copy(plane, settings, target)
        target.publish(manifest)
        plane.upkeep.beat("backup", manifest.made_at)
    click.echo(f"audit head: {manifest.audit_head}")
    click.echo(f"{directory} has a backup of {manifest.made_at}", err=True)


def _copy(plane: Control, settings: ControlSettings, target: BackupDirectory) -> Manifest:
    """Copy everything: the dump first, so that every artifact which it names is there afterwards."""
    now = datetime.now(UTC)
    made_at = f"{now:%Y-%m-%dT%H:%M:%SZ}"
    site = site_of(settings.database_url)
    target.claim(site)
    name = f"{now:%Y%m%dT%H%M%S}"
    dump, review = target.new_file("unfinished.dump"), target.new_file("unfinished.sqlite")
    head = verify_audit(plane.audit_log).chain.head  # before the dump, so that the dump has this entry
    revision = dump_database(settings.database_url, dump, programs())
    stores = {ArtifactKind.BUILDS: plane.artifacts, ArtifactKind.DOWNLOADS: plane.downloads}
    for kind, source in stores.items():
        copied = copy_artifacts(source, DirectoryArtifacts(directory_of(target.artifacts, kind)), _report)
        for key in copied.damaged:
            click.echo(f"left out, because it is damaged: artifact {key}", err=True)
        if copied.deleted:
            raise Transient(f"artifacts were deleted meanwhile, as {copied.deleted[0]}; make another backup")
    _count_lacking(plane, target, now)
    has_review = not settings.has_gerrit and settings.review_path.exists()
    if has_review:
        copy_review(settings.review_path, review)
    return Manifest(
        made_at=made_at,
        version=version("benchgate"),
        revision=revision,
        instance=", ".join(settings.instances),
        audit_head=head.hex(),
        dump=target.seal(dump, f"{name}.dump"),
        review=target.seal(review, f"{name}.sqlite") if has_review else None,
        site=site,
    )


def _require_apart(directory: Path, settings: ControlSettings) -> None:
    places = (settings.home,) if settings.bucket_url else (settings.home, settings.artifacts_path)
    for place in places:
        if directory.resolve().is_relative_to(place.resolve()):
            raise BadInput(f"lies in {place}, which it is to save; name a directory elsewhere", "DIRECTORY")


def _report(count: int) -> None:
    if count % _EVERY == 0:
        click.echo(f"copied {count:,} artifacts", err=True)


def _count_lacking(plane: Control, target: BackupDirectory, began: datetime) -> None:
    """Say how many artifacts the dump may name and the backup lacks; newer ones are of newer records."""
    copies, missing = DirectoryArtifacts(target.artifacts), 0
    for part in PARTS:
        newer = {each.key for each in plane.artifacts.listed(part) if each.stored_at >= began.timestamp()}
        missing += len(lacking(plane.retention, copies, part) - newer)
    if missing:
        click.echo(f"artifacts that records name and the backup lacks: {missing}", err=True)


@contextmanager
def _undisturbed(store: Store) -> Iterator[None]:
    """Let nothing be deleted during the block; wait for a round of deletion that is under way.

    Raises:
        Transient: others may have deleted something, because the connection to the database was lost.
    """
    deadline = time.monotonic() + _PATIENCE
    while True:
        with store.exclusive(SECTION, must_last=True) as is_ours:
            if is_ours:
                yield
                return
        if time.monotonic() > deadline:
            raise Transient("old records are being deleted, or another backup runs; try again later")
        time.sleep(1.0)
