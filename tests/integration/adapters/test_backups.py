from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from service.adapters.runs.backups import BackupDirectory, KeptFile, Manifest
from service.domain.values.errors import BadInput

if TYPE_CHECKING:
    from pathlib import Path


def take(backup: BackupDirectory, name: str) -> Manifest:
    """Make a backup with a dump of its own name."""
    path = backup.new_file(name)
    path.write_bytes(name.encode())
    manifest = Manifest(
        made_at=name,
        version="1",
        revision="2",
        instance="c",
        audit_head="",
        dump=backup.seal(path),
        review=None,
    )
    backup.publish(manifest)
    return manifest


def test_the_newest_backup_counts_and_one_that_is_interrupted_leaves_it(tmp_path: Path) -> None:
    backup = BackupDirectory(tmp_path)
    take(backup, "1.dump")
    newest = take(backup, "2.dump")
    backup.new_file("3.dump").write_bytes(b"half")
    backup.new_file("manifest.json.unfinished").write_bytes(b"{")
    assert BackupDirectory(tmp_path).manifest() == newest
    assert backup.file(newest.dump).read_bytes() == b"2.dump"
    assert not (tmp_path / "1.dump").exists()


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
