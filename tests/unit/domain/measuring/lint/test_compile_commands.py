"""Read the translation units of compile_commands.json."""

from __future__ import annotations

import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.domain.measuring.lint.compile_commands import Unit, read_compile_commands
from service.domain.values.errors import BadResults


def entry(directory: str, file: str) -> dict[str, str]:
    return {"directory": directory, "command": f"c++ -c {file}", "file": file}


def read(*entries: object, sources: str = "") -> tuple[Unit, ...]:
    return read_compile_commands(json.dumps(entries).encode(), sources)


def test_a_unit_has_its_path_below_the_sources() -> None:
    assert read(entry("/src/build/debug", "/src/lib/a.cc")) == (
        Unit("/src/lib/a.cc", "/src/build/debug", "lib/a.cc"),
    )


def test_a_relative_file_begins_at_its_directory() -> None:
    assert read(entry("/src/build", "../lib/./a.cc")) == (Unit("/src/lib/a.cc", "/src/build", "lib/a.cc"),)


def test_a_file_outside_the_sources_has_no_path() -> None:
    assert read(entry("/build", "/usr/share/x.cc")) == (Unit("/usr/share/x.cc", "/build", ""),)


def test_the_sources_may_be_on_the_host() -> None:
    assert read(entry("/home/me/tree", "a.cc"), sources="/home/me/tree")[0].path == "a.cc"


def test_a_file_with_several_commands_is_one_unit() -> None:
    assert len(read(entry("/src", "a.cc"), entry("/src/other", "../a.cc"))) == 1


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"", "it is not JSON"),
        (b"[" * 100_000, "it is not JSON"),
        (b"{}", "it is not a list"),
        (b"[]", "it names no file"),
        (b'[1, {"file": "a.cc"}, {"directory": 1, "file": "a.cc"}]', "it names no file"),
        (b"[" * 5_000_000, "it is too large"),
    ],
)
def test_other_files_are_refused(data: bytes, problem: str) -> None:
    with pytest.raises(BadResults, match=problem):
        read_compile_commands(data)


@given(st.binary(max_size=200))
def test_any_content_is_read_or_refused(data: bytes) -> None:
    with suppress(BadResults):
        assert read_compile_commands(data)
