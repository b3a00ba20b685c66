"""Catch2's XML: its benchmarks are read like Google Benchmark's."""

from __future__ import annotations

from pathlib import Path
from time import process_time

import pytest

from service.domain.measuring.formats.catch2 import read_catch2
from service.domain.measuring.formats.foreign import LARGEST, as_gbench
from service.domain.values.errors import BadResults
from tests.unit.domain.gbench_files import complaints, read

SAMPLES = Path(__file__).parents[4] / "samples" / "foreign"
VERSION_3 = (SAMPLES / "catch2_v3.xml").read_bytes()
VERSION_2 = (SAMPLES / "catch2_v2.xml").read_bytes()
ROOT = b'<Catch2TestRun name="x">%b</Catch2TestRun>'


def benchmark(name: str, mean: str, iterations: str = "15") -> bytes:
    head = f'<BenchmarkResults name="{name}" iterations="{iterations}">'
    return f'<TestCase name="t">{head}<mean value="{mean}"/></BenchmarkResults></TestCase>'.encode()


def test_a_name_has_the_test_case_and_its_sections() -> None:
    """A benchmark before two sections runs once with each of them."""
    assert [each.name for each in read_catch2(VERSION_3)] == [
        "containers/sum",
        "containers/small/push",
        "containers/sum #2",
        "containers/large/push",
    ]


def test_the_mean_is_the_time_of_an_iteration() -> None:
    found = read(as_gbench(read_catch2(VERSION_3), {"containers/small/push"}))

    (row,) = found.rows
    assert row.values == {"real_time": pytest.approx(221.45e-9), "cpu_time": pytest.approx(221.45e-9)}
    assert (row.iterations, complaints(found)) == (81, "")


def test_a_benchmark_that_failed_has_its_reason() -> None:
    found = read(as_gbench(read_catch2(VERSION_2), {"containers/sum", "containers/throws"}))

    assert {row.name: row.error for row in found.rows} == {
        "containers/sum": None,
        "containers/throws": "no such <file>",
    }


def test_a_filter_without_matches_gives_no_benchmarks() -> None:
    assert read_catch2(ROOT % b"<OverallResults/>") == ()


@pytest.mark.parametrize("mean", ["", "soon", "nan", "inf", "0", "-1", "1e999"])
def test_an_invalid_time_is_no_measurement(mean: str) -> None:
    found = read(as_gbench(read_catch2(ROOT % benchmark("a", mean)), {"t/a"}))

    assert found.rows == ()
    assert "real_time is not above 0" in found.lost["t/a"]


@pytest.mark.parametrize("iterations", ["", "0", "-3", "1.5", "9" * 30])
def test_an_invalid_number_of_iterations_counts_as_one(iterations: str) -> None:
    (found,) = read_catch2(ROOT % benchmark("a", "5", iterations))

    assert [each.iterations for each in found.repetitions] == [1]


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"", "it is empty"),
        (b"All tests passed", "line 1: it is not XML"),
        (VERSION_3[:-10], "it is not XML"),
        (b"<testsuites/>", "its root is 'testsuites', not Catch2TestRun"),
        (b'<!DOCTYPE x [<!ENTITY a "b">]><Catch2TestRun/>', "line 1: it has a document type"),
        (b'<?xml version="1.0" encoding="x-none"?><Catch2TestRun/>', "it is not XML|it cannot be decoded"),
        (b"<Catch2TestRun>" + b"<Section>" * 200, "it is nested more than 100 elements deep"),
        (ROOT % benchmark("a" * 2000, "5"), "has 2002 characters; at most 1024 are allowed"),
        (b" " * (LARGEST + 1), "bytes; at most"),
    ],
)
def test_a_file_that_cannot_be_used_is_one_error(data: bytes, sentence: str) -> None:
    with pytest.raises(BadResults, match=sentence):
        read_catch2(data)


def test_time_grows_with_size_only() -> None:
    begun = process_time()
    attributes = b" ".join(b'a%d="1"' % number for number in range(200_000))
    for hostile in (b"<TestCase/>" * 300_000, b"<TestCase " + attributes + b"/>", b"<!--" + b"-" * 3_000_000):
        with pytest.raises(BadResults):
            read_catch2(b"<Catch2TestRun>" + hostile)

    assert process_time() - begun < 10
