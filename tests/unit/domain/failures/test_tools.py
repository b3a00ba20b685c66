"""Errors of compilers, linkers, build tools and test frameworks, one line each."""

from __future__ import annotations

import pytest

from service.domain.failures.failure import FailureKind
from service.domain.failures.output.patterns import failures_in
from service.domain.failures.signature import signature_of

COMPILE, LINK, CONFIGURE = FailureKind.COMPILE, FailureKind.LINK, FailureKind.CONFIGURE
TEST, CRASH, MEMORY = FailureKind.TEST, FailureKind.CRASH, FailureKind.MEMORY
TIMEOUT, COMMAND = FailureKind.TIMEOUT, FailureKind.COMMAND
LINES = [
    ("ld.lld: error: undefined hidden symbol: f()", LINK, "f()", "undefined reference"),
    ("/usr/bin/ld: y.so: undefined reference to symbol 'f@@V2'", LINK, "f@@V2", "undefined reference"),
    ("/usr/bin/ld: cannot find libx.a: No such file or directory", LINK, "libx.a", "library not found"),
    ("make: *** [Makefile:3: check] Segmentation fault (core dumped)", COMMAND, "check",
     "Segmentation fault"),
    ("Assertion failed: x == 3 (/src/a.cc: f: 12)", CRASH, "a.cc", "Assertion x == 3 failed in a.cc"),
    ('/src/a.cc:12: void f(int): assertion "x == 3" failed', CRASH, "a.cc",
     "Assertion x == 3 failed in a.cc"),
    ('assertion "x == 3" failed: file "/src/a.cc", line 12, function: f', CRASH, "a.cc",
     "Assertion x == 3 failed in a.cc"),
    ("wasm-ld: error: cannot open a.o: No such file", LINK, "", "cannot open a.o: No such file"),
    ("ld.lld: error: cannot open a.o: No such file or directory", LINK, "",
     "cannot open a.o: No such file or directory"),
    ("/usr/bin/ld: libx.so: error adding symbols: DSO missing from command line", LINK, "",
     "libx.so: error adding symbols: DSO missing from command line"),
    ("/usr/bin/ld: a.o: file not recognized: file format not recognized", LINK, "",
     "a.o: file not recognized: file format not recognized"),
    ("ld: symbol(s) not found for architecture arm64", LINK, "", "linker failed"),
    ("lto1: fatal error: bytecode stream in file 'x.o'", LINK, "", "bytecode stream in file 'x.o'"),
    ("/src/a.s:12: Error: no such instruction: `f'", COMPILE, "a.s", "Error: no such instruction: `f'"),
    ("a.cc(3,5): error: no member named 'x'", COMPILE, "a.cc", "error: no member named 'x'"),
    ("a.cc(3): error : no member named 'x'", COMPILE, "a.cc", "error : no member named 'x'"),
    ('"a.cu", line 3: error: identifier "x" is undefined', COMPILE, "a.cu",
     'error: identifier "x" is undefined'),
    ("cl : fatal error C1001: internal error", COMPILE, "", "fatal error C1001: internal error"),
    ("MSBUILD : error MSB1009: no project", COMPILE, "", "error MSB1009: no project"),
    ("<command-line>: fatal error: x.h: No such file", COMPILE, "", "fatal error: x.h: No such file"),
    ("cc1plus: all warnings being treated as errors", COMPILE, "", "all warnings being treated as errors"),
    ("g++: internal compiler error: Killed (program cc1plus)", MEMORY, "cc1plus", "out of memory"),
    ("clang: error: unable to execute command: Killed", MEMORY, "", "out of memory"),
    ("collect2: fatal error: ld terminated with signal 9 [Killed]", MEMORY, "", "out of memory"),
    ("/usr/bin/ld: final link failed: memory exhausted", MEMORY, "", "out of memory"),
    ("fatal error C1076: compiler limit: internal heap limit reached", MEMORY, "", "out of memory"),
    ("ERROR: Job failed: execution took longer than 1h0m0s seconds", TIMEOUT, "", "timeout"),
    ("corrupted double-linked list", CRASH, "", "corrupted double-linked list"),
    ("Fatal glibc error: malloc.c:4 (f): assertion failed: x", CRASH, "", "(f): assertion failed: x"),
    ("[1]    12 segmentation fault (core dumped)  ./x", CRASH, "x", "segmentation fault"),
    ("configure: error: C compiler cannot create executables", CONFIGURE, "",
     "error: C compiler cannot create executables"),
    ("ninja: error: loading 'build.ninja': No such file", COMMAND, "",
     "error: loading 'build.ninja': No such file"),
    ("error: unable to open output file 'x.o'", COMMAND, "", "error: unable to open output file 'x.o'"),
    ("ModuleNotFoundError: No module named 'x'", COMMAND, "", "ModuleNotFoundError: No module named 'x'"),
    ("./x: error while loading shared libraries: libx.so.1: no", COMMAND, "x",
     "error while loading shared libraries: libx.so.1: no"),
    ('a.cc(3): error: in "suite/case": check x == 3 has failed', TEST, "suite/case",
     "check x == 3 has failed"),
    ("a.cc:3: ERROR: CHECK( x == 3 ) is NOT correct!", TEST, "", "CHECK( x == 3 )"),
    ("  REQUIRE( x == 3 )", TEST, "", "REQUIRE( x == 3 )"),
    ("FAILED tests/test_a.py::test_b - assert 1 == 2", TEST, "tests/test_a.py::test_b",
     "Failed: assert 1 == 2"),
    ("FAIL: test_b (a.A)", TEST, "a.A.test_b", "Failed"),
    ("FAIL: tests/a.sh (exit status: 1)", TEST, "tests/a.sh", "Failed"),
    ("not ok 3 - the ring wraps", TEST, "the ring wraps", "Failed"),
]  # fmt: skip
CONNECTIONS = [
    "connect to 127.0.0.1:11210: Connection refused",
    "connect to 127.0.0.1:11210: Connection timed out",
    "connect to 127.0.0.1:11210: Connection reset by peer",
    "connect to 127.0.0.1:11210: No route to host",
    "connect to 127.0.0.1:11210: Network is unreachable",
    "bind to 127.0.0.1:11210: Address already in use",
    "send to 127.0.0.1:11210: Broken pipe",
    "ping: node1: Name or service not known",
    "ssh: Could not resolve hostname node1: Temporary failure in name resolution",
    "fatal: unable to access 'https://git/x/': Could not resolve host: git",
    "connect() to port 11210 failed with error code 10060",
    "connect() to port 11210 failed with error code 10061",
    "WSAStartup failed with error: 10107",
    "CoCreateInstance failed with error 0x80040154",
    "ValueError: no such mode",
    "subprocess.CalledProcessError: Command 'x' returned non-zero exit status 1.",
]


@pytest.mark.parametrize(("line", "kind", "subject", "headline"), LINES, ids=[line for line, *_ in LINES])
def test_a_line_is_a_failure_of_its_kind(line: str, kind: FailureKind, subject: str, headline: str) -> None:
    [failure] = failures_in([line.encode()])
    assert failure.fault == (kind, subject, headline)


@pytest.mark.parametrize(
    "line",
    [
        "not ok 3 - later # TODO not written yet",
        "ok 3 - the ring wraps",
        "# FAIL:  1",
        "FAIL: 3",
        "0 errors, 0 warnings",
        "/usr/bin/ld: warning: a.o: missing .note.GNU-stack section",
        "checking for error: no",
        "    CHECK( x == 3 )  // a comment of a source",
        "/usr/bin/ld: warning: cannot find entry symbol _start; defaulting to 0000000000401000",
        "Connection refused by the mock, as expected",
        "connect to 127.0.0.1:11210: Connection refused, trying again",
        "stop failed with error code 0",
        "stop failed with error 0x00000000",
        "    raise ValueError: no such mode",
        "0 Errors: none",
    ],
)
def test_a_line_that_only_looks_like_an_error_is_none(line: str) -> None:
    assert list(failures_in([line.encode()])) == []


def test_an_assertion_of_googletest_outside_of_a_test_is_a_failure() -> None:
    """The set-up of a suite runs before its first test."""
    log = b"[----------] 2 tests from A\nt.cpp:4: Failure\nExpected: (x) < (3), actual: 4 vs 3\n\n"
    log += b"[ RUN      ] A.a\n[       OK ] A.a (0 ms)\n"
    assert [(each.kind, each.headline, each.place) for each in failures_in(log.splitlines())] == [
        (TEST, "Expected: (x) < (3), actual: 4 vs 3", "t.cpp:4")
    ]


@pytest.mark.parametrize(
    "reason",
    [
        "SEH exception with code 0xc0000005 thrown in the test body.",
        "SEH exception with code 0xc00000fd thrown in the test body.",
        'C++ exception with description "no" thrown in the test body.',
    ],
)
@pytest.mark.parametrize("opening", ["unknown file: error: ", "unknown file: Failure\n"])
def test_an_exception_in_a_test_is_its_reason_on_all_systems(opening: str, reason: str) -> None:
    log = f"[ RUN      ] A.a\n{opening}{reason}\n[  FAILED  ] A.a (0 ms)\n"
    assert [each.fault for each in failures_in(log.encode().splitlines())] == [(TEST, "A.a", reason)]


def test_a_test_that_prints_the_line_of_another_framework_keeps_its_name() -> None:
    """Two tests may print the same words."""
    log = b"1/2 Test #1: unit ....***Failed 0.1 sec\nFAIL: tests/a.sh\nnot ok 3 - x\n"
    assert [(each.kind, each.subject) for each in failures_in(log.splitlines())] == [(TEST, "unit")]


@pytest.mark.parametrize("line", CONNECTIONS)
def test_a_commands_reason_is_its_failure_if_there_is_no_other(line: str) -> None:
    [failure] = failures_in([line.encode(), b"make: *** [all] Error 1"])
    assert failure.fault == (COMMAND, "", line)
    [failure] = failures_in([line.encode(), b"/src/a.cc:3:5: error: no"])
    assert failure.kind is COMPILE


def test_two_reasons_of_commands_never_fall_together() -> None:
    found = [failure for line in CONNECTIONS for failure in failures_in([line.encode()])]
    assert len({signature_of(failure).digest for failure in found}) == len(CONNECTIONS)


@pytest.mark.parametrize("line", [line for line in CONNECTIONS if "11210" in line])
def test_the_address_of_a_connection_does_not_matter(line: str) -> None:
    other = line.replace("127.0.0.1:11210", "[::1]:9000").replace("11210", "8091")
    assert digests(line) == digests(other)


def digests(line: str) -> list[bytes]:
    return [signature_of(failure).digest for failure in failures_in([line.encode()])]
