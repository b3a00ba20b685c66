"""``benchgate restore``: make a site from a backup."""

from __future__ import annotations

import os
import shutil
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from service.adapters.building.artifacts import DirectoryArtifacts
from service.adapters.embedded.postgres import EmbeddedPostgres, programs
from service.adapters.postgres.access.audit import PostgresAuditLog
from service.adapters.postgres.access.sessions import PostgresSessions
from service.adapters.postgres.access.tokens import PostgresTokens
from service.adapters.postgres.dump import (
    name_anew,
    require_administrator,
    require_restorable,
    restore_database,
)
from service.adapters.postgres.engine import make_engine
from service.adapters.postgres.migrate import migrate
from service.adapters.postgres.runs.retention import PostgresRetention
from service.adapters.runs.backups import BackupDirectory
from service.cli.operating.user_here import user_here
from service.cli.services.find_site import home_option, keep_instance
from service.config.control import ControlSettings
from service.domain.access.audit import NO_ENTRY
from service.domain.values.errors import BadInput, Permanent
from service.ports.building import ArtifactKind
from service.steps.access.manage_tokens import end_access
from service.steps.access.verify_audit import verify_audit
from service.steps.building.copy_artifacts import copy_artifacts, lacking
from service.steps.runs.prune import PARTS
from service.wiring.artifact_stores import artifact_stores
from service.wiring.build_host import directory_of
from service.wiring.logs import log_as_json

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from service.adapters.runs.backups import Manifest
    from service.ports.building import ArtifactStore


@click.command()
@click.argument("directory", type=click.Path(exists=True, file_okay=False, path_type=Path))
@home_option
@click.option(
    "--administrator-url-from",
    metavar="VARIABLE",
    default="",
    help="Give the audit log back to its role as the superuser whose URL is in this environment variable.",
)
def command(directory: Path, home: Path, administrator_url_from: str) -> None:
    """Restore the backup in DIRECTORY into an empty database, before any part of Benchgate starts.

    Without BENCHGATE_DATABASE_URL, into a new home of `benchgate up`. Everybody must sign in again, and
    programs need new tokens. Restore only what you trust: a dump may have any function.
    """
    log_as_json()  # to stderr
    os.umask(0o077)
    settings = ControlSettings().model_copy(update={"home": home.absolute()})
    administrator_url = os.environ.get(administrator_url_from, "") if administrator_url_from else ""
    if administrator_url_from and not administrator_url:
        raise BadInput("is not set", administrator_url_from)
    backup = BackupDirectory(directory)
    manifest = backup.manifest()
    if manifest.review and settings.review_path.exists():
        raise BadInput(f"{settings.review_path} exists; restore into another home", "--home")
    home.mkdir(parents=True, exist_ok=True)
    with _database(settings, administrator_url) as (url, administrator):
        require_restorable(url, manifest.revision)
        if administrator:
            require_administrator(url, administrator)
        stores = artifact_stores(settings)
        _require_empty(stores, settings.bucket_url or str(settings.artifacts_path))
        for kind, target in stores.items():
            source = DirectoryArtifacts(directory_of(backup.artifacts, kind))
            copy_artifacts(source, target, lambda _: None)
        restore_database(url, backup.file(manifest.dump), programs())
        if manifest.review:
            shutil.copyfile(backup.file(manifest.review), settings.review_path)
            keep_instance(home, manifest.instance)
        migrate(url, administrator)
        _finish(url, manifest, stores[ArtifactKind.BUILDS])
    click.echo(f"restored the backup of {manifest.made_at}; start Benchgate", err=True)


def _require_empty(stores: Mapping[ArtifactKind, ArtifactStore], place: str) -> None:
    """Refuse artifacts of another site, which the restored one would delete, as it has no record of them."""
    if any(True for store in stores.values() for _ in store.listed("")):
        raise BadInput(f"{place} has artifacts already; restore into an empty one", "BENCHGATE_ARTIFACTS")


@contextmanager
def _database(settings: ControlSettings, administrator_url: str) -> Iterator[tuple[str, str]]:
    """Yield the addresses of owner and administrator; of a home, start its server."""
    if settings.database_url:
        yield settings.database_url, administrator_url
        return
    server = EmbeddedPostgres(settings.home / "postgres").start()
    try:
        yield server.owner_url, server.administrator_url
    finally:
        server.stop()


def _finish(url: str, manifest: Manifest, artifacts: ArtifactStore) -> None:
    """Check what was restored, and end what was valid when the backup was made."""
    engine = make_engine(url)
    try:
        head = bytes.fromhex(manifest.audit_head)
        found = verify_audit(PostgresAuditLog(engine), head or NO_ENTRY)
        user = user_here()
        sessions, tokens = end_access(PostgresTokens(engine), PostgresSessions(engine), user)
        click.echo(f"ended sessions: {sessions}; revoked tokens: {tokens}", err=True)
        retention, missing = PostgresRetention(engine), 0
        # What is restored beside the site that the backup was made of deletes nothing there.
        artifacts.mark(name_anew(engine))
        for part in PARTS:
            missing += len(lacking(retention, artifacts, part))
        if missing:
            click.echo(f"artifacts that records name and the backup lacks: {missing}", err=True)
        if not found.is_passed:
            raise Permanent("the audit log is not complete and protected: `benchgate audit verify` says why")
    finally:
        engine.dispose()
