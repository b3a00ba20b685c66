from __future__ import annotations

from typing import TYPE_CHECKING

from click.testing import CliRunner

from service import cli

if TYPE_CHECKING:
    from pathlib import Path

    from click.testing import Result

CMAKE = "add_executable(core_bench a.cc)\ntarget_link_libraries(core_bench benchmark::benchmark)\n"


def run(*words: str) -> Result:
    return CliRunner().invoke(cli.benchgate, words)


def test_the_file_of_a_cmake_project_names_its_benchmark_program_and_is_accepted_by_check(
    tmp_path: Path,
) -> None:
    (tmp_path / "CMakeLists.txt").write_text("add_subdirectory(bench)\n")
    for directory in ("bench", "build/bench"):
        (tmp_path / directory).mkdir(parents=True)
        (tmp_path / directory / "CMakeLists.txt").write_text(CMAKE)
    (tmp_path / "bench/meson.build").symlink_to("missing")
    file = tmp_path / "benchgate.yaml"

    done = run("init", str(file))

    assert done.exit_code == 0
    assert f"wrote {file} for CMake\n  benchmark program build/bench/core_bench\n" in done.output
    assert f"benchgate gate --project-file {file}" in done.output
    assert "program: build/bench/core_bench\n" in file.read_text()
    assert run("check", str(file)).exit_code == 0


def test_without_a_build_file_the_lines_to_edit_are_marked(tmp_path: Path) -> None:
    file = tmp_path / "benchgate.yaml"
    assert "edit the lines marked EDIT" in run("init", str(file)).output
    assert file.read_text().count("# EDIT") == 2


def test_a_file_is_never_replaced(tmp_path: Path) -> None:
    file = tmp_path / "benchgate.yaml"
    file.write_text("mine")

    done = run("init", str(file))

    assert str(done.exception) == f"{file}: exists already; `benchgate check` lists its errors"
    assert file.read_text() == "mine"


def test_a_directory_that_does_not_exist_is_named(tmp_path: Path) -> None:
    done = run("init", str(tmp_path / "none" / "benchgate.yaml"))
    assert str(done.exception).endswith("benchgate.yaml: No such file or directory")
