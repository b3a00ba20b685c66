"""The code of two sides: which rows are marked, linked, folded and dimmed."""

from __future__ import annotations

import pytest

from dashboards.verdict.code_table import FOLDED, ShownRow, code_groups, instruction
from service.domain.measuring.disassembly import GAP
from service.domain.verdict.explanation.assembly import Assembly, CodeRow


def row(
    base: str | None, patch: str | None, rates: tuple[float, float] = (1.0, 1.0), line: int = 1
) -> CodeRow:
    return CodeRow(base, patch, *rates, "a/b.cc", line)


def shown(*rows: CodeRow) -> tuple[ShownRow, ...]:
    ((is_folded, found),) = code_groups(Assembly("f", rows))
    assert not is_folded
    return found


@pytest.mark.parametrize(
    ("base", "patch", "kind"),
    [
        (None, "ret", "added"),
        ("ret", None, "removed"),
        ("add $0x8,%rdi", "add $0x9,%rdi", "changed"),
        ("add %rax,0x8(%rdi)", "add %r10,0x8(%rsi)", ""),
        ("jmp f+0x10", "jmp f+0x1c", ""),
        (GAP, None, ""),
    ],
)
def test_a_row_is_marked_unless_only_registers_and_distances_differ(
    base: str | None, patch: str | None, kind: str
) -> None:
    assert shown(row(base, patch))[0].kind == kind


@pytest.mark.parametrize(
    ("rates", "trend"),
    [((100.0, 128.0), "↑"), ((128.0, 100.0), "↓"), ((1000.0, 1001.0), ""), ((0.0, 0.004), "")],
)
def test_an_arrow_shows_what_is_executed_more_or_less_often(rates: tuple[float, float], trend: str) -> None:
    (found,) = shown(row("ret", "ret", rates))
    assert (found.trend, found.is_unchanged, found.is_idle) == (trend, not trend, False)


def test_runs_of_unchanged_rows_are_folded_except_their_ends() -> None:
    same, new = row("ret", "ret"), row(None, "nop", (0.0, 2.0))
    groups = code_groups(Assembly("f", (*[same] * FOLDED, new, *[same] * (FOLDED + 1), new)))
    assert [(is_folded, len(rows)) for is_folded, rows in groups] == [(False, 16), (True, 7), (False, 4)]
    numbers = [each.number for _, rows in groups for each in rows]
    assert numbers == list(range(1, 28))


def test_what_nobody_executes_is_dimmed_and_folded_even_if_it_differs() -> None:
    groups = code_groups(Assembly("f", (row(None, "nop", (0.0, 0.0)),) * 20))
    assert [is_folded for is_folded, _ in groups] == [False, True, False]
    assert groups[0][1][0].classes == "added idle"


def test_a_line_stands_once_for_neighbours_of_one_side() -> None:
    rows = row("a", "a"), row("b", "b"), row("c", None), row("d", "d"), row("e", "e")._replace(line=2)
    assert [each.has_place for each in shown(*rows)] == [True, False, True, True, True]


def test_a_jump_links_the_row_it_leads_to() -> None:
    assert instruction("jmp *#1") == 'jmp *<a href="#i1">#1</a>'
    assert instruction("<b> #x") == "&lt;b&gt; #x"
    assert instruction(None) == ""
