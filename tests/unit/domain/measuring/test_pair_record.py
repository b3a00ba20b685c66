from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.domain.measuring.launch import Launch
from service.domain.measuring.pair_record import (
    RECORD_BYTES,
    RESULT_BYTES,
    PairRecord,
    RawLaunch,
    decode,
    encode,
    read_pair,
)
from service.domain.project.benchmark import Suite
from service.domain.values.errors import BadResults
from service.domain.values.identity import Side
from tests.unit.domain.gbench_files import REPEATED, row, whole

LAUNCHES = st.builds(
    RawLaunch,
    suite=st.text(),
    side=st.sampled_from(Side),
    output=st.binary(),
    facts=st.dictionaries(st.text(), st.floats(allow_nan=False) | st.none()),
)


@given(st.lists(LAUNCHES, max_size=4))
def test_every_byte_survives(launches: list[RawLaunch]) -> None:
    assert decode(encode(launches)) == tuple(launches)


def test_a_record_is_hardly_larger_than_its_outputs() -> None:
    """Bytes that are not UTF-8 once took six bytes each, so that a record was too large to be read."""
    outputs = 2 * [b"\xff" * 100_000]
    record = encode([RawLaunch("s", side, each, {}) for side, each in zip(Side, outputs, strict=True)])

    assert len(record) < 200_200


def test_the_largest_results_of_both_sides_are_a_record_that_can_be_read() -> None:
    facts = 10_000 * 500  # bytes of the counts of the longest listing

    assert 2 * RESULT_BYTES + facts < RECORD_BYTES


def test_a_record_of_the_earlier_form_is_read() -> None:
    earlier = b'[{"suite": "s", "side": "base", "facts": {"seconds": 1.0}, "output": "a\\udcff"}]'

    assert decode(earlier) == (RawLaunch("s", Side.BASE, b"a\xff", {"seconds": 1.0}),)


@pytest.mark.parametrize(
    "record",
    [
        b"",
        b"{",
        b"\xff",
        b"1",
        b"null",
        b"[1]",
        b"[{}]",
        b'[{"suite": "s", "side": "left", "output": "", "facts": {}}]',
        b'[{"suite": "s", "side": "base", "output": 1, "facts": {}}]',
        b'[{"suite": "s", "side": "base", "output": "\\ud800", "facts": {}}]',
        b'[{"suite": "s", "side": "base", "bytes": 3, "facts": {}}]\n{}',
        b'[{"suite": "s", "side": "base", "bytes": 1, "facts": {}}]\n{}',
        b'[{"suite": "s", "side": "base", "bytes": -1, "facts": {}}]\n{}',
        b"[" * 100_000,
    ],
    ids=lambda record: record[:50],
)
def test_anything_but_a_record_is_refused(record: bytes) -> None:
    with pytest.raises(BadResults, match="not a pair record"):
        decode(record)


def test_a_pair_is_read_as_samples() -> None:
    record = encode([RawLaunch("s", side, REPEATED, {"seconds": 1.0}) for side in Side])
    base, patch = read_pair(PairRecord(3, record), [Suite("s", "build/s")])

    assert (base.side, patch.side) == (Side.BASE, Side.PATCH)
    assert base.pair == patch.pair == 3
    assert base.values["BM_push/64"]["cpu_time"] == patch.values["BM_push/64"]["cpu_time"] > 0


@pytest.mark.parametrize(
    ("facts", "quotient"),
    [
        ({"voluntary_switches": 0, "foreign": 0.25, "steal": 0.25}, 1.5),
        ({"voluntary_switches": 0, "foreign": 0.9, "steal": 0.9}, 1.0),
        ({"voluntary_switches": 1, "foreign": 0.5, "steal": 0.0}, 3.0),
        ({"voluntary_switches": 0, "foreign": None, "steal": 0.5}, 3.0),
        ({"voluntary_switches": None, "foreign": 0.5, "steal": 0.0}, 3.0),
        ({"foreign": 0.5, "steal": 0.0}, 3.0),  # an earlier version did not count them
    ],
)
def test_the_facts_of_a_launch_say_what_others_used_while_it_did_not_wait(
    facts: dict[str, Any], quotient: float
) -> None:
    raw = RawLaunch("s", Side.BASE, whole(row("a", real_time=300.0, cpu_time=100.0)), facts)

    (found,) = read_pair(PairRecord(0, encode([raw])), [Suite("s", "build/s")])

    assert found.real_per_cpu == {"a": pytest.approx(quotient)}


def test_a_suite_that_the_job_no_longer_has_is_left_out() -> None:
    record = encode([RawLaunch(name, Side.BASE, whole(row()), {}) for name in ("s", "gone")])

    assert [each.suite for each in read_pair(PairRecord(0, record), [Suite("s", "build/s")])] == ["s"]


@pytest.mark.parametrize(
    ("variant", "place"), [(0, "pair 3, patch, suite s"), (2, "relink 2, pair 3, patch, suite s")]
)
def test_output_that_cannot_be_read_is_reported_with_its_place(variant: int, place: str) -> None:
    record = PairRecord(3, encode([RawLaunch("s", Side.PATCH, b"", {})]), variant)

    with pytest.raises(BadResults, match=rf"^{place}: it is empty$"):
        read_pair(record, [Suite("s", "build/s")])


def test_all_that_a_launch_has_by_benchmark_is_renamed_and_joined() -> None:
    mappings = [each.name for each in fields(Launch) if str(each.type).startswith("Mapping")]

    def launch_of(name: str) -> Launch:
        empty = Launch(0, Side.BASE, "s", {}, {}, varying=frozenset({(name, "cpu_time")}))
        by_benchmark: dict[str, Any] = {each: {name: each} for each in mappings}
        return replace(empty, **by_benchmark)

    joined = launch_of("a").joined(launch_of("b"))

    assert launch_of("a").renamed({"a": "b"}) == launch_of("b")
    assert [set(getattr(joined, each)) for each in mappings] == [{"a", "b"}] * 5
    assert joined.varying == {("a", "cpu_time"), ("b", "cpu_time")}
