from __future__ import annotations

import os
from typing import TYPE_CHECKING

from bench.verdicts.programs import copy_changed

if TYPE_CHECKING:
    from pathlib import Path


def test_an_edited_file_is_newer_than_its_build(tmp_path: Path) -> None:
    source, target, built = (tmp_path / name for name in ("source", "target", "built"))
    source.write_text("as it was")
    os.utime(source, (1, 1))
    target.write_text("edited")
    built.touch()
    os.utime(built, (2, 2))
    copy_changed(str(source), str(target))

    assert target.read_text() == "as it was"
    assert target.stat().st_mtime > built.stat().st_mtime


def test_an_existing_file_is_left_alone(tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    for each in (source, target):
        each.write_text("as it was")
    os.utime(target, (1, 1))
    copy_changed(str(source), str(target))

    assert target.stat().st_mtime == 1


def test_a_program_may_still_be_started(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.touch(mode=0o755)
    copy_changed(str(source), str(tmp_path / "target"))

    assert os.access(tmp_path / "target", os.X_OK)
