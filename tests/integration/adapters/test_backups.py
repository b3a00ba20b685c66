from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from service.adapters.runs.backups import BackupDirectory, KeptFile, Manifest
from service.domain.values.errors import BadInput

if TYPE_CHECKING:
    from pathlib import Path


def take(backup: BackupDirectory, name: str, site: str = "a") -> Manifest:
    """Make a backup with a dump of its own name."""
    backup.claim(site)
    path = backup.new_file("unfinished.dump")
    path.write_bytes(name.encode())
    manifest = Manifest(
        made_at=name,
        version="1",
        revision="2",
        instance="c",
        audit_head="",
        dump=backup.seal(path, name),
        review=None,
        site=site,
    )
    backup.publish(manifest)
    return manifest


def test_the_newest_backup_counts_and_one_that_is_interrupted_leaves_it(tmp_path: Path) -> None:
    backup = BackupDirectory(tmp_path)
    take(backup, "1.dump")
    newest = take(backup, "2.dump")
    backup.new_file("unfinished.dump").write_bytes(b"half")
    backup.new_file("manifest.json.unfinished").write_bytes(b"{")
    assert BackupDirectory(tmp_path).manifest() == newest
    assert backup.file(newest.dump).read_bytes() == b"2.dump"
    assert not (tmp_path / "1.dump").exists()


def test_a_backup_deletes_only_what_the_one_before_named(tmp_path: Path) -> None:
    backup = BackupDirectory(tmp_path)
    take(backup, "1.dump")
    (tmp_path / "accounts.dump").write_bytes(b"somebody else's")
    take(backup, "2.dump")
    assert {path.name for path in tmp_path.glob("*.dump")} == {"accounts.dump", "2.dump"}


def test_only_an_empty_directory_or_the_sites_own_takes_a_backup(tmp_path: Path) -> None:
    foreign = BackupDirectory(tmp_path / "foreign")
    (tmp_path / "foreign" / "accounts.dump").touch()
    with pytest.raises(BadInput, match="is not empty and has no backup of Benchgate"):
        foreign.claim("a")
    complete, interrupted = (BackupDirectory(tmp_path / name) for name in ("complete", "interrupted"))
    take(complete, "1.dump")
    interrupted.claim("a")
    for backup in (complete, interrupted):
        backup.claim("a")
        with pytest.raises(BadInput, match="has backups of site a, and this database is of site b"):
            backup.claim("b")


def test_a_directory_without_a_manifest_has_no_backup(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"has no manifest\.json, so no backup was completed there"):
        BackupDirectory(tmp_path).manifest()


@pytest.mark.parametrize("name", ["../1.dump", "/etc/passwd", "..", ".", ""])
def test_a_manifest_names_no_file_outside(tmp_path: Path, name: str) -> None:
    backup = BackupDirectory(tmp_path)
    take(backup, "1.dump")
    path = tmp_path / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"dump": {"name": name, "digest": ""}}))
    with pytest.raises(BadInput, match="names a file outside"):
        backup.manifest()
    with pytest.raises(BadInput, match="names a file outside"):
        backup.file(KeptFile(name, ""))
