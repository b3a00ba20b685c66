"""Explanations are packed and read back, and anything else is refused."""

import gzip
import hashlib
import json
from dataclasses import replace

import pytest

from service.domain.values.errors import BadResults
from service.domain.verdict.comparison.causes import Cause, Kind
from service.domain.verdict.comparison.explanation import (
    MOST_PACKED,
    Explanation,
    Part,
    Stack,
    pack,
    unpack,
)

WHOLE = Explanation(
    suite="hash",
    benchmark="Find/8",
    slowdown=0.123,
    causes=(Cause(Kind.BRANCH_MISSES, "HashTable::find", 3.0, 3.9),),
    sampled=0.12,
    parts=(Part("HashTable::find", 0.098, 0.091, 0.104),),
    stacks=(Stack(("main", "HashTable::find"), 0.5, 0.598),),
)


def test_read_back_as_written() -> None:
    assert unpack(pack([WHOLE, replace(WHOLE, obstacle="no time")])) == (
        WHOLE,
        replace(WHOLE, obstacle="no time"),
    )
    assert WHOLE.rest == pytest.approx(0.022)
    assert Explanation.from_mapping(json.loads(json.dumps(WHOLE.to_mapping()))) == replace(WHOLE, stacks=())
    counted = {"suite": "s", "benchmark": "b", "causes": [], "obstacle": ""}
    assert Explanation.from_mapping(counted) == Explanation("s", "b")  # as a previous version wrote it


def test_stacks_that_need_too_much_room_are_left_out() -> None:
    names = (hashlib.shake_256(str(number).encode()).hexdigest(100) for number in range(10_000))
    stacks = tuple(Stack((name,), 0.1, 0.2) for name in names)
    packed = pack([WHOLE, replace(WHOLE, stacks=stacks)])
    assert len(packed) <= MOST_PACKED
    assert unpack(packed) == (WHOLE, replace(WHOLE, stacks=()))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"no gzip",
        pack([WHOLE])[:-9],
        gzip.compress(b"{}"),
        gzip.compress(b"[1]"),
        gzip.compress(b"[" * 100_000),
        gzip.compress(b" " * (65 << 20)),
        gzip.compress(json.dumps([{"suite": "s"}]).encode()),
        gzip.compress(gzip.decompress(pack([WHOLE])).replace(b"0.123", b"NaN")),
        gzip.compress(gzip.decompress(pack([WHOLE])).replace(b'"branch misses"', b'"magic"')),
    ],
    ids=range(10),  # some have the time in them
)
def test_anything_else_is_refused(data: bytes) -> None:
    with pytest.raises(BadResults, match="cannot be read"):
        unpack(data)


def test_stacks_that_take_too_long_to_read_are_left_out() -> None:
    stacks = (Stack(("f",) * 128, 0.1, 0.2),) * 10_000  # 5 MB, which compress well
    found = [replace(WHOLE, stacks=stacks), *[replace(WHOLE, stacks=stacks[1:])] * 3]
    assert [len(each.stacks) for each in unpack(pack(found))] == [0, 9_999, 9_999, 9_999]


def test_the_stacks_of_one_are_read_if_asked() -> None:
    brief = replace(WHOLE, stacks=())
    assert unpack(pack([WHOLE, WHOLE]), stacks_of=2) == (brief, WHOLE)
    assert unpack(pack([WHOLE]), stacks_of=0) == (brief,)
