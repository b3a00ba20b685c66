from __future__ import annotations

from typing import TYPE_CHECKING

from service.adapters.system.disk import disks_of

if TYPE_CHECKING:
    from pathlib import Path


def test_a_missing_directory_has_no_disk(tmp_path: Path) -> None:
    found = disks_of({"home": tmp_path, "artifacts": tmp_path / "unmounted"})
    assert found.keys() == {"home"}
    assert 0 <= found["home"].free < found["home"].total
