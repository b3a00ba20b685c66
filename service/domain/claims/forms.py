"""Recognise and read the tables of each form."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from service.domain.claims import console, grid
from service.domain.claims.sides import heading_of, hints_in, names_other_base, role_in
from service.domain.claims.values import SCATTERS, Claim, Fault, Refusal, Role, Row, Table, Unreadable
from service.domain.claims.words import is_like_number, is_name, number, rounding_of
from service.domain.measuring.formats.row import TIMES
from service.domain.measuring.tests.gtest import mark_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from service.domain.claims.words import Line

# compare.py, a tool of Google Benchmark: old and new times, and their relative change.
_COMPARED: Final = ("Benchmark", "Time", "CPU", "Time", "Old", "Time", "New", "CPU", "Old", "CPU", "New")
_NOT_COMPARED: Final = ("OVERALL_GEOMEAN", "_pvalue", *map("_{}".format, SCATTERS))  # no levels of benchmarks
_CELLS: Final = 7
_ROUNDED: Final = 0.51  # old and new are printed without decimals, and their relative change with four
_PRINTED: Final = 0.0001


class Form(NamedTuple):
    """Functions of a form: is a line the titles, is it a row below them, and what reads a row of a table."""

    is_header: Callable[[Line], bool]
    is_row: Callable[[Line, Line | None], bool]
    reader: Callable[[Line | None, Sequence[Line]], Callable[[Line], Iterable[Row | Claim]]]
    needs_header: bool = True


def _read_comparison(line: Line) -> list[Claim]:
    """Read a row of compare.py, whose relative change is more precise than old and new."""
    if line.words[0].endswith(_NOT_COMPARED):
        return []
    if len(line.words) != _CELLS or not is_name(line.words[0]):
        raise Unreadable(Fault.NOT_ALIGNED, line.text)
    name, *changes = line.words[:3]
    claims = []
    for metric, change, k in zip(TIMES, changes, (3, 5), strict=True):
        old, new = number(line.words[k]), number(line.words[k + 1])
        ratio = 1 + number(change[1:]) * (-1 if change[0] == "-" else 1)
        if change[0] not in "+-" or abs(old * ratio - new) > _ROUNDED * (1 + ratio) + _PRINTED * old:
            raise Unreadable(Fault.CONTRADICTION, " ".join((change, *line.words[k : k + 2])))
        half = 0.5 / 10.0 ** len(change.partition(".")[2])
        rounding = -math.log1p(-half / ratio) if half < ratio else math.inf
        claims.append(Claim(line.number, name, metric, old, new, ratio, "", "Old", "New", rounding=rounding))
    return claims


def _is_test(line: Line, _: Line | None) -> bool:
    """Return whether GoogleTest ends a test in a line; a name without a suite is another program's."""
    found = mark_in(line.text) if line.text.lstrip().startswith("[") else None
    return found is not None and found[0] != "RUN" and "." in found[1]


def _read_test(line: Line) -> list[Row]:
    found = mark_in(line.text)
    if not found or found[0] != "OK" or not line.text.endswith(" ms)"):
        raise Unreadable(Fault.FAILED_TEST, line.text)
    rounding = {"real_time": rounding_of(str(found[2]))}
    return [Row(line.number, found[1], "ms", {"real_time": float(found[2])}, rounding=rounding)]


COMPARISON: Final = Form(
    lambda line: line.words == _COMPARED,
    lambda line, _: len(line.words) > 1 and is_like_number(line.words[1]),
    lambda *_: _read_comparison,
)
CONSOLE: Final = Form(
    console.is_header,
    console.is_row,
    lambda header, rows: partial(console.read_row, layout=console.layout_of(header, rows)),
    needs_header=False,
)
GRID: Final = Form(
    grid.is_header,
    grid.is_row,
    lambda header, rows: partial(grid.read_row, columns=grid.columns_of(header or rows[0])),
)
TESTS: Final = Form(lambda _: False, _is_test, lambda *_: _read_test, needs_header=False)
FORMS: Final = (COMPARISON, CONSOLE, GRID, TESTS)  # of two with the same titles, the first reads them


@dataclass(slots=True)
class Block:
    """Lines of one table.

    ``header`` has the titles, if any, and may stand above an earlier block; ``paragraph`` is the text before
    the rows, and ``intro`` that or an earlier one; ``cpus`` is the number of the machine's CPUs.
    """

    form: Form
    header: Line | None
    paragraph: tuple[Line, ...] = ()
    intro: tuple[Line, ...] = ()
    cpus: int | None = None
    rows: list[Line] = field(default_factory=list)

    def read(self) -> list[Table] | list[Claim] | list[Refusal]:
        """Read the table, or its claims if it prints both sides; or refuse it."""
        line = self.rows[0]
        read: list[Row | Claim] = []
        try:
            for line in self.paragraph[-1:]:
                _check_visible(line, line.quotes)
            for line in (*filter(None, [self.header]), *self.rows):
                _check_visible(line, self.rows[0].quotes)
            line = self.header or self.rows[0]
            read_row = self.form.reader(self.header, self.rows)
            for line in self.rows:
                read += read_row(line)
        except Unreadable as error:
            return [Refusal(line.number, error.fault, error.detail)]
        if claims := [each for each in read if isinstance(each, Claim)]:
            is_other = names_other_base(self.intro)
            return [Refusal(claims[0].line, Fault.OTHER_BASE)] if is_other else _once(claims)
        rows = tuple(each for each in read if isinstance(each, Row))
        heading = heading_of(self.paragraph)
        role = (role_in(heading) if heading else None) or Role.SINGLE
        return [Table(heading, role, rows, *hints_in(self.paragraph), self.cpus)] if rows else []


def _check_visible(line: Line, quotes: int) -> None:
    if line.is_hiding:
        raise Unreadable(Fault.HIDDEN_CHARACTERS)
    if line.quotes > 1 or line.quotes != quotes:
        raise Unreadable(Fault.QUOTED)


def _once(claims: Sequence[Claim]) -> list[Claim] | list[Refusal]:
    """Leave out repetitions, which were paired at random; their mean and median have rows of their own."""
    counts = Counter((claim.benchmark, claim.metric) for claim in claims)
    once = [claim for claim in claims if counts[claim.benchmark, claim.metric] == 1]
    return once or [Refusal(claims[0].line, Fault.REPEATED, claims[0].benchmark)]
