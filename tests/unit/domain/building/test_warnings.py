"""Compiler warnings, read from logs and from hostile ones."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.domain.building.findings import Finding
from service.domain.building.warnings import MOST_WARNINGS, warnings_in

SAMPLES = Path(__file__).parents[3] / "samples" / "compile_logs"
ODD = Finding("lib/a.cc", 3, "warning: odd")
ODD_LINE = b"/src/lib/a.cc:3:5: warning: odd\n"


def sample(name: str) -> bytes:
    return (SAMPLES / f"{name}.log").read_bytes()


def test_warnings_of_gcc_are_found_in_colours_and_in_a_make_within_a_make() -> None:
    assert warnings_in(sample("gcc12_make_warnings")) == (
        Finding("lib/hash_table.cc", 3, "warning: unused variable ‘unused’ [-Wunused-variable]"),
        Finding("lib/hash_table.cc", 5, "warning: control reaches end of non-void function [-Wreturn-type]"),
    )


def test_warnings_of_clang_are_found_also_in_headers() -> None:
    assert [(each.path, each.line) for each in warnings_in(sample("clang14_make_warnings"))] == [
        ("table.h", 2),
        ("lib/hash_table.cc", 3),
        ("lib/hash_table.cc", 5),
    ]


def test_warnings_of_msvc_are_found_with_their_numbers() -> None:
    found = warnings_in(sample("msvc19_msbuild_warnings"), r"C:\ci\kv")
    assert [(each.path, each.line) for each in found] == [("lib/hash_table.cc", 12), ("lib/reader.cc", 40)]
    assert [each.text for each in found] == [
        "warning C4189: 'unused': local variable is initialized but not referenced",
        "warning C4996: 'strcpy': This function or variable may be unsafe. Consider using strcpy_s instead.",
    ]


@pytest.mark.parametrize(
    "line",
    [
        b"/src/lib/a.cc:3:5: warning: odd",
        b"/src/lib/a.cc:3: warning: odd",
        b"lib/a.cc:3:5: warning: odd\r",
        b"./lib/../lib/a.cc:3:5: warning: odd",
        b"/home/ann/kv/lib/a.cc:3:5: warning: odd",
        b"/src/lib/a.cc(3): warning: odd",
        b"lib\\a.cc(3,5): warning: odd",
        b"12>lib\\a.cc(3,5): warning: odd [C:\\x\\y.vcxproj]",
    ],
)
def test_a_place_is_named_from_the_root_of_the_sources(line: bytes) -> None:
    assert warnings_in(b"make\n" + line + b"\n", "/home/ann/kv/") == (ODD,)


@pytest.mark.parametrize(
    "line",
    [
        b"/src/lib/a.cc:3:5: error: no such thing",
        b"/src/lib/a.cc:3:5: note: this warning: is only quoted",
        b"/usr/include/c++/12/bits/stl_algo.h:3:5: warning: odd",
        b"/src/build/limits.h:1:1: warning: generated",
        b"../a.cc:3:5: warning: above",
        b"/usr/bin/ld: warning: x.o: missing .note.GNU-stack section",
        b"CMake Warning at CMakeLists.txt:3 (message):",
        b"clang: warning: argument unused during compilation: '-x'",
        b"a.cc:0:5: warning: line 0",
        b"3 warnings generated.",
        b"a\xe2\x80\xaeb.cc:3:5: warning: reads as another",
    ],
)
def test_a_line_that_warns_of_no_line_of_the_sources_is_no_finding(line: bytes) -> None:
    assert warnings_in(line + b"\n" + ODD_LINE) == (ODD,)


def test_the_same_warning_is_one_finding() -> None:
    """A header's warning comes with each file that includes it."""
    assert warnings_in(ODD_LINE * 3) == (ODD,)


def test_a_log_has_a_bounded_number_of_findings() -> None:
    log = b"".join(b"a.cc:%d: warning: x\n" % line for line in range(1, MOST_WARNINGS + 10))
    assert len(warnings_in(log)) == MOST_WARNINGS


@pytest.mark.parametrize(
    "part",
    [
        b"warning: ",
        b"a:",
        b"a:1:",
        b"a(1,",
        b"a(1): warning ",
        b"\x1b[0;",
        b"ing directory '",
        b"1>",
        b"\xff",
    ],
)
def test_a_hostile_line_of_megabytes_is_read_to_its_end(part: bytes) -> None:
    line = part * (5_000_000 // len(part))
    assert ODD in warnings_in(line + b"warning: x\n" + ODD_LINE)


@given(
    st.lists(
        st.sampled_from([b"a.cc", b":", b"3", b"(", b")", b" warning: ", b"\n", b"x", b"\\", b"\xff"])
    ).map(b"".join)
)
def test_any_log_is_read(log: bytes) -> None:
    assert all(each.line > 0 and "warning: " in each.text for each in warnings_in(log))
