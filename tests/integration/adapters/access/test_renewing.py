"""Programs are replaced by equal copies, and an attacker's file names reach no other file."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from service.adapters.building.packing import MOST_RENEWED, renew
from service.adapters.building.sandbox.bubblewrap import BubblewrapSandbox
from service.adapters.building.sandbox.unsandboxed import DirectRunner
from service.domain.values.errors import Transient

if TYPE_CHECKING:
    from pathlib import Path

    from service.ports.building import Sandbox

pytestmark = pytest.mark.integration

PROGRAMS = ("measure/x", "lib/libfoo.so.1", "a\nb.so", "-x.so", "' ; false #.so")
OTHERS = ("data/set/a.bin", "notes.txt")


@pytest.fixture(params=[BubblewrapSandbox, DirectRunner])
def sandbox(request: pytest.FixtureRequest) -> Sandbox:
    found: Sandbox = request.param()
    return found


@pytest.fixture
def builds(tmp_path: Path) -> tuple[Path, Path]:
    """Two build directories with programs, libraries and data."""
    first, second = tmp_path / "first side", tmp_path / "second"
    for directory in (first, second):
        for name in (*PROGRAMS, *OTHERS):
            path = directory / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"{directory.name} {name}")
        (directory / "measure/x").chmod(0o755)
        (directory / "lib/libfoo.so").symlink_to("libfoo.so.1")
        for path in directory.rglob("*"):
            os.utime(path, (1, 1), follow_symlinks=False)
    return first, second


def unwatched() -> None:
    """Never cancel."""


def inodes(build: Path) -> dict[str, int]:
    return {str(path.relative_to(build)): path.lstat().st_ino for path in build.rglob("*")}


def contents(build: Path) -> dict[str, tuple[bytes, int, float]]:
    files = [path for path in build.rglob("*") if path.is_file()]
    return {
        str(path.relative_to(build)): (path.read_bytes(), path.stat().st_mode, path.stat().st_mtime)
        for path in files
    }


def test_programs_and_shared_objects_of_both_sides_are_new_files(
    sandbox: Sandbox, builds: tuple[Path, Path]
) -> None:
    before = [inodes(build) for build in builds]
    assert renew(sandbox, builds, unwatched)
    for old, build in zip(before, builds, strict=True):
        new = inodes(build)
        assert new.keys() == old.keys()
        assert {name for name in new if new[name] != old[name]} == set(PROGRAMS)


def test_copies_have_the_same_content_and_times(sandbox: Sandbox, builds: tuple[Path, Path]) -> None:
    before = [contents(build) for build in builds]
    renew(sandbox, builds, unwatched)
    assert [contents(build) for build in builds] == before


def test_overlarge_programs_are_not_copied(sandbox: Sandbox, builds: tuple[Path, Path]) -> None:
    with (builds[1] / "large.so").open("wb") as file:
        file.truncate(MOST_RENEWED + (1 << 20))
    before = [inodes(build) for build in builds]
    assert not renew(sandbox, builds, unwatched)
    assert [inodes(build) for build in builds] == before


@pytest.mark.parametrize("target", ["{second}", "/second", "{second}/measure/x"])
def test_a_link_cannot_redirect_a_copy_to_the_other_side(
    sandbox: Sandbox, builds: tuple[Path, Path], target: str
) -> None:
    first, second = builds
    (first / ".renewed").symlink_to(target.format(second=second))
    before = contents(second)
    assert renew(sandbox, builds, unwatched)
    assert contents(second) == before
    assert not (first / ".renewed").exists()


def test_a_name_of_maximum_length_is_copied(sandbox: Sandbox, builds: tuple[Path, Path]) -> None:
    longest = builds[0] / ("x" * 252 + ".so")
    longest.write_text("long")
    before = longest.stat().st_ino
    assert renew(sandbox, builds, unwatched)
    assert longest.stat().st_ino != before


def test_a_directory_that_cannot_be_written_is_an_error(builds: tuple[Path, Path]) -> None:
    with pytest.raises(Transient, match="copying of the programs: exit code"):
        renew(BubblewrapSandbox(), (builds[0], builds[0] / "measure" / "x"), unwatched)
