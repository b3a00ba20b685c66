"""Files of projects: their defaults, and errors that name the entry."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bench.real.projects import BadProjects, load_projects

if TYPE_CHECKING:
    from pathlib import Path

PROJECT = """\
[[project]]
name = "hashes"
repository = "example/hashes"
commit = "1111111111111111111111111111111111111111"
build_system = "CMake"
dependencies = "submodules"
  [[project.change]]
  name = "a comment"
  percent = 0
    [[project.change.edit]]
    file = "src/hash.cc"
    after = "int hash() {"
    insert = "// nothing"
"""
SLOWER = PROJECT.replace("percent = 0", "percent = 5\n  benchmarks = 'Hash/\\d+$'\n  partly = 'Hash'")


def write(directory: Path, text: str) -> Path:
    file = directory / "projects.toml"
    file.write_text(text)
    return file


def error_of(directory: Path, text: str) -> str:
    with pytest.raises(BadProjects) as refused:
        load_projects(write(directory, text))
    return str(refused.value).removeprefix(f"{directory / 'projects.toml'}: ")


def test_a_project_without_options_measures_everything(tmp_path: Path) -> None:
    (project,) = load_projects(write(tmp_path, PROJECT))

    assert (project.name, project.filter, project.packages) == ("hashes", "", ())
    assert not project.change[0].affects("Hash/8")


def test_partly_slower_benchmarks_are_those_beside_the_affected_ones(tmp_path: Path) -> None:
    (project,) = load_projects(write(tmp_path, SLOWER))
    change = project.change[0]

    assert [change.affects(name) for name in ("Hash/8", "Hash/small", "Sort/8")] == [True, False, False]
    assert [change.may_affect(name) for name in ("Hash/8", "Hash/small", "Sort/8")] == [False, True, False]


def test_the_projects_of_a_directory_are_read_in_the_order_of_their_files(tmp_path: Path) -> None:
    (tmp_path / "b.toml").write_text(PROJECT)
    (tmp_path / "a.toml").write_text(PROJECT.replace('"hashes"', '"sorting"'))

    assert [each.name for each in load_projects(tmp_path)] == ["sorting", "hashes"]


@pytest.mark.parametrize(
    ("old", "new", "error"),
    [
        ('file = "src/hash.cc"', "", "project hashes: change a comment: edit 1: file: Field required"),
        ("percent = 0", "percent = 5", "project hashes: change a comment: Value error, has no `benchmarks`"),
        (
            "percent = 0",
            "percent = 0\nbenchmarks = 'x'",
            "project hashes: change a comment: Value error, makes nothing slower",
        ),
        (
            "percent = 0",
            "percent = 3\nbenchmarks = 'x'",
            "Value error, percent must be 0 or more than 3, which Benchgate may call the same",
        ),
        ('"src/hash.cc"', '"../hash.cc"', "must be a path below the top of the repository"),
        ('commit = "1', 'commit = "x', "project hashes: commit: String should match"),
        ('build_system = "CMake"', 'bild_system = "CMake"', "project hashes: bild_system: Extra inputs"),
        (
            "[[project]]",
            "[[project]]\nfilter = 'BM_.*'",
            "hashes: filter: Value error, is no regular",
        ),
        ("insert =", "replace = 'x'\ninsert =", "has `after` and `replace`: only one of them is possible"),
    ],
)
def test_an_error_names_the_entry(tmp_path: Path, old: str, new: str, error: str) -> None:
    assert error in error_of(tmp_path, PROJECT.replace(old, new, 1))


def test_text_other_than_toml_is_refused_with_its_line(tmp_path: Path) -> None:
    assert "line 1" in error_of(tmp_path, "[[project\n")


def test_two_projects_of_one_name_are_refused(tmp_path: Path) -> None:
    assert error_of(tmp_path, PROJECT + PROJECT) == "two projects are called hashes"


@pytest.mark.parametrize("name", ["a comment", "A comment!"])
def test_two_changes_that_would_share_a_result_are_refused(tmp_path: Path, name: str) -> None:
    change = PROJECT[PROJECT.index("  [[project.change]]") :].replace("a comment", name)
    error = "project hashes: Value error, has two changes whose names have the same letters and digits"

    assert error in error_of(tmp_path, PROJECT + change)
