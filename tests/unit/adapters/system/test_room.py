from __future__ import annotations

from typing import TYPE_CHECKING

from service.adapters.system.room import room_of

if TYPE_CHECKING:
    from pathlib import Path


def test_a_directory_has_free_bytes_and_a_size_and_a_missing_one_is_left_out(tmp_path: Path) -> None:
    found = room_of({"home": tmp_path, "artifacts": tmp_path / "unmounted"})
    assert found.keys() == {"home"}
    free, size = found["home"]
    assert 0 <= free < size
