"""Failures in logs: recorded ones, single lines, and hostile ones."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.domain.failures.failure import MOST, Failure, FailureKind
from service.domain.failures.output import patterns
from service.domain.failures.output.patterns import failures_in

SAMPLES = Path(__file__).parents[3] / "samples"
TEST, CRASH, TIMEOUT = FailureKind.TEST, FailureKind.CRASH, FailureKind.TIMEOUT
COMPILE, LINK, CONFIGURE = FailureKind.COMPILE, FailureKind.LINK, FailureKind.CONFIGURE
SANITIZER, MEMORY, COMMAND = FailureKind.SANITIZER, FailureKind.MEMORY, FailureKind.COMMAND
CONNECTION = "ep-engine_ep_unit_tests.PersistentAndEphemeral/ConnectionTest"
PASSIVE = "ep_testsuite_dcp.value_eviction.comp_passive"
DOTS = "............................"


def found(log: str | bytes, sources: str = "") -> list[Failure]:
    data = log.encode() if isinstance(log, str) else log
    return list(failures_in(data.splitlines(keepends=True), sources))


def ends(log: str | bytes) -> list[tuple[FailureKind, str, str]]:
    return [each.fault for each in found(log)]


def sample(*parts: str) -> bytes:
    return SAMPLES.joinpath(*parts).read_bytes()


def test_each_end_of_a_ctest_test_is_a_failure_of_its_kind() -> None:
    assert sorted(ends(sample("testing", "ctest_3.25.1_parallel.log"))) == sorted(
        [
            (TEST, "fixture", "Failed"),
            (TEST, "fails", "Failed"),
            (CRASH, "segv", "segmentation fault"),
            (CRASH, "aborts", "aborted"),
            (TEST, "no.such", "Not Run"),
            (TEST, "flaky", "Failed"),
            (TEST, "needs.fixture", "Not Run"),
            (TEST, "regex.fail", "Failed: Error regular expression found in output. Regex=[ERROR]"),
            (TIMEOUT, "times.out", "timeout"),
        ]
    )


def test_verbose_and_quiet_logs_of_ctest_name_the_same_failures() -> None:
    verbose, parallel, quiet = (
        {failure.subject: failure for failure in found(sample("testing", f"ctest_3.25.1_{mode}.log"))}
        for mode in ("verbose", "parallel", "output_on_failure")
    )
    assert {name: each.kind for name, each in verbose.items()} == {
        name: each.kind for name, each in parallel.items()
    }
    assert {name: each.headline for name, each in verbose.items() if name != "flaky"} == {
        name: each.headline for name, each in quiet.items()
    }
    assert verbose["fails"].headline == "Failed: a <b> & c ]]>; red bell"
    assert parallel["fails"].headline == "Failed", "it was run without --output-on-failure"


def test_a_test_that_passes_on_a_later_try_is_no_failure() -> None:
    log = sample("testing", "ctest_3.25.1_output_on_failure.log")
    assert "flaky" in log.decode()
    assert "flaky" not in {failure.subject for failure in found(log)}


def test_the_line_of_a_ctest_failure_is_that_of_ctest() -> None:
    [line] = [f.line for f in found(sample("testing", "ctest_3.25.1_parallel.log")) if f.subject == "fails"]
    assert line == f"Failure of a CTest test 3/14 Test  #2: fails {DOTS}***Failed    0.01 sec"


@pytest.mark.parametrize(
    ("line", "kind", "name"),
    [
        (
            f"Failure of a CTest test [2020-09-15T16:55:16.339Z] 170/409 Test #167: {CONNECTION} .......... ",
            TEST,
            CONNECTION,
        ),
        (
            "Failure of a CTest test  49/192 Test  #49: ep_testsuite_dcp.full_eviction.comp_active .....",
            TEST,
            "ep_testsuite_dcp.full_eviction.comp_active",
        ),
        (
            f"[2020-02-26T10:48:39.199Z]  49/198 Test  #49: {PASSIVE} ........***Failed   37.12 sec",
            TEST,
            PASSIVE,
        ),
        ("190/192 Test #189: cluster_test ....***Timeout 1500.07 sec", TIMEOUT, "cluster_test"),
        ("  2/3 Test #2: a b (c) ...Child aborted***Exception:   0.05 sec", CRASH, "a b (c)"),
    ],
)
def test_the_causes_of_other_servers_name_the_same_tests(line: str, kind: FailureKind, name: str) -> None:
    [failure] = found(line)
    assert (failure.kind, failure.subject) == (kind, name)
    assert failure.line.startswith("Failure of a CTest test ")


def test_the_compile_error_of_a_windows_build_has_place_and_code() -> None:
    line = (
        r"..\kv_engine\protocol\connection\client_connection.cc(700): error C2440: 'initializing': cannot "
        "convert from 'unsigned char *' to 'std::size_t'"
    )
    [failure] = found(line)

    assert failure == Failure(
        COMPILE,
        "kv_engine/protocol/connection/client_connection.cc",
        "error C2440: 'initializing': cannot convert from 'unsigned char *' to 'std::size_t'",
        f"Compile error at {line}",
        "kv_engine/protocol/connection/client_connection.cc:700",
    )
    assert found(f"Compile error at {line}") == [failure]


def test_the_assertions_of_googletest_are_failures_with_places() -> None:
    assert [
        (f.kind, f.subject, f.place, f.headline) for f in found(sample("testing", "gtest_1.12.1.txt"))
    ] == [
        (
            TEST,
            "A.Fails",
            "t.cpp:4",
            "Expected equality of these values: x; Which is: 3; 4; hint 0x7f12",
        ),
        (TEST, "A.Fails", "t.cpp:4", "second"),
        (
            TEST,
            "Typed/1.Is",
            "t.cpp:10",
            "Expected equality of these values: sizeof(TypeParam); Which is: 8; 4u; Which is: 4",
        ),
        (
            TEST,
            "Some/P.Even/0",
            "t.cpp:12",
            "Expected equality of these values: GetParam() % 2; Which is: 1; 0",
        ),
    ]


def test_a_program_that_ends_during_a_test_has_crashed_in_it() -> None:
    assert ends(sample("testing", "gtest_1.12.1_crash.txt"))[-1] == (
        *(CRASH, "C.Crashes", "the program ended during this test"),
    )


@pytest.mark.parametrize(
    ("name", "headline", "place"),
    [
        ("tsan", "ThreadSanitizer: data race: main (r.cpp), operator() (r.cpp)", "r.cpp:4"),
        ("asan", "AddressSanitizer: heap-buffer-overflow: main (o.cpp)", "o.cpp:2"),
        ("asan_segv", "AddressSanitizer: SEGV: main (s.cpp)", "s.cpp:1"),
        ("lsan", "LeakSanitizer: leak: main (l.cpp)", "l.cpp:2"),
        (
            "ubsan",
            "runtime error: signed integer overflow: 2147483647 + 1 cannot be represented in type 'int'",
            "u.cpp:1",
        ),
    ],
)
def test_a_report_of_a_sanitizer_is_its_kind_and_the_functions_of_the_project(
    name: str, headline: str, place: str
) -> None:
    [failure] = found(sample("failures", f"gcc12_{name}.log"))
    assert (failure.kind, failure.headline, failure.place) == (SANITIZER, headline, place)


@pytest.mark.parametrize(
    ("log", "expected"),
    [
        ("/src/lib/a.cc:3:5: error: no such thing", (COMPILE, "lib/a.cc", "error: no such thing")),
        ("/src/lib/a.cc:3: fatal error: b.h: No such file",
         (COMPILE, "lib/a.cc", "fatal error: b.h: No such file")),
        ("C:\\w\\workspace\\kv\\a.cc(7,12): error C2065: 'x'", (COMPILE, "a.cc", "error C2065: 'x'")),
        ("a.cc:4: undefined reference to `foo2()'", (LINK, "foo2()", "undefined reference")),
        ("ld.lld: error: undefined symbol: foo2()", (LINK, "foo2()", "undefined reference")),
        ('  "_foo", referenced from:', (LINK, "_foo", "undefined reference")),
        ("b.o: multiple definition of `x'; a.o: first defined here", (LINK, "x", "multiple definition")),
        ("/usr/bin/ld: cannot find -lzstd: No such file", (LINK, "-lzstd", "library not found")),
        (
            "a.obj : error LNK2019: unresolved external symbol f",
            (LINK, "", "error LNK2019: unresolved external symbol f"),
        ),
        (
            'CMake Error at cmake/x.cmake:4 (find_package):\n\n  Could not find\n  "zstd"\n\n\n',
            (CONFIGURE, "cmake/x.cmake", 'CMake Error (find_package): Could not find "zstd"'),
        ),
        ("CMake Error at x/a.cmake:4 (add_library):\n  Cannot find source file:\n\n    evict.cc\n\n  Tried",
         (CONFIGURE, "x/a.cmake", "CMake Error (add_library): Cannot find source file: evict.cc")),
        ("CMake Error: no generator\nmore", (CONFIGURE, "", "CMake Error: no generator")),
        ("meson.build:1:0: ERROR: no compiler", (CONFIGURE, "meson.build", "ERROR: no compiler")),
        (
            "make: *** No rule to make target 'x'.  Stop.",
            (COMPILE, "", "No rule to make target 'x'. Stop."),
        ),
        ("c++: fatal error: Killed signal terminated program cc1plus", (MEMORY, "cc1plus", "out of memory")),
        ("virtual memory exhausted: Cannot allocate memory", (MEMORY, "", "out of memory")),
        ("./run: line 3:  6167 Segmentation fault      (core dumped) ./s0 -x",
         (CRASH, "s0", "segmentation fault")),
        ("/src/run: line 3:  6167 Aborted      /src/build/s0 -x", (CRASH, "build/s0", "aborted")),
        ("Segmentation fault (core dumped)", (CRASH, "", "segmentation fault")),
        ("Aborted", (CRASH, "", "aborted")),
        ("prog: a.cc:12: void f(int): Assertion `x == 3' failed.",
         (CRASH, "prog", "Assertion x == 3 failed in a.cc")),
        ("F0224 16:13:57.042 123 a.cc:12] Check failed: x == y (3 vs. 4)",
         (CRASH, "a.cc", "Check failed: x == y in a.cc")),
        (
            "terminate called after throwing an instance of 'std::range_error'\n  what():  boom 42\nAborted",
            (CRASH, "", "terminate: std::range_error: boom 42"),
        ),
        (
            "terminate called after throwing an instance of 'std::bad_alloc'\n  what():  std::bad_alloc\n",
            (MEMORY, "", "out of memory"),
        ),
        ("double free or corruption (out)", (CRASH, "", "double free or corruption (out)")),
        ("Build timed out (after 60 minutes). Marking the build as aborted.", (TIMEOUT, "", "timeout")),
        ("ninja all: stopped after 600.0 s, the limit is 600 s", (TIMEOUT, "ninja all", "timeout")),
        ("tar: a.bin: Cannot write: No space left on device",
         (COMMAND, "", "tar: a.bin: Cannot write: No space left on device")),
        ("check.sh: exit code 2 (3.2 sec)", (COMMAND, "check.sh", "check.sh: exit code 2 (3.2 sec)")),
        ("Unhandled exception at 0x00007FF6A1B2C3D4 in q.exe: 0xC0000005: Access violation.",
         (CRASH, "q.exe", "Unhandled exception: 0xC0000005: Access violation.")),
        ("sh: 1: cmake: not found", (COMMAND, "", "cmake: not found")),
        ("make[1]: *** [Makefile:3: all] Error 1", (COMMAND, "all", "Error 1")),
        ("a.cpp:4:12: error: code should be clang-formatted [-Wclang-format-violations]",
         (FailureKind.FORMAT, "a.cpp", "error: code should be clang-formatted [-Wclang-format-violations]")),
        ("a.cpp:4:12: warning: use nullptr [modernize-use-nullptr]",
         (FailureKind.LINT, "a.cpp", "warning: use nullptr [modernize-use-nullptr]")),
    ],
)  # fmt: skip
def test_one_failure_is_found(log: str, expected: tuple[FailureKind, str, str]) -> None:
    assert ends(f"make\n{log}\n") == [expected]


@pytest.mark.parametrize(
    "log",
    [
        "",
        "[ 12%] Building CXX object a.cpp.o",
        "/src/a.cc:3:5: warning: unused variable 'x' [-Wunused-variable]",
        "/src/a.cc:3:5: note: error: is only quoted",
        "0 errors",
        "ThreadSanitizer: reported 1 warnings",
        "[       OK ] A.b (0 ms)",
        "1/1 Test #1: a ....   Passed    0.00 sec",
        "1/1 Test #1: a ....***Skipped   0.00 sec",
        "1/1 Test #1: a ....***Not Run (Disabled)   0.00 sec",
        "100% tests passed, 0 tests failed out of 9",
    ],
)
def test_a_harmless_line_is_no_failure(log: str) -> None:
    assert found(log) == []


def test_consequences_count_only_if_nothing_else_failed() -> None:
    first = "/src/a.cc:3:5: error: no such thing\n"
    assert [f.kind for f in found(first + "make: *** [Makefile:3: all] Error 1\n")] == [COMPILE]
    assert [
        f.kind for f in found("collect2: error: ld returned 1 exit status\nmake: *** [all] Error 1\n")
    ] == [LINK]


def test_a_second_program_that_crashes_is_a_failure_of_its_own() -> None:
    log = (
        "a: a.cc:1: f: Assertion `x' failed.\nAborted (core dumped)\nb: line 3: 7 Segmentation fault   ./b\n"
    )
    assert [(kind, subject) for kind, subject, _ in ends(log)] == [(CRASH, "a"), (CRASH, "b")]


def test_a_number_before_a_line_is_no_test_unless_ctest_began_it() -> None:
    assert ends("12: /src/a.cc:3:5: error: no\n") == [(COMPILE, "a.cc", "error: no")]


def test_the_same_failure_is_named_once() -> None:
    assert len(found("a.cc:1:1: error: x\n" * 3 + "a.cc:2:1: error: x\n")) == 1


@pytest.mark.parametrize("stamp", ["[2020-09-15T16:55:16.339Z]", "2020-09-15T16:55:16.339129Z 01O"])
def test_colours_and_stamps_of_servers_do_not_hide_a_failure(stamp: str) -> None:
    log = f"{stamp} \x1b[1m/src/a.cc:3:5: \x1b[31merror: \x1b[0mno\n"
    assert ends(log) == [(COMPILE, "a.cc", "error: no")]


def test_the_folder_of_the_sources_on_the_host_is_known() -> None:
    [failure] = found("/home/ann/kv/lib/a.cc:3:5: error: no", "/home/ann/kv/")
    assert failure.place == "lib/a.cc:3"


def test_one_failure_too_many_shows_that_the_list_is_cut() -> None:
    assert len(found("".join(f"a{n}.cc:1:1: error: x\n" for n in range(1000)))) == MOST + 1


def test_a_log_of_too_many_repeats_shows_that_its_end_was_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patterns, "_MOST_READ", 10)
    error = b"src/a.cc:1:2: error: no such thing"
    ends = [[each.headline for each in failures_in([error] * count)][1:] for count in (10, 11)]
    assert ends == [[], ["the log names too many failures to be read to its end"]]


def test_only_the_beginning_of_a_line_is_looked_at() -> None:
    assert found("x" * 4096 + " a.cc:1:1: error: x") == []
    [failure] = found("a.cc:1:1: error: " + "x" * 9000)
    assert len(failure.headline) <= 1000


def test_texts_of_a_failure_are_harmless() -> None:
    [failure] = found(b"a.cc:1:1: error: \xff\x07\xe2\x80\xae no\r\n")
    assert failure.headline == "error: \ufffd no"


HOSTILE = [
    *(
        "error: ",
        "a:",
        "a:1:",
        "a:1: error: ",
        "\x1b[0;",
        "\x1b]8;;error: ",
        "[  FAILED  ] ",
        " \t",
        "    #0 (",
    ),
    *(
        "<(",
        "Test #1: a ..",
        "SUMMARY: AddressSanitizer: ",
        "a(1): error C1: ",
        "undefined reference to `",
        "1: ",
    ),
    *(
        "CMake Error at ",
        "terminate called after throwing ",
        "what(): ",
        "Assertion `",
        "operator",
        "(anonymous",
    ),
]


@pytest.mark.parametrize("part", HOSTILE)
def test_a_hostile_line_of_a_megabyte_is_read_to_its_end(part: str) -> None:
    line = (part * ((1 << 20) // len(part))).encode()
    assert list(failures_in([line] * 20 + [b"/src/b.cc:1:1: error: last\n"]))[-1].kind in FailureKind


@given(st.lists(st.lists(st.sampled_from([*HOSTILE, "\n", "x", "#1", "12", ")", "***Failed"])).map("".join)))
def test_any_log_is_read(lines: list[str]) -> None:
    failures = found("\n".join(lines))
    assert len({f.fault for f in failures}) == len(failures) <= MOST + 1
    assert all(f.headline for f in failures)
