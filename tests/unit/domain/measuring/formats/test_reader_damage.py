from __future__ import annotations

import json
import math
from time import process_time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from service.domain.values.errors import BadResults
from tests.unit.domain.gbench_files import (
    REPEATED,
    complaints,
    counters,
    names,
    read,
    repetition_values,
    row,
    whole,
)

HOSTILE_NAMES = (
    "<img src=x onerror=alert(1)>",
    '<a href="https://evil">BM_x</a>',
    "BM_Map<std::string, int>/8",
    "=HYPERLINK(...)",
    "${7*7}{{7*7}}",
    "../../etc/passwd",
    "emoji \N{FIRE}/8",
)
CONSOLE = b"""\
2026-11-22T18:31:05+00:00
Run on (2 X 2500 MHz CPU s)
-----------------------------------------------------
Benchmark           Time             CPU   Iterations
-----------------------------------------------------
BM_Work           100 ns          100 ns      7000000
"""


class TestUnusableFiles:
    @pytest.mark.parametrize(
        ("data", "sentence"),
        [
            (b"", "it is empty"),
            (b"\xef\xbb\xbf \n", "it is empty"),
            (b"Run on (2 X 2500 MHz CPU s)", "not a JSON object"),
            (CONSOLE, "run the program with --benchmark_out=FILE, or with --benchmark_format=json"),
            (b"name,iterations,real_time,cpu_time,time_unit\n", "with --benchmark_format=json"),
            (b"[" * 100_000, "not a JSON object"),
            (b'{"a":' * 100_000, "no benchmarks"),
            (b"{}", "no benchmarks"),
            (b'{"context": {"date": "20', "at byte 21 .unterminated string .*no benchmarks"),
            (b'{"context": {"a": "b"c"}, "benchmarks": [{}]}', "at byte 21 .* no benchmarks"),
            (b'{"benchmarks": {}}', "not a list"),
            ('{"benchmarks": []}'.encode("utf-16"), "UTF-16"),
            ('{"benchmarks": []}'.encode("utf-16-le"), "UTF-16"),
        ],
    )
    def test_they_are_refused_by_name(self, data: bytes, sentence: str) -> None:
        with pytest.raises(BadResults, match=f"^out.json: .*{sentence}"):
            read(data)

    def test_a_file_beyond_the_limit_is_not_read(self) -> None:
        with pytest.raises(BadResults, match="at most 100 are read"):
            read(whole(row()), max_bytes=100)


class TestBadRows:
    @pytest.mark.parametrize(
        "bad",
        [
            "null",
            "[1, 2]",
            "17",
            "{}",
            row(None),
            row(["BM_b"]),
            row(""),
            row("BM_b", run_type="other"),
            row("BM_b", real_time=...),
            row("BM_b", real_time="1"),
            row("BM_b", real_time=True),
            row("BM_b", real_time=0),
            row("BM_b", cpu_time=-1.0),
            row("BM_b", cpu_time=math.nan),
            row("BM_b", cpu_time=math.inf),
            json.dumps(row("BM_b")).replace("120.0", "1e999"),
            json.dumps(row("BM_b")).replace("120.0", "9" * 100_000),
            row("BM_b", iterations=...),
            row("BM_b", iterations=1.5),
            json.dumps(row("BM_b")).replace("1000", "9" * 100_000),
            row("BM_b", time_unit="h"),
            row("BM_b", time_unit=["ns"]),
            row("BM_b", threads=0),
            row("BM_b", repetition_index="0"),
            row("BM_b", error_occurred="yes"),
            row("BM_" + "b" * 102_400),
        ],
        ids=lambda bad: str(bad)[:90],
    )
    def test_one_is_left_out_and_named_while_the_rest_is_read(self, bad: object) -> None:
        run = read(whole(row("BM_a"), bad, row("BM_c"), row("BM_d")))

        assert names(run) == ["BM_a", "BM_c", "BM_d"]
        assert complaints(run).startswith("out.json: row 1: left out: ")
        assert len(complaints(run)) < 200
        assert not run.damage

    @pytest.mark.parametrize("value", ["NaN", "-Infinity", "1e999", "9" * 100_000, '"x"', "{}", "true"])
    def test_a_bad_counter_is_dropped_alone(self, value: str) -> None:
        run = read(whole(json.dumps(row(good=1.0, bad=0)).replace('"bad": 0', f'"bad": {value}')))

        assert counters(run.rows[0]) == {"good": 1.0}
        assert "row 0: its" in complaints(run)

    def test_the_first_of_two_rows_with_one_name_and_repetition_is_kept(self) -> None:
        run = read(whole(row(cpu_time=1.0), row(cpu_time=2.0), row(cpu_time=3.0, repetition_index=1)))

        assert repetition_values(run, "cpu_time") == {"BM_a": (1e-9, 3e-9)}
        assert "row 1: left out: 'BM_a' is given twice for repetition 0" in complaints(run)

    def test_the_first_of_two_values_of_one_key_is_used(self) -> None:
        run = read(
            whole(json.dumps(row()).replace('"threads"', '"real_time": 7.0, "real_time": 8.0, "threads"'))
        )

        assert run.rows[0].values["real_time"] == 7e-9
        assert "row 0: keys given twice, the first value is used: 'real_time'" in complaints(run)

    def test_warnings_are_capped_and_counted(self) -> None:
        run = read(whole(*["{}"] * 500)[:-1], warnings=10)

        assert [warning.row for warning in run.warnings] == [None, *range(10)]
        assert run.warnings_left_out == 490

    def test_rows_beyond_the_limit_are_not_read(self) -> None:
        run = read(whole(*[row(f"BM_{i}") for i in range(9)]), rows=4)

        assert len(run.rows) == 4
        assert "more than 4 rows" in complaints(run)

    @pytest.mark.parametrize(
        "bad",
        ["{}", "[]", '{"name": "a"}', '{"name": {"name": {}}}', '{"name": "a", "name": "a"}', "9" * 5000],
    )
    @pytest.mark.parametrize("end", ["", '{"name": "a'])
    def test_many_bad_rows_take_linear_time(self, bad: str, end: str) -> None:
        data = whole(*[bad] * 10_000, row("BM_last"), end)

        started = process_time()  # other load on the machine does not count
        read(data)

        assert process_time() - started < 2.5  # quadratic time would be half a minute


class TestTexts:
    @pytest.mark.parametrize("name", HOSTILE_NAMES)
    def test_markup_is_data(self, name: str) -> None:
        run = read(whole(row(name)))

        assert run.rows[0].name == name
        assert run.warnings == ()

    @pytest.mark.parametrize(
        ("raw", "cleaned"),
        [
            ("BM\x00_a", "BM_a"),
            ("BM\x1b[31m_a", "BM[31m_a"),
            ("BM_a\nERROR fake log line", "BM_a ERROR fake log line"),
            ("BM\u202e_a", "BM_a"),
            ("BM_\ud800a", "BM_\ufffda"),
        ],
    )
    def test_unprintable_characters_are_cleaned_away(self, raw: str, cleaned: str) -> None:
        run = read(whole(row(raw, **{raw: 1.0}), row("BM_e", error_occurred=True, error_message=raw)))

        assert run.rows[0].name == cleaned
        assert counters(run.rows[0]) == {cleaned: 1.0}
        assert run.rows[1].error == cleaned
        assert "row 0: its name was cleaned" in complaints(run)

    def test_bytes_outside_utf_8_are_replaced(self) -> None:
        run = read(whole(row("BM_@")).replace(b"@", b"\xff\xc3"))

        assert names(run) == ["BM_\ufffd\ufffd"]
        assert "cleaned" in complaints(run)

    def test_the_first_of_two_names_that_are_equal_once_cleaned_is_kept(self) -> None:
        run = read(whole(row("BM_a\x00"), row("BM_a", repetition_index=1)))

        assert [each.repetition_index for each in run.rows] == [0]
        assert "which another row has" in complaints(run)

    def test_a_long_message_is_cut(self) -> None:
        run = read(whole(row(error_occurred=True, error_message="\N{FIRE}" * 5000)))

        assert run.rows[0].error == "\N{FIRE}" * 1024
        assert "its error_message has 5000 characters" in complaints(run)

    def test_a_byte_order_mark_is_no_fault(self) -> None:
        assert read(b"\xef\xbb\xbf" + whole(row(), a=1)).warnings == ()

    def test_a_value_of_the_context_is_one_short_line(self) -> None:
        run = read(whole(library_version="v1\n" + "x" * 5000, date="2026-11-22\x00", other="x"))

        assert run.context == {"library_version": "v1 " + "x" * 1021, "date": "2026-11-22"}

    @pytest.mark.parametrize("value", [7, None, ["v1.9.3"], {"a": 1}, math.nan])
    def test_a_context_value_other_than_text_is_missing(self, value: object) -> None:
        assert read(whole(row(), library_version=value)).context == {}

    def test_a_context_of_another_kind_leaves_the_rows(self) -> None:
        run = read(f'{{"context": 7, "benchmarks": [{json.dumps(row())}]}}'.encode())

        assert names(run) == ["BM_a"]
        assert run.context == {}
        assert "context" in complaints(run)


class TestDamagedFiles:
    @pytest.mark.parametrize(
        ("bad", "at", "why"),
        [
            ('{"name": "BM_b", "real_time": }', 30, "expecting value"),
            ('{"name": "BM_"b"}', 14, "expecting ',' delimiter"),
            ('{"name": "BM_b"', 17, "expecting property name"),
            ('{"name": "BM_b', 18, "expecting ',' delimiter"),
            ("]", 1, "the end is missing"),
            ("{]", 1, "expecting property name"),
            ("[" * 100_000 + "]" * 100_000, 0, "nested too deeply"),
            ('{"name": "BM_b", "deep": ' + "[" * 100_000 + "]" * 100_000 + "}", 0, "nested too deeply"),
        ],
        ids=lambda bad: str(bad)[:40],
    )
    def test_the_rows_before_the_damage_are_read_and_its_place_is_named(
        self, bad: str, at: int, why: str
    ) -> None:
        data = whole(json.dumps(row("BM_µ"), ensure_ascii=False), bad, row("BM_c"))
        run = read(data)

        assert names(run) == ["BM_µ"]
        place = f"it is cut off or damaged at byte {data.index(bad.encode()) + at} ({why}"
        assert run.damage.startswith(place)
        assert "run the program again" in run.damage
        assert complaints(run).endswith(run.damage)

    def test_all_complete_rows_before_any_cut_are_read(self) -> None:
        complete = read(REPEATED)
        first = REPEATED.index(b'"benchmarks": [') + len(b'"benchmarks": [')
        for end in range(first, len(REPEATED.rstrip()), 97):
            run = read(REPEATED[:end])

            assert run.damage in complaints(run) != ""
            assert run.rows == complete.rows[: len(run.rows)]
            assert len(run.rows) == REPEATED[:end].count(b"\n    }")

    def test_a_cut_behind_the_last_row_is_noticed(self) -> None:
        data = whole(row())[:-1]
        run = read(data)

        assert f"at byte {len(data)} (the end is missing)" in run.damage
        assert names(run) == ["BM_a"]

    def test_the_library_version_counts_in_a_cut_file_too(self) -> None:
        cut = whole(row(max_bytes_used=5), row("BM_b"), library_version="v1.9.3")[:-20]

        assert counters(read(cut).rows[0]) == {"max_bytes_used": 5.0}

    def test_bytes_after_the_end_are_ignored(self) -> None:
        run = read(whole(row("BM_a"), a=1) + whole(row("BM_b")))

        assert names(run) == ["BM_a"]
        assert "bytes behind the end of the results were ignored" in complaints(run)


def is_readable_or_refused(data: bytes) -> bool:
    """Return whether the file is either refused properly or read into rows that can be stored."""
    try:
        run = read(data)
    except BadResults as error:
        return str(error).startswith("out.json: ")
    texts = [text for each in run.rows for text in (each.name, each.run_name, each.error or "")]
    numbers = [number for each in run.rows for number in each.values.values()]
    stored = json.dumps([texts, dict(run.context)], allow_nan=False, ensure_ascii=False).encode()
    return (
        b"\\u0000" not in stored
        and all(math.isfinite(number) for number in numbers)
        and all(each.values["cpu_time"] > 0 for each in run.rows if each.is_measured)
        and all(each.values["real_time"] > 0 for each in run.rows if each.is_measured)
    )


@given(st.binary() | st.binary().map(lambda tail: b'{"benchmarks":[' + tail))
@example(b'{"benchmarks":[{"name":"\\')
@example(b'{"":"')
def test_no_bytes_break_the_reader(data: bytes) -> None:
    assert is_readable_or_refused(data)


@settings(max_examples=300)
@given(
    st.lists(
        st.tuples(
            st.integers(0, len(REPEATED)),
            st.integers(0, 200),
            st.binary(max_size=8)
            | st.sampled_from([b'"', b"{", b"}", b"[", b"]", b"\\", b"NaN", b"1e999", b"\0"]),
        ),
        min_size=1,
        max_size=6,
    )
)
def test_no_damage_to_a_real_file_breaks_the_reader(edits: list[tuple[int, int, bytes]]) -> None:
    data = REPEATED
    for at, length, replacement in edits:
        data = data[:at] + replacement + data[at + length :]

    assert is_readable_or_refused(data)


@settings(max_examples=200)
@given(st.integers(REPEATED.index(b'"name"'), len(REPEATED) - 9), st.binary(min_size=1, max_size=1))
@example(823, b"]")
@example(37283, b"[")
@example(38833, b"{")
def test_a_damaged_byte_leaves_the_rows_before_it(at: int, replacement: bytes) -> None:
    run = read(REPEATED[:at] + replacement + REPEATED[at + 1 :])

    before = REPEATED[:at].count(b"\n    }")
    assert run.rows[:before] == read(REPEATED).rows[:before]
