"""Caches are evicted by their last use, beside others that are in use."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from service.adapters.sources.git.mirror import GitSource
from service.adapters.system.eviction import DirectoryCaches, mark_used
from service.adapters.system.locking import locked
from service.domain.machines.disk import DAY
from service.domain.values.errors import NotFound
from service.steps.machines.make_room import make_room
from tests.integration.adapters.sources.git.git_repository import Repository
from tests.support.small_disk import fill, required_disk

NOW = time.time()
OLD = NOW - 40 * DAY


def cached(home: Path, name: str, used_at: float, size: int = 1000) -> Path:
    path = home / name
    path.mkdir(parents=True)
    (path / "pack").write_bytes(bytes(size))
    os.utime(path, (used_at, used_at))
    return path


@pytest.mark.parametrize(
    "name",
    [
        "git/mirrors/a.git",
        "git/instances/one/mirrors/a.git",
        "git/submodules/a.git",
        "git/submodules/lfs/a",
        "dependencies/entries/a",
        "dependencies/sets/a",
        "compiler-cache/a",
    ],
)
def test_whatever_can_be_fetched_again_goes_after_thirty_days(tmp_path: Path, name: str) -> None:
    old, new = cached(tmp_path, name, OLD), cached(tmp_path, name.replace("a", "b"), NOW)
    make_room(DirectoryCaches(tmp_path), NOW)

    assert not old.exists()
    assert new.exists()


def test_a_mirror_in_use_stays(tmp_path: Path) -> None:
    mirror = cached(tmp_path, "git/mirrors/a.git", OLD)
    with locked(mirror):
        make_room(DirectoryCaches(tmp_path), NOW)
        assert (mirror / "pack").exists()


def test_what_a_killed_process_left_aside_is_removed(tmp_path: Path) -> None:
    aside = cached(tmp_path, "git/mirrors/evicted-1.git", NOW)
    make_room(DirectoryCaches(tmp_path), NOW)

    assert not aside.exists()


def test_a_full_disk_gets_room_by_the_least_recently_used(tmp_path: Path) -> None:
    with required_disk(tmp_path / "home", 64) as home:
        mirrors = [cached(home, f"git/mirrors/{days}.git", NOW - days * DAY, 12 << 20) for days in (4, 2, 3)]
        fill(home)
        caches = DirectoryCaches(home)
        assert make_room(caches, NOW) == ""
        assert [each.exists() for each in mirrors] == [False, True, False]
        fill(home)
        mark_used(mirrors[1])
        assert "free, and needs 0.0 GiB" in make_room(caches, NOW)
        assert mirrors[1].exists()


def test_a_disk_without_room_for_one_more_file_gets_some(tmp_path: Path) -> None:
    with required_disk(tmp_path / "home", 64, inodes=40) as home:
        old = cached(home, "compiler-cache/a", OLD)
        with pytest.raises(OSError, match="No space left"):
            _touch_many(old)
        os.utime(old, (OLD, OLD))
        assert make_room(DirectoryCaches(home), NOW) == ""
        assert not list((home / "compiler-cache").iterdir())  # and no lock stays


def _touch_many(directory: Path) -> None:
    for number in range(40):
        (directory / str(number)).touch()


def test_what_no_build_uses_makes_room_for_one_however_new_it_is(tmp_path: Path) -> None:
    with required_disk(tmp_path / "home", 64) as home:
        mirror, caches = cached(home, "git/mirrors/a.git", NOW, 40 << 20), DirectoryCaches(home)
        fill(home)
        with caches.in_use(), caches.unused() as is_unused:
            assert make_room(caches, NOW, is_unused=is_unused)
            assert mirror.exists()
        with caches.unused() as is_unused:
            assert make_room(caches, NOW, is_unused=is_unused) == ""


def test_a_mirror_that_is_used_while_it_is_evicted_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mirror, caches = cached(tmp_path, "git/mirrors/a.git", OLD), DirectoryCaches(tmp_path)
    (listed,) = caches.cached()
    moved: list[Path] = []
    monkeypatch.setattr(Path, "rename", lambda path, _: moved.append(path))
    mark_used(mirror)

    assert not caches.evict(listed)
    assert not moved  # not even for a moment, in which another one would remove it


def test_an_evicted_mirror_is_fetched_again(tmp_path: Path) -> None:
    repository = Repository(tmp_path / "project")
    commit = repository.commit({"a": b"1"})
    source = GitSource(tmp_path / "home" / "git", lambda _: str(repository.path))
    source.fetch("engine", commit)
    for mirror in (tmp_path / "home/git/mirrors").glob("*.git"):
        os.utime(mirror, (OLD, OLD))
    make_room(DirectoryCaches(tmp_path / "home"), NOW)
    with pytest.raises(NotFound, match="no revision"):
        source.tree("engine", commit)
    source.fetch("engine", commit)

    assert source.tree("engine", commit)
