"""Programs that are not Google Benchmark's, recognised by what they print."""

from __future__ import annotations

from time import process_time

import pytest

from service.domain.measuring.formats.program import ForeignProgram, recognise

CATCH2 = """
Error(s) in input:
  Unrecognised token: --benchmark_list_tests

Run with -? for usage
"""
NANOBENCH = """
|               ns/op |                op/s |    err% |     total | benchmark
|--------------------:|--------------------:|--------:|----------:|:----------
|              687.41 |        1,454,739.97 |    3.8% |      0.02 | `sum`
"""
COMPLEXITY = "| complexityN |  ns/item |  item/s |    err% |     total | sort\n"
COUNTERS = "| relative | ns/op | op/s | err% | ins/op | cyc/op | IPC | bra/op | miss% | total | my title\n"
DOCTEST = """[doctest] doctest version is "2.4.11"
[doctest] run with "--help" for options
"""
GOOGLE_TEST = """Running main() from gmock_main.cc
[==========] Running 5 tests from 2 test suites.
[----------] Global test environment set-up.
"""
DB_BENCH = "Invalid flag '--benchmark_list_tests=true'\n"


@pytest.mark.parametrize(
    ("printed", "expected"),
    [
        (CATCH2, ForeignProgram.CATCH2),
        ("Catch v2.13.10\n", ForeignProgram.CATCH2),
        (NANOBENCH, ForeignProgram.NANOBENCH),
        (COMPLEXITY, ForeignProgram.NANOBENCH),
        (COUNTERS, ForeignProgram.NANOBENCH),
        (DOCTEST, ForeignProgram.DOCTEST),
        (DOCTEST + NANOBENCH, ForeignProgram.NANOBENCH),
        (GOOGLE_TEST, ForeignProgram.GOOGLE_TEST),
        (DB_BENCH, ForeignProgram.REFUSES_FLAGS),
        (
            "error: unexpected argument '--benchmark_list_tests' found\n\nUsage: x [FILE]",
            ForeignProgram.REFUSES_FLAGS,
        ),
        ("Usage: ./realdata_benchmark DIRECTORY\n", ForeignProgram.WANTS_ARGUMENTS),
        ("reading twitter.json\nCould not open file twitter.json\n", ForeignProgram.MISSES_FILE),
        ("open: No such file or directory", ForeignProgram.MISSES_FILE),
        ("error while loading shared libraries: libx.so: cannot open shared object file: No such file", None),
        ("sh: 1: exec: valgrind: No such file or directory", None),
        ("Segmentation fault", None),
        ("BM_Sort/usage\nBM_Table| err% |", None),
        ("", None),
    ],
)
def test_a_programs_output_names_its_library_or_what_it_lacks(
    printed: str, expected: ForeignProgram | None
) -> None:
    assert recognise(printed) is expected


def test_the_end_of_a_long_output_is_read() -> None:
    assert recognise("progress …\n" * 100_000 + DB_BENCH) is ForeignProgram.REFUSES_FLAGS


def test_time_does_not_grow_with_the_output() -> None:
    begun = process_time()
    for hostile in ("| " * 10_000_000, "|" + " " * 10_000_000, "| err% " * 5_000_000, "#\n" * 10_000_000):
        recognise(hostile)

    assert process_time() - begun < 5
