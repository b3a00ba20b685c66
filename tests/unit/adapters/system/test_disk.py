from __future__ import annotations

from typing import TYPE_CHECKING

from service.adapters.system.disk import disks_of

if TYPE_CHECKING:
    from pathlib import Path


def test_a_missing_directory_has_no_disk_and_two_of_one_file_system_have_one(tmp_path: Path) -> None:
    found = disks_of({"unmounted": tmp_path / "unmounted", "home": tmp_path, "artifacts": tmp_path.parent})
    assert found.keys() == {"home"}
    assert 0 <= found["home"].free < found["home"].total
