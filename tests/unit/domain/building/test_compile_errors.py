"""Compiler errors, read from real logs and from hostile ones."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.domain.building.compile_errors import errors_in, excerpt, first_error
from service.domain.building.findings import MOST, Finding

SAMPLES = Path(__file__).parents[3] / "samples" / "compile_logs"
BAD = Finding("lib/a.cc", 3, "error: no such thing")
BAD_LINE = b"/src/lib/a.cc:3:5: error: no such thing\n"
GCC = {
    ("lib/hash_table.cc", 5, "error: ‘total’ was not declared in this scope"),
    ("lib/hash_table.cc", 6, "error: ‘totl’ was not declared in this scope"),
    (
        "lib/hash_table.cc",
        10,
        "error: could not convert ‘7’ from ‘int’ to ‘std::string’ {aka ‘std::__cxx11::basic_string<char>’}",
    ),
    ("include/table.h", 9, "error: static assertion failed: keys are small"),
    ("lib/reader.cc", 2, "fatal error: readr.h: No such file or directory"),
    ("lib/generated.cc", 3, "error: expected ‘;’ before ‘}’ token"),
}
WERROR = ("lib/hash_table.cc", 4, "error: unused variable ‘unused’ [-Werror=unused-variable]")
CLANG = {
    ("lib/hash_table.cc", 5, "error: use of undeclared identifier 'total'"),
    ("lib/hash_table.cc", 6, "error: use of undeclared identifier 'totl'"),
    (
        "lib/hash_table.cc",
        10,
        (
            "error: no viable conversion from returned value of type 'int' to function return type"
            " 'std::string' (aka 'basic_string<char>')"
        ),
    ),
    (
        "include/table.h",
        9,
        (
            "error: static_assert failed due to requirement 'sizeof(std::basic_string<char,"
            ' std::char_traits<char>, std::allocator<char>>) <= 8\' "keys are small"'
        ),
    ),
    ("lib/reader.cc", 2, "fatal error: 'readr.h' file not found"),
    ("lib/generated.cc", 3, "error: expected ';' after return statement"),
}


def errors(log: bytes, sources: str = "") -> list[tuple[str, int, str]]:
    return [(each.path, each.line, each.text) for each in errors_in(log, sources)]


@pytest.mark.parametrize(
    ("sample", "found"),
    [
        ("gcc12_make", GCC),
        ("gcc12_make_coloured", GCC),
        ("gcc12_cmake", GCC | {WERROR}),
        ("gcc12_cmake_ninja", GCC | {WERROR}),
        ("clang14_make", CLANG),
        ("clang14_make_coloured", CLANG),
        ("clang14_cmake_ninja", CLANG),
    ],
)
def test_the_errors_in_the_projects_own_files_are_found(
    sample: str, found: set[tuple[str, int, str]]
) -> None:
    """A template's error is in its header; files of the standard library and generated ones are ignored."""
    log = (SAMPLES / f"{sample}.log").read_bytes()
    assert sorted(errors(log)) == sorted(found)


def test_they_come_in_the_order_of_the_log() -> None:
    found = errors_in((SAMPLES / "gcc12_make.log").read_bytes())
    assert [(each.path, each.line) for each in found][:4] == [
        ("lib/hash_table.cc", 5),
        ("lib/hash_table.cc", 6),
        ("lib/hash_table.cc", 10),
        ("include/table.h", 9),
    ]


@pytest.mark.parametrize(
    "line",
    [
        b"lib/a.cc:3:5: error: no such thing",
        b"lib/a.cc:3: error: no such thing",
        b"./lib/../lib/a.cc:3:5: error: no such thing",
        b"/src/lib/a.cc:3:5: error: no such thing",
        b"/build/../src/lib/a.cc:3:5: error: no such thing",
        b"/home/ann/kv/lib/a.cc:3:5: error: no such thing",
        b"/src/lib/a.cc:3:5: error: no  such\tthing\r",
        b"/src/lib/a.cc:3:5: error: \xe2\x80\xaeno such \x07thing",
        b"lib\\a.cc(3): error: no such thing",
        b"12>C:\\ci\\kv\\lib\\a.cc(3,5): error: no such thing [C:\\ci\\kv\\kv.vcxproj]",
    ],
)
def test_a_place_is_named_from_the_root_of_the_sources(line: bytes) -> None:
    sources = "C:\\ci\\kv" if b"C:" in line else "/home/ann/kv"
    assert errors_in(b"make\n" + line + b"\n", f"{sources}/") == (BAD,)
    assert errors_in(line, sources) == (BAD,), "the last line may be without its end"


def test_an_error_of_msvc_is_found_with_its_number() -> None:
    log = (
        b"  Building Custom Rule C:/ci/kv/CMakeLists.txt\n"
        b"C:\\ci\\kv\\lib\\hash_table.cc(12,9): error C2065: 'totl': undeclared identifier"
        b" [C:\\ci\\kv\\kv.vcxproj]\n"
        b"..\\kv\\lib\\reader.cc(2): fatal error C1083: Cannot open include file: 'readr.h'\n"
        b"kv.lib(reader.obj) : error LNK2019: unresolved external symbol f\n"
    )
    assert errors(log, r"C:\ci\kv") == [
        ("lib/hash_table.cc", 12, "error C2065: 'totl': undeclared identifier")
    ]
    assert first_error(log, r"C:\ci\kv") == "lib/hash_table.cc:12: error C2065: 'totl': undeclared identifier"


@pytest.mark.parametrize(
    ("place", "path"),
    [
        ("lib/a.cc:3:5: ", "lib/a.cc"),
        ("./a(b).cc:3: ", "a(b).cc"),
        ("lib\\a.cc(3,5): ", "lib/a.cc"),
        ("12>a.cc(3) : ", "a.cc"),
        ("C:/x/a.cc:3: ", "a.cc"),
    ],
)
@pytest.mark.parametrize("number", ["", " C2440"])
def test_a_place_is_read_in_each_form(place: str, path: str, number: str) -> None:
    found = errors_in(f"{place}error{number}: no\n".encode(), "C:/x")
    assert found == (Finding(path, 3, f"error{number}: no"),)


@pytest.mark.parametrize(
    "line",
    [
        b"/src/lib/a.cc:3:5: warning: unused variable",
        b"/src/lib/a.cc:3:5: note: error: is only quoted",
        b"In file included from /src/lib/a.cc:3,",
        b"/src/lib/a.cc:3:5:   required from here",
        b"collect2: error: ld returned 1 exit status",
        b"make: *** [Makefile:3: all] Error 1",
        b"/usr/include/c++/12/bits/stl_algo.h:1938:50: error: no match",
        b"/src/build/limits.h:1:1: error: generated",
        b"build/limits.h:1:1: error: generated",
        b"/build/limits.h:1:1: error: generated",
        b"/srcs/a.cc:3:5: error: of a neighbour",
        b"../a.cc:3:5: error: above",
        b"/src/../etc/passwd:3:5: error: above",
        b"/src:3:5: error: a directory",
        b"//src/a.cc:3:5: error: elsewhere",
        b":3:5: error: no path",
        b"/src/:3:5: error: no file",
        b"a\x00b.cc:3:5: error: control",
        b"a\xe2\x80\xaeb.cc:3:5: error: reads as another",
        b"\xff.cc:3:5: error: not UTF-8",
        b"a.cc:0:5: error: line 0",
        b"a.cc:10000001:5: error: beyond any file",
        b"a.cc:99999999999999999999:5: error: beyond any number",
        b"a.cc:-1:5: error: negative",
        "a.cc:٣:5: error: a digit of another script".encode(),
    ],
)
def test_an_error_without_a_line_of_the_sources_is_no_finding(line: bytes) -> None:
    assert errors_in(line + b"\n" + BAD_LINE) == (BAD,)


def test_a_make_within_a_make_says_where_its_paths_begin() -> None:
    log = b"""\
make[1]: Entering directory '/src/lib'
make[2]: Entering directory '/src/lib/deep'
a.cc:1: error: deep
make[2]: Leaving directory '/src/lib/deep'
../b.cc:2: error: beside
make[1]: Leaving directory '/src/lib'
make[1]: Leaving directory '/src'
c.cc:3: error: at the top
ninja: Entering directory `build'
../d.cc:4: error: seen from the build
"""
    assert [each.path for each in errors_in(log)] == ["lib/deep/a.cc", "b.cc", "c.cc", "d.cc"]


def test_the_same_error_is_one_finding() -> None:
    assert errors_in(BAD_LINE * 3) == (BAD,)


def test_a_build_has_a_bounded_number_of_findings_of_bounded_length() -> None:
    log = b"".join(b"a.cc:%d: error: %s\n" % (line, b"x" * 1000) for line in range(1, 1000))
    found = errors_in(log)
    assert [each.line for each in found] == list(range(1, MOST + 1))
    assert {len(each.text) for each in found} == {300}


@pytest.mark.parametrize(
    "part",
    [
        b"error: ",
        b"a:",
        b"a:1:",
        b"a:1: error: ",
        b"a(1,",
        b"a(1): error ",
        b"1>",
        b"\x1b[0;",
        b"\x1b]8;;error: ",
        b"make[1]: Entering directory '",
        b" \t",
        b"\xff",
    ],
)
def test_a_hostile_line_of_megabytes_takes_no_longer_than_any(part: bytes) -> None:
    """Quadratic work on it would take hours."""
    begun = time.monotonic()
    line = part * (5_000_000 // len(part))
    assert BAD in errors_in(line + b"error: x\n" + BAD_LINE)
    assert time.monotonic() - begun < 5


@given(
    st.lists(
        st.sampled_from([b"a.cc", b":", b"3", b"(", b")", b" error: ", b"\n", b"x", b"\\", b"\xff"])
    ).map(b"".join)
)
def test_any_log_is_read(log: bytes) -> None:
    assert all(each.line > 0 and "error: " in each.text for each in errors_in(log))


def test_a_log_of_nothing_but_errors_elsewhere_is_given_up() -> None:
    begun = time.monotonic()
    assert errors_in(b"/usr/a.h:1: error: x\n" * 2_000_000 + BAD_LINE) == ()
    assert time.monotonic() - begun < 10


def test_directories_entered_without_end_cost_no_more_than_others() -> None:
    deeper = b"make[1]: Entering directory '" + b"d/" * 2000 + b"'\n"
    log = deeper * 100 + b"x:1: error: y\n" * 50_000
    started = time.process_time()

    assert all(len(each.path) <= 1000 for each in errors_in(log))
    assert time.process_time() - started < 5.0


@pytest.mark.parametrize(
    ("log", "error"),
    [
        (b"make\n" + BAD_LINE + BAD_LINE.replace(b"3", b"4"), "lib/a.cc:3: error: no such thing"),
        (b"cc x.c\n/usr/bin/ld: a.o: in function `f':\na.cc:(.text+0x5): undefined reference to `g'\n",
         "a.cc:(.text+0x5): undefined reference to `g'"),
        (b'CMake Error at CMakeLists.txt:4 (find_package):\n\n  Could not find "zstd"\n',
         'CMake Error at CMakeLists.txt:4 (find_package): Could not find "zstd"'),
        (b"make: *** No rule to make target 'x'.  Stop.\n", "make: *** No rule to make target 'x'. Stop."),
        (b"sh: 1: cmake: not found\n", "sh: 1: cmake: not found"),
        (b'..\\kv\\c.cc(700): error C2440: "=": no\n', '..\\kv\\c.cc(700): error C2440: "=": no'),
        (b"\x1b[31mmeson.build:1:0: ERROR: no compiler\x1b[0m\n", "meson.build:1:0: ERROR: no compiler"),
        (b"cc -Werror=unused x.c\n0 errors\n", None),
        (b"", None),
    ],
)  # fmt: skip
def test_the_first_error_of_a_log_is_one_line(log: bytes, error: str | None) -> None:
    assert first_error(log) == error


def test_an_error_in_the_projects_own_files_is_named_before_others() -> None:
    log = (SAMPLES / "gcc12_cmake_ninja.log").read_bytes()
    assert log.index(b"/build/limits.gen.h:1:23: error") < log.index(b"/src/lib/generated.cc:3:27: error")
    assert first_error(log) == "lib/generated.cc:3: error: expected ‘;’ before ‘}’ token"


def test_an_excerpt_has_the_first_error_and_the_last_lines() -> None:
    log = b"x\n" * 9000 + BAD_LINE + b"y\n" * 9000 + b"make: *** Error 2\n"
    cut = excerpt(log)

    assert cut.startswith(BAD_LINE.decode())
    assert cut.endswith("make: *** Error 2\n")
    assert len(cut) < 5000
    assert excerpt(b"short") == "short"


def test_an_excerpt_is_not_cut_in_the_middle_if_its_error_is_near_the_end() -> None:
    cut = excerpt(b"x\n" * 9000 + BAD_LINE + b"z\n")

    assert cut.endswith(f"{BAD_LINE.decode()}z\n")
    assert "[…]" not in cut
