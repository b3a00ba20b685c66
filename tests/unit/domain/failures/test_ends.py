"""Ends: what a linker, a compiler or a sanitizer says last is not known, because many faults end so."""

from __future__ import annotations

import pytest

from service.domain.failures.configured import ConfiguredPattern
from service.domain.failures.failure import Failure, FailureKind
from service.domain.failures.output.ends import KnownBy, is_specific, known_by
from service.domain.failures.output.linear import Pattern
from service.domain.failures.output.patterns import failures_in

MISSING = "a.o: undefined reference to `f()'"
OF_LINKERS = (
    "collect2: error: ld returned 1 exit status",
    "clang: error: linker command failed with exit code 1 (use -v to see invocation)",
    "clang++-14: error: linker command failed due to signal (use -v to see invocation)",
    "lto-wrapper: fatal error: g++ returned 1 exit status",
    "ld: symbol(s) not found for architecture arm64",
    "ld: final link failed: bad value",
    "x.obj : fatal error LNK1120: 3 unresolved externals",
)
OF_SANITIZERS = (
    "SUMMARY: AddressSanitizer: SEGV",
    "SUMMARY: AddressSanitizer: heap-use-after-free (/src/prog+0x12)",
    "SUMMARY: AddressSanitizer: 10 byte(s) leaked in 1 allocation(s).",
    "SUMMARY: ThreadSanitizer: data race",
    "==7==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x602 at pc 0x55\n==7==ABORTING",
)
LAST_LINES = (
    "1 error generated.",
    "2 warnings and 12 errors generated.",
    "compilation terminated.",
    "==7==ABORTING",
)
OTHERS = (
    "cc1plus: all warnings being treated as errors",
    "-- Configuring incomplete, errors occurred!",
    "make: *** [all] Error 2",
    "ninja: build stopped: subcommand failed.",
    "ld.lld: error: too many errors emitted, stopping now (use --error-limit=0 to see all errors)",
)
FAILED = "1/1 Test #1: store ....***Failed 0.1 sec\nreplica 2 is wrong\n\n0% tests passed, \n"
COMPILE = "/src/a.cc:3:4: error: no x"
MSBUILD = "Microsoft.CppCommon.targets(155,5): error {} [C:\\b\\{}.vcxproj]"
CL = MSBUILD.format('MSB6006: "CL.exe" exited with code 2.', "x")
STEP = MSBUILD.format('MSB3073: The command "setlocal" exited with code 1.', "x")
CTEST = MSBUILD.format('MSB3073: The command "setlocal" exited with code 8.', "RUN_TESTS")
CRASHES = (
    "clang: error: unable to execute command: Segmentation fault (core dumped)",
    "clang: error: clang frontend command failed with exit code 139 (use -v to see invocation)",
    "g++: fatal error: Segmentation fault signal terminated program cc1plus",
    MSBUILD.format('MSB6006: "CL.exe" exited with code -1073741819.', "x"),
)


def found(log: str) -> list[Failure]:
    return list(failures_in(log.encode().splitlines()))


@pytest.mark.parametrize("log", [*OF_LINKERS, *OF_SANITIZERS, *OTHERS, *CRASHES, CL, STEP])
def test_a_lone_end_is_a_failure_that_does_not_say_what_failed(log: str) -> None:
    [failure] = found(log)
    assert not is_specific(failure)


@pytest.mark.parametrize("log", LAST_LINES)
def test_the_lines_behind_it_are_no_failures(log: str) -> None:
    assert found(log) == []


@pytest.mark.parametrize("end", OF_LINKERS)
def test_the_end_of_a_linker_beside_its_error_is_left_out(end: str) -> None:
    """As a failure of its own that nobody can make known, it would make the build count."""
    [failure] = found(f"{MISSING}\n{end}\n")
    assert failure.subject == "f()"


@pytest.mark.parametrize(
    ("failure", "end"),
    [
        *((each, end) for each in (COMPILE, FAILED) for end in OF_LINKERS),
        *((each, end) for each in (MISSING, FAILED) for end in (OTHERS[0], CL)),
        *((each, OTHERS[1]) for each in (COMPILE, FAILED)),
        *((each, end) for each in (COMPILE, MISSING, FAILED) for end in (*CRASHES, STEP)),
        (COMPILE, CTEST),
    ],
)
def test_the_end_of_a_tool_beside_failures_of_others_stays(failure: str, end: str) -> None:
    """Nobody knows what the tool reported, so no known failure of another one may waive the build."""
    for log in (f"ld: unrecognized option\n{end}\n{failure}\n", f"{failure}\nld: unrecognized\n{end}\n"):
        assert sorted(is_specific(each) for each in found(log)) == [False, True]


@pytest.mark.parametrize(
    ("failure", "end"),
    [
        (COMPILE, OTHERS[0]),
        (COMPILE, CL),
        (MISSING, MSBUILD.format('MSB6006: "link.exe" exited with code 1120.', "x")),
        ("CMake Error at CMakeLists.txt:3 (x):\n  no y\n", OTHERS[1]),
        (FAILED, CTEST),
        ("clang: error: unable to execute command: Killed", OF_LINKERS[2]),
        *((FAILED, end) for end in OTHERS[2:4]),
    ],
)
def test_the_end_of_a_tool_beside_its_own_failure_is_left_out(failure: str, end: str) -> None:
    [left] = found(f"{failure}\n{end}\n")
    assert end not in left.line


def test_a_line_that_may_name_the_fault_stays_before_the_end_of_a_tool() -> None:
    log = f"ld: out.o: No space left on device\n{OF_LINKERS[0]}\nmake: *** [all] Error 1\n"
    assert [failure.line for failure in found(log)] == [
        "ld: out.o: No space left on device",
        f"Linker error: {OF_LINKERS[0]}",
    ]
    log = f"make[1]: *** [all] Error 1\n{OF_LINKERS[0]}\n"
    assert [failure.line for failure in found(log)] == [f"Linker error: {OF_LINKERS[0]}"]


def test_a_linker_that_omits_errors_is_reported_beside_them() -> None:
    assert [is_specific(failure) for failure in found(f"{MISSING}\n{OTHERS[-1]}\n")] == [True, False]


@pytest.mark.parametrize("report", OF_SANITIZERS)
def test_a_report_without_a_function_stays_beside_another_one(report: str) -> None:
    log = f"/src/a.cc:3:4: runtime error: signed integer overflow\n{report}\n"
    assert [is_specific(failure) for failure in found(log)] == [True, False]


@pytest.mark.parametrize(
    "log",
    [
        MISSING,
        "SUMMARY: ThreadSanitizer: data race /src/a.cc:3 in f",
        "SUMMARY: AddressSanitizer: SEGV (/src/prog+0x12) in f",
        "SUMMARY: AddressSanitizer: SEGV /src/a.cc:3",
        "FATAL: ThreadSanitizer: unexpected memory mapping 0x55-0x66",
        "/src/a.cc:3:4: runtime error: signed integer overflow",
        "a.cc:1:2: error: no x\n1 error generated.",
        "LINK : fatal error LNK1181: cannot open input file 'x.lib'",
        "/usr/bin/ld: cannot find -lz",
    ],
)
def test_a_failure_that_names_its_place_is_no_end(log: str) -> None:
    [failure] = found(log)
    assert is_specific(failure)


def test_a_test_that_runs_a_linker_is_no_end() -> None:
    assert is_specific(Failure(FailureKind.TEST, "tools", "linker failed"))


@pytest.mark.parametrize(
    "line",
    [*LAST_LINES, *OF_LINKERS[:2], *OF_SANITIZERS[:4], *OTHERS[:4], "make[1]: *** [m:3: a] Error 1", CL],
)
def test_neither_an_operator_nor_the_end_of_a_command_makes_it_more(line: str) -> None:
    configured = ConfiguredPattern("ended", Pattern("^.+$")).failure_in(line.encode())
    assert configured
    assert not is_specific(configured)
    command = f"nightly ended with exit code 1: {line}"
    assert known_by(Failure(FailureKind.COMMAND, "nightly", "exit code 1", command)) is KnownBy.NOTHING


@pytest.mark.parametrize(
    "line", ["fatal: device a is lost", "SUMMARY: AddressSanitizer: SEGV /src/a.cc:3 in f"]
)
def test_a_line_that_names_the_fault_is_more_than_an_end(line: str) -> None:
    configured = ConfiguredPattern("lost", Pattern("^.+$")).failure_in(line.encode())
    assert configured
    assert is_specific(configured)
    command = f"nightly ended with exit code 1: {line}"
    assert known_by(Failure(FailureKind.COMMAND, "nightly", "exit code 1", command)) is KnownBy.LINE


def test_a_warning_that_visual_studio_only_announces_is_no_cause() -> None:
    """Each warning is announced by the same line."""
    [failure] = found("a.cpp(7): error C2220: the following warning is treated as an error\n")
    assert not is_specific(failure)
