"""Repositories and files of a workspace are placed below its top only."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from service.adapters.sources.git.placing import put_file, require_free
from service.domain.sources.workspace import PlacedFile
from service.domain.values.errors import Incomplete

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def top(tmp_path: Path) -> Path:
    """A workspace with what a hostile revision may have in it."""
    core = tmp_path / "top/core"
    (core / "full").mkdir(parents=True)
    (core / "empty").mkdir()
    (core / "full/x").write_text("x")
    (core / "x").write_text("x")
    (core / "out").symlink_to("../..")
    (core / "etc").symlink_to("/etc")
    (core / "secret").symlink_to("/etc/passwd")
    (core / "loop").symlink_to("loop")
    os.mkfifo(core / "pipe")
    return tmp_path / "top"


@pytest.mark.parametrize("path", ["core/empty", "core/new/deep", "net", ""])
def test_a_missing_or_empty_directory_is_free(top: Path, path: str) -> None:
    if path:
        require_free(top, path, "project")
    else:
        require_free(top / "core/empty", path, "project")


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("core/full", "other files are in its place"),
        ("core/x", "other files are in its place"),
        ("core/out", "other files are in its place"),
        ("core/out/evil", "a file or link is in the way"),
        ("core/x/net", "a file or link is in the way"),
        ("core/loop/net", "a file or link is in the way"),
    ],
)
def test_a_place_taken_or_beyond_a_link_is_refused(top: Path, path: str, message: str) -> None:
    with pytest.raises(Incomplete, match=f"^project p: {message}$"):
        require_free(top, path, "project p")


@pytest.mark.parametrize(
    ("file", "message"),
    [
        (
            PlacedFile("core/x", "core/out/evil", is_link=False),
            "copyfile core/out/evil: a file or link is in the way",
        ),
        (
            PlacedFile("core/x", "core/out/evil", is_link=True),
            "linkfile core/out/evil: a file or link is in the way",
        ),
        (
            PlacedFile("core/x", "core/secret", is_link=False),
            "copyfile core/secret: another file is in its place",
        ),
        (
            PlacedFile("core/secret", "copy", is_link=False),
            "copyfile copy: core/secret is no regular file there",
        ),
        (PlacedFile("core/etc/passwd", "copy", is_link=False), "copyfile copy: a file or link is in the way"),
        (PlacedFile("core/pipe", "copy", is_link=False), "copyfile copy: core/pipe is no regular file there"),
        (
            PlacedFile("core/gone", "core/out/copy", is_link=False),
            "copyfile core/out/copy: a file or link is in the way",
        ),
    ],
)
def test_no_file_is_copied_through_a_link(top: Path, file: PlacedFile, message: str) -> None:
    before = sorted(top.parent.rglob("*"))
    with pytest.raises(Incomplete) as refused:
        put_file(top, file)
    assert str(refused.value) == message
    assert sorted(top.parent.rglob("*")) == before


@pytest.mark.parametrize(
    ("source", "target", "link"),
    [
        ("core/x", "y", "core/x"),
        ("core/x", "a/b/y", "../../core/x"),
        ("core", "all", "core"),
        ("", "a/top", ".."),
    ],
)
def test_a_link_is_relative_to_its_place(top: Path, source: str, target: str, link: str) -> None:
    put_file(top, PlacedFile(source, target, is_link=True))
    assert str((top / target).readlink()) == link


@pytest.mark.parametrize("source", ["core/gone", "gone/x"])
def test_a_missing_file_is_not_copied(top: Path, source: str) -> None:
    before = sorted(top.rglob("*"))
    put_file(top, PlacedFile(source, "a/copy", is_link=False))
    assert sorted(top.rglob("*")) == before
