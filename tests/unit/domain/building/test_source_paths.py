from __future__ import annotations

import pytest

from service.domain.building.built_files import may_be_read


@pytest.mark.parametrize(
    "path",
    [
        *("src/executor.cc", "include/hash_table.h", "CMakeLists.txt", "cmake/warnings.cmake", "src/boot.S"),
        *("README.md", "docs/design.rst", ".gitignore", "benchgate.yaml", "LICENSE"),
    ],
)
def test_input_of_the_build_and_text_for_people_is_not_read(path: str) -> None:
    assert not may_be_read(path)


@pytest.mark.parametrize(
    "path",
    [
        *("keys.txt", "bench/keys.csv", "build/tables.bin", "run.sh", "tools/make_keys.py", "Makefile.in"),
        "third_party/library",  # a submodule, or a file without a suffix
        ".gitattributes",  # it changes what other files hold once they are checked out
        "src.cc/keys",
        "",
    ],
)
def test_unknown_paths_may_be_read(path: str) -> None:
    assert may_be_read(path)


@pytest.mark.parametrize("path", ["testdata/large.cpp", "bench/Corpus/a/b.md", "data/CMakeLists.txt"])
def test_sources_and_texts_among_inputs_are_inputs(path: str) -> None:
    """A parser is measured on them."""
    assert may_be_read(path)


def test_a_source_named_like_a_folder_of_inputs_is_none() -> None:
    assert not may_be_read("src/data.cc")
