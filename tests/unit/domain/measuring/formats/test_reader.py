from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.domain.measuring.formats.reader import RunType
from tests.unit.domain.gbench_files import (
    REPEATED,
    SAMPLES,
    UNITS,
    complaints,
    counters,
    names,
    read,
    repetition_values,
    row,
    whole,
)

if TYPE_CHECKING:
    from pathlib import Path


class TestRecordedFiles:
    @pytest.mark.parametrize("path", sorted(SAMPLES.glob("*.json")), ids=lambda path: path.stem)
    def test_every_row_is_read(self, path: Path) -> None:
        run = read(path.read_bytes())

        assert names(run) == [each["name"] for each in json.loads(path.read_bytes())["benchmarks"]]
        assert not run.damage
        assert "left out" not in complaints(run)

    def test_times_are_seconds_whatever_the_unit(self) -> None:
        raw = [each for each in json.loads(REPEATED)["benchmarks"] if each["run_type"] == "iteration"]
        run = read(REPEATED)
        measured = [each for each in run.rows if each.run_type is RunType.ITERATION]

        assert {each["time_unit"] for each in raw} == {"ns", "us", "ms", "s"}
        assert [each.values.get("cpu_time", 0.0) for each in measured] == [
            each["cpu_time"] / UNITS[each["time_unit"]] for each in raw
        ]

    def test_repetitions_exclude_aggregates_and_failures(self) -> None:
        values = repetition_values(read(REPEATED), "real_time")

        assert "BM_error" not in values
        assert len(values["BM_push/512"]) == 3
        assert len(values["BM_error_once/iterations:100"]) == 2
        assert not [name for name in values if name.endswith(("_mean", "_cv", "_BigO", "_RMS"))]

    def test_rates_counters_and_threads_are_kept(self) -> None:
        run = read(REPEATED)
        push = run.rows[0]

        assert push.values["capacity"] == 512
        assert set(counters(push)) == {"bytes_per_second", "capacity", "items_per_second", "per_second"}
        assert len(repetition_values(run, "items_per_second")["BM_push/64"]) == 3
        assert {each.threads for each in run.rows if each.run_name.startswith("BM_spin")} == {1, 2}

    def test_an_error_keeps_its_message_on_one_line(self) -> None:
        failed = [each.error for each in read(REPEATED).rows if each.run_name == "BM_error"]

        assert failed == ["no such file second line"] * 3

    def test_a_share_is_not_scaled_by_the_time_unit(self) -> None:
        cv = next(each for each in read(REPEATED).rows if each.name == "BM_push/64_cv")

        assert 0.0001 < cv.values["cpu_time"] < 1

    def test_complexity_fits_are_aggregates_with_coefficients(self) -> None:
        rows = {each.name: each for each in read(REPEATED).rows}

        assert rows["BM_sum_BigO"].run_type is RunType.AGGREGATE
        assert set(rows["BM_sum_BigO"].values) == {"cpu_coefficient", "real_coefficient"}
        assert rows["BM_sum_RMS"].run_type is RunType.AGGREGATE

    def test_aggregates_alone_give_no_repetitions(self) -> None:
        run = read((SAMPLES / "v1.7.1_aggregates_only.json").read_bytes())

        assert run.rows
        assert not repetition_values(run, "cpu_time")

    def test_infinite_counters_are_dropped_but_not_their_rows(self) -> None:
        run = read(REPEATED)
        kept = next(each for each in run.rows if each.run_name == "BM_nan/iterations:1000")

        assert counters(kept) == {"fine": 1.0}
        assert "row 52: its counter 'huge' is not a finite number" in complaints(run)

    def test_the_used_part_of_the_context_is_kept(self) -> None:
        run = read(REPEATED)

        assert run.context.keys() == {"date"}
        assert all(warning.row is not None for warning in run.warnings)


class TestMemory:
    def test_byte_counts_of_earlier_repetitions_are_not_trusted_before_1_9_2(self) -> None:
        run = read((SAMPLES / "v1.7.1_memory.json").read_bytes())

        assert repetition_values(run, "max_bytes_used")["BM_push/64"] == (4096.0,)
        assert len(repetition_values(run, "allocs_per_iter")["BM_push/64"]) == 3

    def test_byte_counts_of_every_repetition_are_trusted_since_1_9_2(self) -> None:
        run = read((SAMPLES / "v1.9.4_repetitions.json").read_bytes())

        assert repetition_values(run, "max_bytes_used")["BM_push/64"] == (512.0, 520.0)

    @pytest.mark.parametrize(("version", "count"), [("v1.9.1", 0), ("1.10.0", 1), ("2.0.0-rc1", 1), ("?", 0)])
    def test_the_version_decides(self, version: str, count: int) -> None:
        run = read(whole(row(max_bytes_used=5), library_version=version))

        assert len(repetition_values(run, "max_bytes_used")) == count

    def test_a_context_behind_the_rows_counts_as_well(self) -> None:
        first = json.dumps(row(max_bytes_used=5))
        run = read(f'{{"benchmarks":[{first}],"context":{{"library_version":"v1.9.3"}}}}'.encode())

        assert counters(run.rows[0]) == {"max_bytes_used": 5.0}
        assert run.warnings == ()


class TestVersions:
    def test_rows_without_types_are_classified_by_their_names(self) -> None:
        run = read((SAMPLES / "v1.4.1_repetitions.json").read_bytes())

        assert repetition_values(run, "cpu_time") == {
            "BM_push/64": (1.0125e-07, 1.0175e-07),
            "BM_filter_mean": (3e-06,),
        }
        assert run.rows[2].aggregate_name == "mean"
        assert run.rows[2].run_name == "BM_push/64"

    def test_a_skip_is_not_an_error(self) -> None:
        rows = {each.name: each for each in read((SAMPLES / "v1.9.4_repetitions.json").read_bytes()).rows}

        assert rows["BM_avx512"].skipped == "this CPU has no AVX-512"
        assert rows["BM_avx512"].error is None
        assert rows["BM_open"].error == "no such file"
        assert not rows["BM_avx512"].is_measured

    def test_a_counter_may_have_the_name_of_a_text_of_the_library(self) -> None:
        run = read(whole(row(skipped=3.0, label=2)))

        assert run.rows[0].is_measured
        assert counters(run.rows[0]) == {"skipped": 3.0, "label": 2.0}


def test_ten_megabytes_are_read_whole() -> None:
    rows = [row(f"BM_{i}/64", label="vector" * 150, items_per_second=6.4e8) for i in range(9_500)]
    data = json.dumps({"context": {"a": 1}, "benchmarks": rows}).encode()

    assert len(data) > 10_000_000
    assert len(read(data).rows) == 9_500


FLOATS = st.floats(min_value=1e-3, max_value=1e15)
VISIBLE = st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1, max_size=30)


@given(
    rows=st.lists(
        st.tuples(VISIBLE, FLOATS, FLOATS, st.sampled_from(sorted(UNITS)), st.integers(1, 2**62), VISIBLE),
        max_size=20,
        unique_by=lambda each: each[0],
    ),
    indent=st.sampled_from([None, 2]),
)
def test_rows_of_an_intact_file_come_through_unchanged(
    rows: list[tuple[Any, ...]], indent: int | None
) -> None:
    entries = [
        row(name, real_time=real, cpu_time=cpu, time_unit=unit, iterations=iterations, label=label)
        for name, real, cpu, unit, iterations, label in rows
    ]
    run = read(json.dumps({"context": {"a": 1}, "benchmarks": entries}, indent=indent).encode())

    assert run.warnings == ()
    assert [(each.name, each.values, each.iterations) for each in run.rows] == [
        (name, {"real_time": real / UNITS[unit], "cpu_time": cpu / UNITS[unit]}, iterations)
        for name, real, cpu, unit, iterations, _ in rows
    ]
