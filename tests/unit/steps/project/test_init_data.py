from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from service.domain.project.starter.file import Program
from service.steps.project.init_data import named_data

if TYPE_CHECKING:
    from pathlib import Path

PARSE = Program("build/bench/parse", "parse")
BETWEEN = b"\0\x90\x90"


@pytest.fixture
def build(tmp_path: Path) -> Path:
    made = tmp_path / "build"
    (made / "bench").mkdir(parents=True)
    return made


def program(build: Path, *named: str) -> None:
    texts = BETWEEN.join(f"{build}/{name}".encode() for name in named)
    (build / "bench/parse").write_bytes(b"\x7fELF" + BETWEEN + texts + BETWEEN)


def add(build: Path, *names: str) -> None:
    for name in names:
        (build / name).parent.mkdir(parents=True, exist_ok=True)
        (build / name).write_bytes(b"{}")


def found(build: Path, *elsewhere: str) -> tuple[str, ...]:
    return named_data(build, [PARSE], elsewhere)


def test_a_directory_with_data_that_a_program_names_is_found(build: Path) -> None:
    add(build, "_deps/corpus-build/json/twitter.json", "unnamed/other.json")
    program(build, "_deps/corpus-build/json/")

    assert found(build) == ("_deps/corpus-build/json",)


def test_a_named_file_is_found_once(build: Path) -> None:
    add(build, "words.txt", "data/a.bin")
    program(build, "words.txt", "data/../words.txt", "data", "data/a.bin")

    assert found(build) == ("data", "words.txt")


@pytest.mark.parametrize(
    "name",
    ["version.h", "CMakeFiles/x.dir/flags.json", "Makefile", "cmake_install.cmake", "x.o"],
)
def test_what_every_build_makes_is_no_data(build: Path, name: str) -> None:
    add(build, f"gen/{name}")
    program(build, "gen", "gen/")

    assert found(build) == ()


def test_a_generated_header_that_an_assertion_names_is_no_data(build: Path) -> None:
    add(build, "gen/version.h")
    program(build, "gen/version.h")

    assert found(build) == ()


def test_programs_and_what_they_link_to_are_no_data(build: Path) -> None:
    program(build, "bench", "bench/parse", "bench/link")
    (build / "bench/link").symlink_to("parse")

    assert found(build) == ()


def test_what_does_not_exist_or_leads_out_is_not_found(build: Path) -> None:
    add(build, "../secret.txt", "a b/data.json", "x:y/data.json")
    program(build, "gone/", "../secret.txt", "a b/data.json", "x:y/data.json")

    assert found(build) == ()


def test_the_data_of_a_download_are_not_kept_because_programs_find_them_where_they_are(build: Path) -> None:
    add(build, "_deps/corpus-src/twitter.json")
    program(build, "_deps/corpus-src/")

    assert found(build, str(build / "_deps/corpus-src"), "") == ()


def test_a_program_without_content_names_nothing(build: Path) -> None:
    (build / "bench/parse").touch()

    assert found(build) == ()
