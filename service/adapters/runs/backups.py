"""Keep a backup in a directory: a dump, the artifacts, and a manifest that makes it one."""

from __future__ import annotations

import hashlib
import os
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pydantic import TypeAdapter, ValidationError

from service.domain.values.errors import BadInput

if TYPE_CHECKING:
    from pathlib import Path

_MANIFEST: Final = "manifest.json"
_MARK: Final = ".benchgate-site"  # of a first backup, which has no manifest yet


@dataclass(frozen=True, slots=True)
class KeptFile:
    """A file of a backup by its name, with its SHA-256."""

    name: str
    digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """Content of a backup; ``audit_head`` is the hash of the newest entry of the audit log.

    ``site`` is the ID of the site's database, empty in backups of versions before it had one.
    """

    made_at: str
    version: str
    revision: str
    instance: str
    audit_head: str
    dump: KeptFile
    review: KeptFile | None  # of the console review server
    site: str = ""


_JSON: Final = TypeAdapter(Manifest)


class BackupDirectory:
    """A directory of backups; the newest one counts.

    Artifacts are only added, and the manifest is replaced when all else is complete. A backup that is
    interrupted leaves the one before as it was.

    Args:
        path: the directory, created if it is missing; only this user can read it then.
    """

    def __init__(self, path: Path) -> None:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._path = path
        self.artifacts = path / "artifacts"

    def claim(self, site: str) -> None:
        """Take the directory for a site's backups, unless it has something else.

        Raises:
            BadInput: it has files but no backup of Benchgate, or another site's.
        """
        mark, previous = self._path / _MARK, self._previous()
        if previous is None and not mark.exists():
            if any(self._path.iterdir()):
                raise BadInput(
                    "is not empty and has no backup of Benchgate; name another directory", str(self._path)
                )
            mark.write_text(f"{site}\n", encoding="utf-8")
        owner = previous.site if previous else mark.read_text(encoding="utf-8").strip()
        if owner and owner != site:
            raise BadInput(
                f"has backups of site {owner[:40]}, and this database is of site {site or '(none)'}; "
                "name another directory",
                str(self._path),
            )

    def new_file(self, name: str) -> Path:
        """Return where to write a file; one that an interrupted backup left is gone."""
        path = self._path / name
        path.unlink(missing_ok=True)
        return path

    def seal(self, path: Path, name: str) -> KeptFile:
        """Make a complete file survive a power failure, give it its name, and describe it."""
        path.chmod(0o600)
        with path.open("rb+") as file:
            os.fsync(file.fileno())
        return KeptFile(name, _digest(path.replace(self._path / name)))

    def publish(self, manifest: Manifest) -> None:
        """Let this backup count, and delete the files that the manifest of the one before names."""
        previous = self._previous()
        unfinished = self.new_file(f"{_MANIFEST}.unfinished")
        unfinished.write_bytes(_JSON.dump_json(manifest, indent=2))
        self.seal(unfinished, _MANIFEST)
        descriptor = os.open(self._path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        kept = {each.name for each in _files(manifest)}
        for file in _files(previous) if previous else ():
            if file.name not in kept:
                self.file(file).unlink(missing_ok=True)

    def manifest(self) -> Manifest:
        """Read the manifest, and check the files that it names.

        Raises:
            BadInput: there is no complete backup here, or a file of it was changed.
        """
        manifest = self._previous()
        if manifest is None:
            raise BadInput(f"has no {_MANIFEST}, so no backup was completed there", str(self._path))
        for file in _files(manifest):
            path = self.file(file)
            if not path.is_file() or _digest(path) != file.digest:
                raise BadInput("is missing or not as the manifest says: take another backup", str(path))
        return manifest

    def file(self, file: KeptFile) -> Path:
        """Return where a file of the manifest is; raises BadInput if that is not in the directory."""
        if "/" in file.name or not file.name or file.name.startswith("."):
            raise BadInput(f"names a file outside: {file.name[:100]}", f"{self._path / _MANIFEST}")
        return self._path / file.name

    def _previous(self) -> Manifest | None:
        try:
            return _JSON.validate_json((self._path / _MANIFEST).read_bytes())
        except FileNotFoundError:
            return None
        except ValidationError as error:
            raise BadInput(f"is damaged: {error.errors()[0]['msg']}", f"{self._path / _MANIFEST}") from None


def copy_review(source: Path, target: Path) -> None:
    """Copy the console review server's file, which may be in use."""
    with closing(sqlite3.connect(source)) as old, closing(sqlite3.connect(target)) as new:
        old.backup(new)
        new.execute("PRAGMA journal_mode = DELETE")  # one file, without another beside it


def _files(manifest: Manifest) -> tuple[KeptFile, ...]:
    return tuple(filter(None, (manifest.dump, manifest.review)))


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
