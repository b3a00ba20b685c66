"""Make a project's repository from incomplete mirrors."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import pytest

from bench.real.area import Area, NotPrepared
from bench.real.projects import Change, Download, Edit, Mirror, Project
from bench.real.repositories import commit_all, git

if TYPE_CHECKING:
    from pathlib import Path

ORIGIN = "https://github.com/"
CMAKE = f"""\
FetchContent_Declare(lib GIT_REPOSITORY {ORIGIN}example/lib.git GIT_TAG v1.0)
FetchContent_Declare(data URL {ORIGIN}example/lib/archive/refs/tags/v1.0.zip
    URL_HASH SHA256={"0" * 64})
file(DOWNLOAD https://example.org/tool.cmake tool.cmake EXPECTED_HASH SHA256={"1" * 64})
"""
CHANGE = Change(name="more", percent=0, edit=(Edit(file="hash.cc", after="int a;", insert="int b;"),))


def mirror(place: Path, files: dict[str, str]) -> str:
    """Make a repository with a commit and the tag v1.0."""
    for name, text in files.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(text)
    git(place, "init", "--quiet", "--initial-branch=main")
    commit = commit_all(place, "first")
    git(place, "update-ref", "refs/heads/main", commit)
    git(place, "tag", "v1.0")
    return commit


@pytest.mark.integration
def test_a_repository_names_only_local_addresses_and_what_they_have(tmp_path: Path) -> None:
    lib = {"lib.h": "int lib;", "large.bin": "x", "tool.cmake": f"# {ORIGIN}a/b dev\n"}
    mirror(tmp_path / "given/example/lib.git", lib)
    commit = mirror(
        tmp_path / "given/example/hashes.git", {"CMakeLists.txt": CMAKE, "hash.cc": "int a;\n", "big": "x"}
    )
    project = Project(
        name="hashes",
        repository="example/hashes",
        commit=commit,
        build_system="CMake",
        dependencies="FetchContent",
        without=("big",),
        mirror=(Mirror(repository="example/lib", commit="v1.0", without=("large.bin",)),),
        download=(
            Download(
                url="https://example.org/tool.cmake",
                repository="example/lib",
                commit="v1.0",
                path="tool.cmake",
                replace={"dev": "1.0"},
                sha256="1" * 64,
            ),
        ),
        change=(CHANGE,),
    )
    area = Area(tmp_path / "given", tmp_path / "work")
    area.link_mirrors()

    top, base = area.lay_out(project)
    patch = area.commit_change(top, base, CHANGE)

    files = tmp_path / "work/mirrors"
    text = (top / "CMakeLists.txt").read_text()
    archive = (files / "example/lib/archive/refs/tags/v1.0.zip").read_bytes()
    (tool,) = files.glob("downloads/*/tool.cmake")
    assert ORIGIN not in text
    assert f"GIT_REPOSITORY {area.address}example/lib.git GIT_TAG v1.0" in text
    assert f"SHA256={hashlib.sha256(archive).hexdigest()}" in text
    assert f"{area.address}{tool.relative_to(files)} " in text
    assert hashlib.sha256(tool.read_bytes()).hexdigest() in text
    assert tool.read_text() == f"# {area.address}a/b 1.0\n"
    assert git(files / "example/lib.git", "ls-tree", "--name-only", "v1.0").split() == ["lib.h", "tool.cmake"]
    assert git(top, "ls-tree", "--name-only", base).split() == ["CMakeLists.txt", "hash.cc"]
    assert git(top, "diff", "--name-only", base, patch).split() == ["hash.cc"]
    assert (top / "hash.cc").read_text() == "int a;\n"
    assert area.lay_out(project)[1] == base


def test_a_project_without_a_mirror_is_named(tmp_path: Path) -> None:
    project = Project(
        name="hashes",
        repository="example/hashes",
        commit="1f" * 20,
        build_system="CMake",
        dependencies="none",
        change=(CHANGE,),
    )
    with pytest.raises(NotPrepared, match=r"there is no mirror example/hashes\.git"):
        Area(tmp_path, tmp_path / "work").lay_out(project)
