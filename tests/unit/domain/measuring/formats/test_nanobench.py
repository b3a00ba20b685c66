"""nanobench's JSON: found in standard output, and read like Google Benchmark's."""

from __future__ import annotations

import json
from pathlib import Path
from time import process_time
from typing import TYPE_CHECKING, Any

import pytest

from service.domain.measuring.formats.foreign import LARGEST, as_gbench
from service.domain.measuring.formats.nanobench import read_nanobench
from service.domain.values.errors import BadResults
from tests.unit.domain.gbench_files import complaints, counters, names, read

if TYPE_CHECKING:
    from service.domain.measuring.formats.reader import GBenchRun

TABLES = (Path(__file__).parents[4] / "samples" / "foreign" / "nanobench_tables.txt").read_bytes()
PRINTED = (Path(__file__).parents[4] / "samples" / "foreign" / "nanobench.txt").read_bytes()


def result(name: str = "a", *seconds: object, **other: object) -> dict[str, Any]:
    epochs = [{"iterations": 10, "elapsed": each} for each in seconds or (1e-6,)]
    return {"title": "benchmark", "name": name, "batch": 1, "measurements": epochs} | other


def document(*results: object) -> bytes:
    return json.dumps({"results": results}).encode()


def read_names(data: bytes) -> list[str]:
    return [each.name for each in read_nanobench(data)]


def rows(data: bytes, *chosen: str) -> GBenchRun:
    found = read_nanobench(data)
    return read(as_gbench(found, chosen or [each.name for each in found]))


def test_all_documents_between_other_lines_are_read() -> None:
    assert read_names(PRINTED) == ["sum", "sort/std/100", "sort/std/1000"]


def test_each_epoch_is_a_repetition_the_fastest_first() -> None:
    found = rows(PRINTED, "sum")

    assert [(row.repetition_index, row.iterations) for row in found.rows] == [(0, 1500), (1, 1480), (2, 1474)]
    assert [row.values["real_time"] for row in found.rows] == [6.94684e-07, 7.0451e-07, 7.18884e-07]
    assert complaints(found) == ""


def test_counters_of_the_machine_are_those_that_it_counts() -> None:
    found = rows(PRINTED, "sum").rows[0]

    assert counters(found) == {
        "items_per_second": 1 / 6.94684e-07,
        "cpucycles": 2190.0,
        "instructions": 4021.0,
    }


def test_the_batch_of_an_iteration_is_its_work() -> None:
    """So a patch that makes the batch smaller is not faster by that."""
    found = rows(PRINTED, "sort/std/1000").rows[0]

    assert found.values["items_per_second"] * found.values["cpu_time"] == pytest.approx(1000)


def test_only_requested_benchmarks_are_kept() -> None:
    assert names(rows(PRINTED, "sort/std/100", "none")) == ["sort/std/100"]


def test_only_the_fastest_epochs_are_kept() -> None:
    found = rows(document(result("a", *(1e-6 * k for k in range(1000, 0, -1)))))

    assert [row.values["real_time"] for row in found.rows] == [1e-6 * k for k in range(1, 21)]


def test_rewritten_results_count_once() -> None:
    """A program may render after each of its runs."""
    assert read_names(document(result("a")) + document(result("a"), result("b"))) == ["a", "b"]


def test_benchmarks_of_one_name_are_numbered() -> None:
    assert read_names(document(result("a", 1e-6), result("b"), result("a", 2e-6))) == ["a", "b", "a #2"]


def test_a_benchmark_without_a_time_has_an_error() -> None:
    found = rows(document(result("a", 0.0, "soon", "1")))

    assert [row.error for row in found.rows] == ["it reports no time"]


@pytest.mark.parametrize("printed", ["nan", "-nan", "inf", "-inf"])
def test_a_number_that_json_does_not_have_damages_nothing(printed: str) -> None:
    """nanobench prints them if the machine counts no instruction of a benchmark that is nearly empty."""
    error = b'"medianAbsolutePercentError(instructions)": '
    found = document(result("a", 1e-6) | {"error": 0}).replace(b'"error": 0', error + printed.encode())

    assert error + printed.encode() in found
    assert read_names(found) == ["a"]


def test_a_program_that_ran_nothing_has_no_benchmarks() -> None:
    assert read_nanobench(b'{"results": []}') == ()


def test_characters_that_cannot_be_shown_are_left_out_of_names() -> None:
    assert read_names(document(result("a\u202eb\n", title=" t "))) == ["t/ab"]


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"", "standard output has neither a table nor JSON of nanobench"),
        (
            b"| ns/op | op/s | err% | total | benchmark",
            "standard output has neither a table nor JSON of nanobench",
        ),
        (b'{"context": {}, "benchmarks": []}', "standard output has neither a table nor JSON of nanobench"),
        (document(result())[:-30], r"nanobench's JSON is damaged at character \d+"),
        (b'{"results": [' * 10_000, "nanobench's JSON is damaged"),
        (document(1), "has no name or no measurements"),
        (document({"name": 1, "measurements": []}), "has no name or no measurements"),
        (document(result(" ")), "a benchmark has no name"),
        (document(result("x" * 2000)), "has 2000 characters; at most 1024 are allowed"),
        (b" " * (LARGEST + 1), "bytes; at most"),
    ],
)
def test_output_that_cannot_be_used_is_one_error(data: bytes, sentence: str) -> None:
    with pytest.raises(BadResults, match=sentence):
        read_nanobench(data)


def test_rows_that_would_be_far_larger_than_the_file_are_refused() -> None:
    """Each row has the name of its benchmark: 4 MB would become 40."""
    results = [result(f"{number}{'x' * 1000}", *[1e-6] * 20) for number in range(1000)]
    with pytest.raises(BadResults, match="the names of its rows have 20057800 characters; at most"):
        read_nanobench(document(*results))


def test_time_grows_with_size_only() -> None:
    begun = process_time()
    for hostile in (
        b"{" + b" " * 4_000_000,
        b'{"results":' * 400_000,
        b'{"results": [1' + b",1" * 1_000_000,
        b'":' + b" " * 4_000_000,
    ):
        with pytest.raises(BadResults):
            read_nanobench(hostile)

    assert process_time() - begun < 10


def test_tables_are_read_if_there_is_no_json() -> None:
    assert read_names(TABLES) == [
        *("sum | odd `name`", "sort/std", "sort/heap"),
        *("complexity/loop/10", "complexity/loop/100", "slow/sleep"),
    ]


def test_a_table_gives_the_time_of_one_unit() -> None:
    """As precisely as it has it: the rate has more digits than a time of nanoseconds."""
    found = rows(TABLES, "sum | odd `name`", "slow/sleep").rows

    rates = [counters(row)["items_per_second"] for row in found]
    assert rates == [pytest.approx(615_533_248.70), pytest.approx(33.1, abs=0.2)]
    assert [row.values["real_time"] for row in found] == pytest.approx([1 / 615_533_248.70, 1 / rates[1]])


@pytest.mark.parametrize(
    ("line", "seconds"),
    [
        ("| 4,000,120,000.15 | 0.25 | 0.0% | 0.06 | `x` |", [4.00012000015]),
        ("|  inf | 0.00 | 0.0% | 0.06 | `x`", []),
        ("|  nan | nan | 0.0% | 0.06 | `x`", []),
        ("| 12.00 | - | 0.0% | 0.06 | `x`", [1.2e-8]),
    ],
)
def test_a_slow_or_unusable_rate_of_a_table_is_not_taken(line: str, seconds: list[float]) -> None:
    header = "| ns/op | op/s | err% | total | benchmark\n|---:|---:|---:|---:|:---\n"
    (found,) = read_nanobench((header + line).encode())

    assert [each.seconds for each in found.repetitions] == pytest.approx(seconds)


def test_a_failed_benchmark_of_a_table_has_its_error() -> None:
    header = "| ns/op | op/s | err% | total | title\n"
    failed = "| :boom: `x` (iterations overflow. Maybe your code got optimized away?)\n"
    (found,) = read_nanobench((header + failed).encode())

    assert (found.name, found.error) == (
        "title/x",
        "iterations overflow. Maybe your code got optimized away?",
    )


@pytest.mark.parametrize(
    "text",
    [
        "| ns/op | err% |\n| 1 | 2 | `x`",
        "| 1.00 | 2.00 | 0.0% | `x`",
        "| a | b |\n|---|---|\n| `c` | d |",
        "|",
        "",
    ],
)
def test_other_tables_are_none_of_nanobench(text: str) -> None:
    with pytest.raises(BadResults, match="neither a table nor JSON"):
        read_nanobench(text.encode())


def test_json_counts_beside_a_table_because_it_has_every_epoch() -> None:
    assert read_names(TABLES + document(result("a"))) == ["a"]


@pytest.mark.parametrize(
    "line",
    [
        "|" * 4_000_000,
        "| 1 | 2 | 3 | 4 | `" + "a``" * 1_000_000,
        "|x" * 2_000_000,
        "|" + "a/b|" * 1_000_000 + "err%|x",
    ],
)
def test_hostile_tables_take_linear_time(line: str) -> None:
    header = "| ns/op | op/s | err% | total | t" + "|x" * 100_000 + "\n"
    before = process_time()
    with pytest.raises(BadResults, match="neither a table nor JSON"):
        read_nanobench(f"{header}{line}\n| ns/op | op/s | err% | total | t\n{line}".encode())
    assert process_time() - before < 10
