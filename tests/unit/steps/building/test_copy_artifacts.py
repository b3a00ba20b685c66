from __future__ import annotations

from typing import TYPE_CHECKING

from service.adapters.building.artifacts import DirectoryArtifacts
from service.steps.building.copy_artifacts import Copied, copy_artifacts

if TYPE_CHECKING:
    from pathlib import Path


def test_only_what_is_missing_is_copied_and_what_is_damaged_is_named(tmp_path: Path) -> None:
    source, target = DirectoryArtifacts(tmp_path / "a"), DirectoryArtifacts(tmp_path / "b")
    there, new, damaged = (source.put(content) for content in (b"there", b"new", b"damaged"))
    target.put(b"there")
    next((tmp_path / "a").rglob(f"{damaged}*")).write_bytes(b"x")
    told: list[int] = []
    assert copy_artifacts(source, target, told.append) == Copied(1, (damaged,))
    assert {each.key for each in target.listed("")} == {there, new}
    assert (target.get(new), told) == (b"new", [1])


def test_what_is_deleted_meanwhile_is_named(tmp_path: Path) -> None:
    source, target = DirectoryArtifacts(tmp_path / "a"), DirectoryArtifacts(tmp_path / "b")
    first, second = sorted(source.put(content) for content in (b"1", b"12"))
    assert first[:2] == second[:2]  # so that both are listed before the first is copied

    def delete_second(_count: int) -> None:
        source.delete(second, 0)

    copied = copy_artifacts(source, target, delete_second)
    assert copied == Copied(1, (), (second,))
