"""Explanations are packed and read back, and anything else is refused."""

import gzip
import hashlib
import json
from dataclasses import replace

import pytest

from service.domain.values.errors import BadResults
from service.domain.verdict.explanation.assembly import MOST_ROWS, Assembly, CodeRow, Line
from service.domain.verdict.explanation.causes import Cause, Kind
from service.domain.verdict.explanation.explanation import (
    LONGEST_TEXT,
    MOST_FRAMES,
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
    assembly=Assembly(
        "HashTable::find",
        (
            CodeRow(None, "xor %rdx,%rax", 0.0, 500.0, "src/hash.cpp", 11),
            CodeRow("ret", None, 1.0, 0.0, "", 0),
        ),
        (Line("src/hash.cpp", 11, 1502.0, 4503.0),),
        "branch misses",
    ),
)
CODE = WHOLE.assembly or Assembly("")
LINES = replace(WHOLE, stacks=(), assembly=CODE._replace(rows=()))


def test_read_back_as_written() -> None:
    assert unpack(pack([WHOLE, replace(WHOLE, obstacle="no time")])) == (
        WHOLE,
        replace(WHOLE, obstacle="no time"),
    )
    assert WHOLE.rest == pytest.approx(0.022)
    assert Explanation.from_mapping(json.loads(json.dumps(WHOLE.to_mapping()))) == LINES


def test_a_decision_reads_all_but_stacks_and_instructions() -> None:
    found = [replace(WHOLE, touched=("src/hash.cpp", 11)), WHOLE]
    brief = (replace(LINES, touched=("src/hash.cpp", 11)), LINES)
    assert unpack(pack(found), 0) == brief
    assert unpack(pack(found)[:-9], 0) == brief, "it does not reach what is damaged"


def test_the_main_line_is_in_the_function_with_most_of_the_slow_down() -> None:
    branches, inlined = WHOLE.causes[0], Cause(Kind.INLINING, "mix", 0.0, 3.0)
    assert replace(WHOLE, parts=(), causes=(branches,)).main_line == ("src/hash.cpp", 11)
    called = replace(WHOLE, assembly=CODE._replace(counted="calls"))
    assert replace(called, parts=(), causes=(inlined,)).main_line == ("src/hash.cpp", 11)
    assert WHOLE.main_line == ("src/hash.cpp", 11)
    for parts in (Part("HashTable::find", 0.05, 0.04, 0.06), Part("main", 0.1, 0.09, 0.11)):
        assert replace(WHOLE, parts=(parts,)).main_line is None
    assert replace(WHOLE, parts=(), causes=(branches, branches._replace(function="main"))).main_line is None
    waiting = Cause(Kind.WAITING, "HashTable::find", 1e-6, 2e-6)
    assert replace(WHOLE, parts=(), causes=(waiting, branches)).main_line is None
    assert replace(WHOLE, assembly=None).main_line is None
    assert replace(WHOLE, assembly=Assembly("HashTable::find")).main_line is None


@pytest.mark.parametrize(
    ("kind", "counted", "line"),
    [
        (Kind.LOCKS, "instructions", None),
        (Kind.LOCKS, "locks", ("src/hash.cpp", 11)),
        (Kind.CACHE_MISSES, "last-level cache misses", ("src/hash.cpp", 11)),
        (Kind.CACHE_MISSES, "branch misses", None),
        (Kind.VECTORISATION, "instructions", ("src/hash.cpp", 11)),
        (Kind.INLINING, "instructions", None),
    ],
)
def test_a_line_belongs_only_to_a_cause_whose_events_it_counts(
    kind: Kind, counted: str, line: tuple[str, int] | None
) -> None:
    cause = Cause(kind, "HashTable::find", 0.0, 3.0)
    found = replace(WHOLE, causes=(cause,), assembly=CODE._replace(counted=counted))
    assert found.line_cause == (cause if line else None)
    assert found.main_line == line


def test_the_narrowest_stacks_are_left_out_if_they_need_too_much_room() -> None:
    names = [hashlib.shake_256(str(number).encode()).hexdigest(100) for number in range(10_000)]
    wide, narrow = (tuple(Stack((name,), 0.1, w) for name in names) for w in (0.2, 0.1))
    packed = pack([replace(WHOLE, stacks=narrow), replace(WHOLE, stacks=wide), WHOLE])
    assert len(packed) <= MOST_PACKED
    first, second, last = unpack(packed)
    assert (first.stacks, last) == ((), WHOLE)
    assert second.stacks == wide[: len(second.stacks)]
    assert len(second.stacks) > 2000


@pytest.mark.parametrize("character", ["f", "\x01"])
def test_what_is_packed_is_bounded_before_it_is_written(character: str) -> None:
    """A lease lasts 15 s, and packing holds up its renewal."""
    stacks = (Stack((character * 2000,) * 1000, 0.1, 0.2),) * 10_000  # which compress well
    packed = pack([replace(WHOLE, benchmark="x" * (20 << 20), stacks=stacks)] * 6)
    assert 7 << 20 < len(gzip.decompress(packed)) < 9 << 20
    found = unpack(packed)[0]
    assert len(found.benchmark) == LONGEST_TEXT
    assert found.stacks[0] == Stack((character * LONGEST_TEXT,) * MOST_FRAMES, 0.1, 0.2)


def test_instructions_that_need_too_much_room_leave_it_to_the_stacks() -> None:
    digits = (hashlib.shake_256(str(number).encode()).hexdigest(200) for number in range(4000))
    rows = tuple(CodeRow(each, next(digits), 1.0, 2.0, "", 0) for each in digits)
    large = [replace(WHOLE, benchmark=f"Find/{n}", assembly=Assembly("f", rows[n:])) for n in range(3)]
    packed = pack(large)
    assert len(packed) <= MOST_PACKED
    read = unpack(packed)
    assert [each.stacks for each in read] == [WHOLE.stacks] * 3
    kept = [len(each.assembly.rows) if each.assembly else None for each in read]
    assert kept == [0, 0, len(rows) - 2], "the smallest"


def test_overlong_assembly_is_cut() -> None:
    row = CodeRow("x" * 1000, "y", 1.0, 1.0, "p" * 1000, 1)
    found = {**WHOLE.to_mapping(), "rows": [list(row)] * 3000}
    read = Explanation.from_mapping(found).assembly
    assert read is not None
    assert len(read.rows) == MOST_ROWS
    assert (len(read.rows[0].base or ""), len(read.rows[0].path)) == (LONGEST_TEXT, LONGEST_TEXT)


@pytest.mark.parametrize("path", ["/etc/passwd", "../secret", "a/../../b"])
def test_a_path_outside_of_the_repository_is_unknown(path: str) -> None:
    line = {"path": path, "line": 3, "base": 1.0, "patch": 2.0}
    code = {"function": "f", "counted": "", "lines": [line]}
    found = Explanation.from_mapping({**LINES.to_mapping(), "assembly": code})
    assert found.assembly == Assembly("f", (), (Line("", 3, 1.0, 2.0),))


@pytest.mark.parametrize(
    "assembly",
    [
        [],
        {"function": 1, "counted": "", "lines": []},
        {"function": "f", "lines": []},
        {"function": "f", "counted": "", "lines": [{"path": "p", "line": 10**10, "base": 1, "patch": 1}]},
    ],
)
def test_another_assembly_is_refused(assembly: object) -> None:
    with pytest.raises(BadResults, match="cannot be read"):
        Explanation.from_mapping({**LINES.to_mapping(), "assembly": assembly or [0]})


BRIEF = json.dumps([LINES.to_mapping() | {"stacks": []}], separators=(",", ":")).encode()


@pytest.mark.parametrize(
    "values",
    [
        {"slowdown": 10**400},
        {"causes": [{"kind": "locks", "function": "f", "base": -1, "patch": 2}]},
        {"stacks": [[["f"], 0.1, -0.1]]},
        {"rows": [["a", "b", 1, 1, "p"]]},
        {"rows": [[1, "b", 1, 1, "p", 1]]},
        {"rows": [["a", "b", 1, None, "p", 1]]},
    ],
)
def test_values_that_cannot_be_are_refused(values: dict[str, object]) -> None:
    with pytest.raises(BadResults, match="cannot be read"):
        Explanation.from_mapping({**LINES.to_mapping(), **values})


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"no gzip",
        pack([WHOLE])[:99],
        gzip.compress(b"{}"),
        gzip.compress(b"[1]"),
        gzip.compress(b"[" * 100_000),
        gzip.compress(json.dumps([{"suite": "s"}]).encode()),
        gzip.compress(BRIEF.replace(b"0.123", b"NaN")),
        gzip.compress(BRIEF.replace(b'"branch misses"', b'"magic"')),
        gzip.compress(BRIEF.replace(b'"stacks"', b'"touched":["src/hash.cpp"],"stacks"')),
    ],
    ids=range(10),  # some have the time in them
)
def test_anything_else_is_refused(data: bytes) -> None:
    refused(data)


def test_more_than_64_mib_are_refused() -> None:
    refused(gzip.compress(b" " * (65 << 20)))


def refused(data: bytes) -> None:
    for stacks_of in (None, 0):
        with pytest.raises(BadResults, match="cannot be read"):
            unpack(data, stacks_of)


def test_stacks_and_instructions_of_one_are_read_if_asked() -> None:
    assert unpack(pack([WHOLE, WHOLE]), stacks_of=2) == (LINES, WHOLE)
    assert unpack(pack([WHOLE]), stacks_of=0) == (LINES,)
