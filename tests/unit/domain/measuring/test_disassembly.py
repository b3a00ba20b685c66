"""Instructions and their lines, in objdump's own output and in hostile ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from service.domain.measuring.disassembly import (
    MOST_BYTES,
    Instruction,
    around,
    instructions,
    repository_path,
)
from service.domain.values.errors import BadResults

SAMPLES = Path(__file__).parents[3] / "samples" / "callgrind" / "code"
PATCH = (SAMPLES / "patch.txt").read_bytes()


def at(address: int) -> Instruction:
    return next(each for each in instructions(PATCH, ("/src",)) if each.address == address)


def only(*lines: str) -> Instruction:
    (found,) = instructions("\n".join(lines).encode(), ("/src", "/home/tree/"))
    return found


def test_data_and_targets_have_names_instead_of_addresses() -> None:
    assert at(0x5CC3).text == "mov lib::(anonymous namespace)::slots(%rip),%rsi"
    jump = at(0x5CBD)
    assert (jump.text, jump.target, jump.symbol) == ("je", 0x5D49, "lib::look_up+0x99")
    call = only("  10:\tcall   20 <operator new(unsigned long)@plt>")
    assert (call.text, call.symbol) == ("call", "operator new(unsigned long)@plt")


@pytest.mark.parametrize(
    ("address", "line"),
    [
        (0x5CB0, 23),
        (0x5CB3, 25),  # the vector's begin(), which the loop calls
        (0x5CB6, 25),  # end(): objdump prints only its callers
        (0x5CEB, 11),  # of an inlined function of the same file
        (0x5D07, 11),
        (0x5D0B, 27),
    ],
)
def test_inlined_instructions_have_the_innermost_line_of_the_repository(address: int, line: int) -> None:
    assert (at(address).path, at(address).line) == ("hash_table.cpp", line)


def test_without_debug_information_there_are_no_lines() -> None:
    lines = [line for line in PATCH.split(b"\n") if b":\t" in line]
    found = instructions(b"\n".join(lines), ("/src",))
    assert [(each.address, each.text) for each in found] == [
        (each.address, each.text) for each in instructions(PATCH, ("/src",))
    ]
    assert {(each.path, each.line) for each in found} == {("", 0)}


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/src/core/hash.cpp", "core/hash.cpp"),
        ("/src/build/../core/hash.cpp", "core/hash.cpp"),
        ("/home/tree/core/hash.cpp", "core/hash.cpp"),
        ("./core/hash.cpp", "core/hash.cpp"),
        ("/src/build/generated.cpp", ""),
        ("/srcs/hash.cpp", ""),
        ("/usr/include/c++/12/bits/stl_vector.h", ""),
        ("/src/../etc/passwd", ""),
        ("../../etc/passwd", ""),
        ("/src", ""),
        ("/src/\u202egnp.cpp", ""),
        ("/src/" + "a/" * 400, ""),
    ],
)
def test_paths_are_those_of_the_repository(path: str, expected: str) -> None:
    assert repository_path(path, ("/src", "/home/tree/")) == expected


def test_texts_are_clean_and_short() -> None:
    assert only("  10:\tmov\x1b[31m   %rax,\u202e%rbx").text == "mov[31m %rax,%rbx"
    assert len(only("  10:\t" + "x" * 3000).text) == 120
    assert len(only(f"  10:\tjmp    20 <{'y' * 3000}>").symbol) <= 60
    assert instructions(b"\xff" * 100 + b"\n1:\t\n:\tret\n" + b"9" * 5000 + b":\tret", ()) == ()
    with pytest.raises(BadResults, match="16 MiB"):
        instructions(b" " * (MOST_BYTES + 1), ())


def test_what_was_not_executed_is_kept_near_what_was() -> None:
    found = [Instruction(number, "nop") for number in range(1, 21)]
    kept = [each.address for each in around(found, {3, 4, 15}, 1)]
    assert kept == [2, 3, 4, 5, 0, 14, 15, 16]
    assert around(found, {99}, 1) == []


def test_of_a_long_chain_of_inlined_calls_the_innermost_place_in_the_repository_counts() -> None:
    outside = b"/usr/include/vector:1\n" + b"inlined by /usr/include/vector:2 (f)\n" * 50_000
    (found,) = instructions(
        outside + b"inlined by /src/a.cpp:7 (g)\ninlined by /src/b.cpp:8 (h)\n 10:\tret\n", ("/src",)
    )
    assert (found.path, found.line) == ("a.cpp", 7)
