"""Read clang-tidy's output, from recordings."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.domain.building.findings import Finding
from service.domain.failures.failure import Failure, FailureKind
from service.domain.measuring.lint.clang_tidy import (
    TidyFinding,
    TidyOutput,
    error_failure,
    finding_failure,
    read_clang_tidy,
)
from service.domain.measuring.lint.diagnostics import Roots

SAMPLES = Path(__file__).parents[4] / "samples" / "linting"
NULLPTR = "modernize-use-nullptr"
DEREFERENCE = "clang-analyzer-core.NullDereference"


def read(sample: str) -> TidyOutput:
    return read_clang_tidy((SAMPLES / f"{sample}.txt").read_bytes())


def places(output: TidyOutput, check: str) -> list[tuple[str, int]]:
    return [(found.finding.path, found.finding.line) for found in output.findings if found.check == check]


def test_findings_have_their_checks() -> None:
    output = read("clang_tidy_14_warnings")

    assert places(output, NULLPTR) == [("a.cpp", 5), ("a.cpp", 7), ("a.cpp", 10), ("a.h", 3), ("b.h", 2)]
    assert places(output, DEREFERENCE) == [("a.cpp", 5), ("a.cpp", 7), ("a.h", 4)]
    assert places(output, "clang-diagnostic-unused-parameter") == [("a.cpp", 10)]
    assert (output.errors, output.faults) == ((), ())


def test_the_text_names_the_check() -> None:
    assert read("clang_tidy_14_warnings").findings[0].finding == Finding(
        "a.cpp",
        5,
        f"warning: Dereference of null pointer (loaded from variable 'q') [{DEREFERENCE}]",
    )


def test_a_header_that_two_units_include_is_reported_once() -> None:
    once = read("clang_tidy_14_warnings").findings
    line = b"/src/lib/../a.h:3:12: warning: use nullptr [modernize-use-nullptr]\n"
    twice = read_clang_tidy((SAMPLES / "clang_tidy_14_warnings.txt").read_bytes() + line).findings

    assert twice == once


def test_a_warning_that_the_project_treats_as_an_error_is_the_same_finding() -> None:
    output = read("clang_tidy_14_warnings_as_errors")

    assert places(output, NULLPTR) == [("a.h", 3)]
    assert set(output.findings) <= set(read("clang_tidy_14_warnings").findings)
    assert (output.errors, output.faults) == ((), ())


def test_colours_do_not_matter() -> None:
    output = read("run_clang_tidy_14_coloured")

    assert set(output.findings) <= set(read("clang_tidy_14_warnings").findings)
    assert places(output, NULLPTR) == places(read("clang_tidy_14_warnings"), NULLPTR)


def test_errors_of_the_compiler_in_the_sources_are_apart() -> None:
    output = read("clang_tidy_14_compile_errors")

    assert output.errors == (
        Finding("bad.cpp", 2, "error: use of undeclared identifier 'nope'"),
        Finding("broken.h", 1, "error: use of undeclared identifier 'alsono'"),
    )
    assert output.faults == ()


@pytest.mark.parametrize(
    ("sample", "faults"),
    [
        (
            "clang_tidy_14_unknown_argument",
            ("error: unknown argument: '-fno-canonical-system-headers' [clang-diagnostic-error]",),
        ),
        (
            "clang_tidy_14_missing_file",
            (
                "error: no input files [clang-diagnostic-error]",
                "error: no such file or directory: '/src/no.cpp' [clang-diagnostic-error]",
                (
                    "error: unable to handle compilation, expected exactly one compiler job in ''"
                    " [clang-diagnostic-error]"
                ),
            ),
        ),
        ("clang_tidy_14_no_database", ("Error while trying to load a compilation database:",)),
        (
            "clang_tidy_14_error_outside",
            ("/host/inc/outer.h:1:9: error: use of undeclared identifier 'outer' [clang-diagnostic-error]",),
        ),
    ],
)
def test_an_error_without_a_file_of_the_sources_is_a_fault(sample: str, faults: tuple[str, ...]) -> None:
    output = read(sample)

    assert output.faults == faults
    assert output.errors == ()


def test_an_error_in_the_settings_has_its_place() -> None:
    output = read("clang_tidy_14_bad_configuration")

    assert output.errors == (Finding(".clang-tidy", 2, "error: unknown key 'Foo'"),)
    assert output.faults == ("Error parsing /src/.clang-tidy: Invalid argument",)


def test_failures_have_a_place_and_a_headline_without_it() -> None:
    (error, _) = read("clang_tidy_14_compile_errors").errors
    settings = Finding(".clang-tidy", 2, "error: unknown key 'Foo'")
    found = TidyFinding(Finding("a.cc", 3, "warning: use nullptr [modernize-use-nullptr]"), NULLPTR)

    assert [finding_failure(found), error_failure(error), error_failure(settings)] == [
        Failure(
            FailureKind.LINT,
            "a.cc",
            "use nullptr [modernize-use-nullptr]",
            "a.cc:3: use nullptr [modernize-use-nullptr]",
            "a.cc:3",
        ),
        Failure(
            FailureKind.COMPILE,
            "bad.cpp",
            "error: use of undeclared identifier 'nope'",
            "Compile error at bad.cpp:2: error: use of undeclared identifier 'nope'",
            "bad.cpp:2",
        ),
        Failure(
            FailureKind.CONFIGURE,
            ".clang-tidy",
            "error: unknown key 'Foo'",
            ".clang-tidy:2: error: unknown key 'Foo'",
            ".clang-tidy:2",
        ),
    ]


def test_the_end_of_many_errors_is_no_fault() -> None:
    output = b"/src/a.cc:1:1: error: bad [clang-diagnostic-error]\n"
    last = b"error: too many errors emitted, stopping now [clang-diagnostic-error]\n"

    assert read_clang_tidy(output + last) == read_clang_tidy(output)


def test_notes_and_warnings_outside_the_sources_are_ignored() -> None:
    output = b"/src/a.cc:1:1: note: of type int [3]\n/usr/include/x.h:1:1: warning: odd [bugprone-odd]\n"

    assert read_clang_tidy(output) == TidyOutput((), (), ())


def test_a_message_of_several_checks_names_all_and_counts_as_the_first() -> None:
    (found,) = read_clang_tidy(b"/src/a.cc:1:1: warning: odd [bugprone-odd,cert-odd]\n").findings

    assert found.check == "bugprone-odd"
    assert found.finding.text == "warning: odd [bugprone-odd,cert-odd]"


def test_a_relative_path_begins_at_the_directory_of_the_compile_command() -> None:
    output = b"../lib/./a.cc:1:1: warning: odd [bugprone-odd]\n"
    (found,) = read_clang_tidy(output, Roots(directory="/src/build")).findings

    assert found.finding.path == "lib/a.cc"
    assert read_clang_tidy(output).findings == ()


@given(
    st.lists(st.tuples(st.sampled_from(["a.h", "./a.h", "/src/./a.h", "/src/b.cc"]), st.integers(1, 5))),
    st.randoms(),
)
def test_order_and_spelling_of_the_units_do_not_matter(units: list[tuple[str, int]], random: object) -> None:
    lines = [f"{path}:{line}:2: warning: odd [bugprone-odd]\nint x;\n ^\n" for path, line in units]
    output = read_clang_tidy("".join(lines).encode())
    random.shuffle(lines)  # type: ignore[attr-defined]

    assert read_clang_tidy("".join(lines * 2).encode()) == output
    assert {(found.finding.path, found.finding.line) for found in output.findings} == {
        (path.rpartition("/")[2], line) for path, line in units
    }


@given(st.binary(max_size=300))
@pytest.mark.parametrize("before", [b"", b"a.cc:1:1: warning: ", b"error: "])
def test_any_output_is_read(before: bytes, output: bytes) -> None:
    read_clang_tidy(before + output)


@pytest.mark.parametrize("line", [b"a:1:1: " * 600, b":1" * 100_000, b" [" * 100_000, b"\x1b[" * 100_000])
def test_the_time_is_linear_in_the_length(line: bytes) -> None:
    begun = time.process_time()
    read_clang_tidy(b"a.cc:1:1: warning: " + line + b"\n" + line)

    assert time.process_time() - begun < 2
