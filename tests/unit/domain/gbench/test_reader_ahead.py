"""Objects read many at a time must come out exactly as if each had been found and read alone."""

from __future__ import annotations

import json

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from service.domain.errors import BadResults
from service.domain.gbench.damaged_json import MAX_DEPTH, WINDOW, Elements, Repeated
from tests.unit.domain.gbench_files import REPEATED, complaints, names, read, row, whole

FIRST = REPEATED.index(b'"benchmarks": [') + len(b'"benchmarks": [')
SNIPPETS = (
    *(
        b'"',
        b"{",
        b"}",
        b"[",
        b"]",
        b"\\",
        b",",
        b":",
        b"NaN",
        b"1e999",
        b"\0",
        b"\xff",
        b"\xc3",
        b"}{",
        b"},,{",
    ),
    *(
        b" \x0b",
        b'"a":1,"a":2,',
        b"9" * 30,
        b"-" + b"9" * 19,
        b"[{}]",
        b'{"a":[1,{"b":2}]},',
        b"null,",
        b"1true",
    ),
    *('"µ€\N{FIRE}\ud83d"'.encode("utf-8", "surrogatepass"), b"[" * 40 + b"]" * 40, b'"\\ud83d\\u0000",'),
)


def told(elements: Elements) -> tuple[list[tuple[object, ...]], int | None, int | None]:
    """All that can be learnt from the elements, in a form in which NaN equals NaN and 1 is not 1.0."""
    found: list[tuple[object, ...]] = []
    for value in elements:
        keys = value.repeated if isinstance(value, Repeated) else ()
        what = value.what if isinstance(value, BadResults) else repr(value)
        found.append((elements.at, type(value), what, keys))
    return found, elements.end, elements.cut_at


def is_read_alike(data: bytes, window: int, start: int = 0) -> bool:
    return told(Elements(data, start, window)) == told(Elements(data, start, window=0))


def damaged(data: bytes, edits: list[tuple[int, int, bytes]]) -> bytes:
    for at, length, replacement in edits:
        data = data[:at] + replacement + data[at + length :]
    return data


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)
OBJECTS = st.dictionaries(st.text(max_size=6) | st.sampled_from(["name", "threads"]), VALUES, max_size=6)


def edits(size: int) -> st.SearchStrategy[list[tuple[int, int, bytes]]]:
    """Bytes replaced at up to three places."""
    lengths = st.sampled_from([0, 0, 1, 5, 90, 10**6])
    return st.lists(
        st.tuples(st.integers(0, size), lengths, st.sampled_from(SNIPPETS) | st.binary(max_size=3)),
        max_size=3,
    )


WINDOWS = st.sampled_from([16, 64, 300, WINDOW])  # also so few bytes that most objects cross an edge


class TestReadingAhead:
    @settings(max_examples=400)
    @given(
        values=st.lists(OBJECTS | VALUES, max_size=8),
        indent=st.sampled_from([None, 2]),
        is_ascii=st.booleans(),
        changes=edits(500),
        window=WINDOWS,
    )
    def test_made_up_lists_are_read_as_one_by_one(
        self,
        *,
        values: list[object],
        indent: int | None,
        is_ascii: bool,
        changes: list[tuple[int, int, bytes]],
        window: int,
    ) -> None:
        text = json.dumps(values, indent=indent, ensure_ascii=is_ascii)[1:] + "}"

        assert is_read_alike(damaged(text.encode("utf-8", "surrogatepass"), changes), window)

    @settings(max_examples=100)
    @given(edits(len(REPEATED)), WINDOWS)
    @example([], WINDOW)
    @example([(20_000, 10**6, b"")], WINDOW)
    def test_a_damaged_real_file_is_read_as_one_by_one(
        self, changes: list[tuple[int, int, bytes]], window: int
    ) -> None:
        assert is_read_alike(damaged(REPEATED, changes), window, FIRST)

    @pytest.mark.parametrize("depth", [MAX_DEPTH - 1, MAX_DEPTH, MAX_DEPTH + 1, 500, 5000, 100_000])
    @pytest.mark.parametrize("tail", ["", ', "a": 1'])
    def test_the_depth_allowed_is_the_same(self, depth: int, tail: str) -> None:
        nested = '{"a": ' + "[" * (depth - 1) + "]" * (depth - 1) + tail + "}"

        assert is_read_alike(f'{{"x": 1}}, {nested}, {{"y": 2}}]}}'.encode(), WINDOW)

    def test_the_byte_named_by_a_message_counts_bytes(self) -> None:
        data = whole(*[json.dumps(row(f"µ\N{FIRE}{i}"), ensure_ascii=False) for i in range(9)])
        run = read(data, rows=4)

        assert names(run)[3] == "µ\N{FIRE}3"
        fifth = data.index('"µ\N{FIRE}4"'.encode()) - len('{"name": ')
        assert f"(from byte {fifth})" in complaints(run)
