"""Two sides of a function are aligned, and their lines compared."""

from __future__ import annotations

from pathlib import Path

import pytest

from service.domain.measuring.callgrind_loop import last_loop
from service.domain.measuring.disassembly import Instruction, instructions
from service.domain.verdict.explanation.assembly import MOST_ROWS, Assembly, Line, SideCode, align

SAMPLES = Path(__file__).parents[4] / "samples" / "callgrind" / "code"


def recorded(side: str) -> SideCode:
    (code,) = last_loop((SAMPLES / f"{side}.out").read_bytes()).code("lib::look_up", ("Ir",))
    calls = code.executed[min(code.executed)]
    rates = {at: count / calls for at, count in code.executed.items()}
    return SideCode(instructions((SAMPLES / f"{side}.txt").read_bytes(), ("/src",)), rates, rates)


def written(*code: tuple[str, float], first: int = 1, line: int = 1) -> SideCode:
    """Lay out one instruction a line."""
    found = [Instruction(first + at, text, 0, "", "a.cpp", line + at) for at, (text, _) in enumerate(code)]
    rates = {each.address: rate for each, (_, rate) in zip(found, code, strict=True)}
    return SideCode(found, rates, rates)


def shown(found: Assembly) -> list[tuple[str | None, str | None]]:
    return [(row.base, row.patch) for row in found.rows]


def test_a_recorded_function_shows_what_the_patch_added_and_the_line_that_grew() -> None:
    found = align("lib::look_up", recorded("base"), recorded("patch"))
    added = [row for row in found.rows if row.base is None and row.patch_rate == 500]
    assert [row.patch for row in added] == [
        "mov %rcx,%rdx",
        "shr $0x21,%rdx",
        "xor %rcx,%rdx",
        "imul %r11,%rdx",
        "shr $0x1d,%rax",
        "xor %rdx,%rax",
    ]
    assert {(row.path, row.line) for row in added} == {("hash_table.cpp", 11)}
    assert found.grown_line == "hash_table.cpp:11"
    assert found.lines[0] == Line("hash_table.cpp", 11, 1502, 4503)
    equal = [row for row in found.rows if row.base == row.patch == "add 0x8(%rdx),%r8"]
    assert [(row.base_rate, row.patch_rate) for row in equal] == [(500, 500)]


def test_jumps_name_the_row_of_their_target() -> None:
    rows = align("lib::look_up", recorded("base"), recorded("patch")).rows
    (back,) = [row for row in rows if row.patch == "jne #11" and row.base == "jne #11"]
    assert rows[10].patch == "mov (%rdi),%rcx"
    outside = Instruction(9, "jmp", 5, "out+0x5")
    assert shown(align("f", SideCode(), SideCode([outside], {9: 1.0}))) == [(None, "jmp out+0x5")]
    assert back.patch_rate == 500


def test_instructions_with_other_registers_stand_beside_each_other() -> None:
    base = written(("mov %rax,%rbx", 1), ("add %rax,%rcx", 1), ("ret", 1))
    patch = written(("push %rbx", 1), ("mov %rdx,%rbx", 1), ("add %rdx,%rcx", 1), ("ret", 1))
    assert shown(align("f", base, patch)) == [
        (None, "push %rbx"),
        ("mov %rax,%rbx", "mov %rdx,%rbx"),
        ("add %rax,%rcx", "add %rdx,%rcx"),
        ("ret", "ret"),
    ]


def test_lines_that_only_moved_did_not_grow() -> None:
    code = ("mov", 9.0), ("add", 500.0), ("ret", 1.0)
    moved = align("f", written(*code), written(*code, first=40, line=70))
    assert moved.lines == (Line("a.cpp", 70, 9, 9), Line("a.cpp", 71, 500, 500), Line("a.cpp", 72, 1, 1))
    assert moved.grown_line == ""


def test_a_line_with_little_of_the_growth_is_not_named() -> None:
    before = tuple((f"op{number}", 10.0) for number in range(8))
    after = tuple((text, rate + 1) for text, rate in before)
    assert align("f", written(*before), written(*after)).grown_line == ""
    assert align("f", written(*before), written(*before[:-1], ("op7", 20.0))).grown_line == "a.cpp:8"


def test_no_line_is_named_if_a_line_of_the_parent_was_rewritten_and_cost_more_than_it_grew() -> None:
    base = written(("mov", 100), ("imul", 20), ("ret", 1))
    patch = written(("lea", 90), ("imul", 70), ("ret", 1), line=10)
    assert align("f", base, patch).lines == ()
    much = align("f", base, written(("lea", 90), ("imul", 170), ("ret", 1), line=10))
    assert much.grown_line == "a.cpp:11"


def test_a_new_function_has_only_one_side() -> None:
    found = align("f", SideCode(), written(("mov", 2.0)))
    assert shown(found) == [(None, "mov")]
    assert found.lines == (Line("a.cpp", 1, 0.0, 2.0),)


@pytest.mark.parametrize("texts", [("a", "b"), ("a", "a")])
def test_of_a_huge_function_the_most_executed_instructions_remain(texts: tuple[str, str]) -> None:
    sides = [written(*((text, float(at % 7)) for at in range(5000))) for text in texts]
    found = align("f", *sides)
    assert len(found.rows) <= MOST_ROWS
    assert max(row.patch_rate for row in found.rows) == 6
    assert {row.patch_rate for row in found.rows if row.patch not in {None, "…"}} == {6}
