"""Executed instructions by their text, from recorded dumps and listings and by hand."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from service.domain.measuring.callgrind_events import LoopEvents, loop_events
from service.domain.measuring.callgrind_loop import Code
from service.domain.measuring.disassembly import executed, hottest, packed
from service.domain.values.errors import BadResults

SAMPLES = Path(__file__).parents[3] / "samples" / "callgrind" / "events"
HEADER = b"\n/build/toy:     file format elf64-x86-64\n\n\nDisassembly of section .text:\n\n"
ITERATIONS = 10


def recorded(name: str) -> LoopEvents:
    dumps, log = ((SAMPLES / f"{name}.{end}").read_bytes() for end in ("out", "log"))
    return loop_events(dumps, log, "BM_Toy")


def listed(*lines: str, count: int = ITERATIONS) -> dict[str, float]:
    """Read a listing whose instructions were executed ``count`` times each."""
    text = "".join(f"    {16 + at:x}:\t{line}\n" for at, line in enumerate(lines))
    code = [Code(b"f", "/build/toy", Counter(dict.fromkeys(range(16, 16 + len(lines)), count)))]
    return executed(code, HEADER + text.encode(), ITERATIONS)


def test_recorded_instructions_add_up_to_the_loop() -> None:
    found = recorded("vectors")
    rates = executed(found.loop.code(), (SAMPLES / "vectors.asm").read_bytes(), found.iterations)
    assert sum(rates.values()) == pytest.approx(2952)
    assert rates["pcmpeqd -0x10(%rax),%xmm1"] == 256


def test_addresses_are_left_out_and_padding_is_not_counted() -> None:
    assert listed(
        "jne    1350 <count(unsigned int)+0x20>",
        "call   10e0 <rand@plt>",
        "lea    0x2d89(%rip),%rax        # 40c0 <table>",
        "mov    0x404060(,%rax,8),%rdx",
        "mov    0x18(%rdi),%rdx",
        "nopw   0x0(%rax,%rax,1)",
        "endbr64",
        count=5,
    ) == {
        "jne": 0.5,
        "call": 0.5,
        "lea    (%rip),%rax": 0.5,
        "mov    (,%rax,8),%rdx": 0.5,
        "mov    0x18(%rdi),%rdx": 0.5,
    }


@pytest.mark.parametrize(
    ("text", "is_packed"),
    [
        ("addps  %xmm0,%xmm1", True),
        ("vfmadd231pd (%rdi),%ymm1,%ymm2", True),
        ("paddb  %xmm0,%xmm1", True),
        ("vpmulld %ymm0,%ymm1,%ymm2", True),
        ("pxor   %xmm1,%xmm0", True),
        ("pxor   %xmm0,%xmm0", False),
        ("vpxor  %xmm0,%xmm0,%xmm0", False),
        ("addss  %xmm0,%xmm1", False),
        ("movups (%rdi),%xmm0", False),
        ("cvtsi2sd %eax,%xmm0", False),
        ("push   %rbp", False),
        ("pause", False),
    ],
)
def test_packed_instructions_compute_with_several_values(text: str, *, is_packed: bool) -> None:
    assert packed({text: 3.0}) == (3.0 if is_packed else 0.0)


def test_the_hottest_functions_are_listed_from_their_first_to_their_last_instruction() -> None:
    code = [
        Code(b"hot", "/build/toy", Counter({4096: 500, 4099: 500})),
        Code(b"warm", "/build/lib.so", Counter({64: 20})),
        Code(b"cold", "/build/toy", Counter({32: 1})),
        Code(b"scattered", "/build/toy", Counter({0: 100, 1 << 20: 100})),
        Code(b"unnamed", "???", Counter({16: 100})),
    ]
    assert hottest(code) == [("/build/toy", 4096, 4100), ("/build/lib.so", 64, 65)]
    assert hottest([]) == []


def test_dumps_without_addresses_have_no_code() -> None:
    assert recorded("base").loop.code() == ()


def test_an_address_in_another_file_is_another_instruction() -> None:
    code = [Code(b"f", "/build/other", Counter({16: 10}))]
    assert executed(code, HEADER + b"    10:\tret\n", ITERATIONS) == {}


@pytest.mark.parametrize(
    "listing", [b"", b"\x00\xff\n" * 9, b"    zz:\tret\n", HEADER + b"    " + b"f" * 40 + b":\tret\n"]
)
def test_other_text_lists_nothing(listing: bytes) -> None:
    assert executed([Code(b"f", "/build/toy", Counter({16: 10}))], listing, ITERATIONS) == {}


def test_an_overlong_listing_is_refused() -> None:
    with pytest.raises(BadResults):
        executed([], b" " * ((16 << 20) + 1), ITERATIONS)
