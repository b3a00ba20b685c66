from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from service import cli

if TYPE_CHECKING:
    from pathlib import Path

    from click.testing import Result

CMAKE = "add_executable(core_bench a.cc)\ntarget_link_libraries(core_bench benchmark::benchmark)\n"


@pytest.fixture(autouse=True)
def _without_build_tools(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "none"))


def run(*words: str) -> Result:
    return CliRunner().invoke(cli.benchgate, words)


def test_without_cmake_the_programs_are_those_of_its_build_files_and_marked(tmp_path: Path) -> None:
    (tmp_path / "CMakeLists.txt").write_text("add_subdirectory(bench)\n")
    for directory in ("bench", "build/bench"):
        (tmp_path / directory).mkdir(parents=True)
        (tmp_path / directory / "CMakeLists.txt").write_text(CMAKE)
    (tmp_path / "bench/meson.build").symlink_to("missing")
    file = tmp_path / "benchgate.yaml"

    done = run("init", str(file))

    assert done.exit_code == 1
    assert f"wrote {file} for CMake\n  benchmark program build/bench/core_bench\n" in done.output
    assert "nothing of it was tried: check the lines marked EDIT" in done.output
    assert f"benchgate gate --repo {tmp_path} --project-file {file}\n" in done.output
    assert "program: build/bench/core_bench   # EDIT\n" in file.read_text()
    assert run("check", str(file)).exit_code == 0


def test_a_build_system_that_is_not_installed_is_named(tmp_path: Path) -> None:
    (tmp_path / "CMakeLists.txt").write_text(CMAKE)

    assert (
        "CMake is not installed, so it could not be asked\n" in run("init", str(tmp_path / "b.yaml")).output
    )


def test_a_cmake_that_does_not_answer_is_as_none(tmp_path: Path) -> None:
    (tmp_path / "CMakeLists.txt").write_text(CMAKE)
    (tmp_path / "none").mkdir()
    (tmp_path / "none" / "cmake").write_text("#!/bin/sh\n")
    (tmp_path / "none" / "cmake").chmod(0o755)

    done = run("init", str(tmp_path / "benchgate.yaml"))

    assert done.exit_code == 1
    assert "CMake's file API: it left no reply; CMake has it since version 3.14\n" in done.output
    assert "program: build/core_bench   # EDIT\n" in (tmp_path / "benchgate.yaml").read_text()


@pytest.mark.parametrize(
    ("build_file", "sentence"),
    [
        (None, "there is no build file at the top"),
        ("Makefile", "nothing lists the programs of a Makefile"),
        ("MODULE.bazel", "init does not ask Bazel"),
    ],
)
def test_if_nothing_can_be_asked_the_lines_to_edit_are_marked(
    tmp_path: Path, build_file: str | None, sentence: str
) -> None:
    if build_file:
        (tmp_path / build_file).touch()
    file = tmp_path / "benchgate.yaml"

    assert f"{sentence}, so edit the lines marked EDIT" in run("init", str(file)).output
    assert file.read_text().count("# EDIT") == 2


def test_a_file_is_replaced_only_by_force(tmp_path: Path) -> None:
    file = tmp_path / "benchgate.yaml"
    file.write_text("mine")

    refused = run("init", str(file))

    assert str(refused.exception) == (
        f"{file}: exists already; `benchgate check` lists its errors, and `--force` replaces it"
    )
    assert file.read_text() == "mine"
    assert run("init", "--force", str(file)).exit_code == 1
    assert file.read_text().startswith("# Benchgate reads this file")


def test_a_directory_that_does_not_exist_is_named(tmp_path: Path) -> None:
    done = run("init", str(tmp_path / "none" / "benchgate.yaml"))
    assert str(done.exception) == f"{tmp_path}/none: No such directory"
