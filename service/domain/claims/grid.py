"""Read tables with a column for each side: of Markdown, reStructuredText, benchstat, or between blanks."""

from __future__ import annotations

import re
from itertools import combinations
from typing import TYPE_CHECKING, Final, NamedTuple

from service.domain.claims.sides import SIDES, differ_in_conditions, role_in
from service.domain.claims.values import Claim, Fault, Role, Unreadable
from service.domain.claims.words import (
    BINARY,
    DECIMAL,
    is_name,
    number,
    quotient,
    rounding_of,
    scaled,
    unit_of,
)
from service.domain.measuring.formats.row import PER_SECOND
from service.domain.project.benchmark_names import family_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from service.domain.claims.words import Line

# What benchstat prints beside a value and a change: half the width of an interval, and the p-value.
_SCATTER: Final = re.compile(r" {0,2}\u00b1 {0,2}(?:[0-9]{1,4}%|\u221e)|\((?:p=[^()]{1,40}|all equal)\)")
_BENCHMARKS: Final = re.compile(r"(?:micro-?)?bench(?:mark)?s?(?: name)?", re.IGNORECASE)
_NAMES: Final = re.compile(r"(?:test )?name|tests?|(?:test )?case", re.IGNORECASE)
_DERIVED: Final = re.compile(
    r"\b(?:change|delta|diff(?:erence)?|speed-?up|improvements?|ratio|gain|reduction|iterations|counters)\b"
    r"|^\(?[%\u0394]\)?$",
    re.IGNORECASE,
)
_CHANGE: Final = re.compile(r"([-+\u2212]?)([0-9]{1,9}(?:\.([0-9]{1,9}))?) ?([%x\u00d7]?)")
_SAVING: Final = re.compile(r"speed|improve|gain|reduction", re.IGNORECASE)  # more is better
_UNIT: Final = re.compile(r"[(\[]([^()\[\]]{1,16})[)\]]")
# What a title may have beside side and unit; anything else, such as "alloc/op", may mean anything.
_METRIC: Final = re.compile(
    r"(?:(?P<cpu>cpu(?:[- ]?clock|/op)?)|(?P<real>(?:real|wall)(?:[- ]?clock)?|(?:run[- ]?)?time(?:/op)?"
    r"|sec/op|latency)|throughput|speed|[-:,/()]|\s)*"
)
_RATE: Final = re.compile(r"([kKMGT]?i?) ?(?:(B)|items|ops?)/s(?:ec)?")
_VALUE: Final = re.compile(r"([-+.,_'0-9eE]*[0-9.]) ?([^\W\d]\S{0,15}(?: (?:items|ops?)/s(?:ec)?)?)?")
_EMPTY: Final = frozenset({"", "-", "--", "~", "n/a", "N/A", "\u2013", "\u2014"})
_NAME: Final = re.compile(r"[A-Za-z_](?:<[^<>]{0,200}>|[^\s|<])*")  # arguments of templates may have blanks
_BENCHSTAT: Final = re.compile(r"/op|^(?:old|new) speed$")
_BENCHMARK: Final = re.compile(r"BM_|bench", re.IGNORECASE)
_FILE: Final = re.compile(r"\.[A-Za-z]{1,4}$")


class Column(NamedTuple):
    """Values of a side; metric and unit are empty if only the cells tell.

    The column of names has no role, nor have those that are computed from others.
    """

    title: str
    role: Role | None = None
    metric: str = ""
    unit: str = ""


class Cell(NamedTuple):
    """A value in ``unit`` if it is a time, and how far its logarithm may be rounded."""

    title: str
    value: float
    unit: str
    rounding: float


def is_header(line: Line) -> bool:
    """Return whether a line has titles of benchmarks, old and new values."""
    titles = line.cells
    if not (_BENCHMARKS.fullmatch(titles[0]) or _NAMES.fullmatch(titles[0])):
        return False
    roles = [role_in(_UNIT.sub(" ", title)) for title in titles[1:]]
    return Role.AFTER in roles and any(role and role.is_base for role in roles)


def is_row(line: Line, header: Line | None) -> bool:
    """Return whether a line below the titles is a row."""
    if header is None or not set(line.text).difference("|-+=: "):
        return False
    return "|" in line.text if "|" in header.text else len(line.cells) > 1


def columns_of(header: Line) -> list[Column]:
    """Describe the columns by their titles; raises Unreadable if the meaning of one is not certain."""
    names, *titles = header.cells
    columns = [Column(names), *map(_column, titles)]
    sides = [(column.metric, column.role.is_base) for column in columns if column.role]
    if len(set(sides)) < len(sides):
        raise Unreadable(Fault.REPEATED, header.text)
    if any((metric, not is_base) not in sides for metric, is_base in sides):
        raise Unreadable(Fault.UNKNOWN_COLUMN, header.text)
    named = [column for column in columns if column.role]
    if any(differ_in_conditions(old.title, new.title) for old, new in combinations(named, 2)):
        raise Unreadable(Fault.OTHER_CONDITIONS, header.text)
    return columns


def _column(title: str) -> Column:
    bare = _UNIT.sub(" ", title).strip()
    role, rest = role_in(bare), _METRIC.fullmatch(SIDES.sub(" ", bare).lower())
    if role is None and _DERIVED.search(title):
        return Column(title)
    units = [unit for unit in _UNIT.findall(title) if _metric_of(unit)]
    if role is None or len(units) > 1 or not rest:
        raise Unreadable(Fault.UNKNOWN_COLUMN, title)
    metric = "cpu_time" if rest["cpu"] else "real_time" if rest["real"] else _metric_of("".join(units))
    return Column(title, role, metric, "".join(units))


def read_row(line: Line, columns: Sequence[Column]) -> list[Claim]:
    """Return a claim for each metric of a row; raises Unreadable if a part cannot be read safely."""
    name, *texts = [_SCATTER.sub("", cell).strip() for cell in line.cells]
    if "|" not in line.text:
        texts = [text for text in texts if text]  # benchstat's p-values have no title
    if len(texts) + 1 != len(columns):
        raise Unreadable(Fault.NOT_ALIGNED, line.text)
    _check_name(name, columns)
    sides: dict[bool, dict[str, Cell]] = {True: {}, False: {}}
    for column, text in zip(columns[1:], texts, strict=True):
        if column.role and text not in _EMPTY:
            metric, cell = cell_of(column, text)
            sides[column.role.is_base][metric] = cell
    if all(sides.values()) and sides[True].keys() != sides[False].keys():
        raise Unreadable(Fault.TWO_UNITS, line.text)
    claims = []
    for metric in sides[True].keys() & sides[False].keys():
        claim = claim_of(line.number, name, metric, sides[True][metric], sides[False][metric])
        claims.append(claim)
        for column, text in zip(columns[1:], texts, strict=True):
            if column.role is None and claim.ratio and len(sides[True]) == 1:
                check_change(column.title, text, claim.ratio, claim.rounding)
    return sorted(claims, key=lambda claim: claim.metric, reverse=True)


def claim_of(line: int, name: str, metric: str, old: Cell, new: Cell) -> Claim:
    """Compare two values of a metric, in the unit of the old one."""
    value = new.value * (PER_SECOND[old.unit] / PER_SECOND[new.unit] if new.unit else 1)
    ratio, rounding = quotient(value, old.value), old.rounding + new.rounding
    labels = old.title, new.title
    return Claim(line, name, metric, old.value, value, ratio, old.unit, *labels, rounding=rounding)


def _check_name(name: str, columns: Sequence[Column]) -> None:
    is_printed = any(_BENCHSTAT.search(each.title) for each in columns)
    are_benchmarks = is_printed or _BENCHMARKS.fullmatch(columns[0].title)
    is_benchmark = are_benchmarks or _BENCHMARK.search(name) or family_of(name) != name
    is_file = _FILE.search(name) and not _BENCHMARK.match(name)
    if not (_NAME.fullmatch(name) and is_name(name)) or not is_benchmark or is_file:
        raise Unreadable(Fault.BAD_NAME, name)


def cell_of(column: Column, text: str) -> tuple[str, Cell]:
    """Read a cell; return its metric too. Raises Unreadable if it is no number with a unit."""
    found = _VALUE.fullmatch(text)
    digits, unit = (found[1], found[2] or column.unit) if found else (text, "")
    value, metric = number(digits), _metric_of(unit)
    if column.unit and (unit_of(unit) or unit) != (unit_of(column.unit) or column.unit):
        raise Unreadable(Fault.TWO_UNITS, f"{column.unit}, {unit}")
    if not metric or (column.metric and column.metric.endswith("_time") != (metric == "real_time")):
        raise Unreadable(Fault.NO_UNIT, text)
    rounding = rounding_of(digits)
    if time := unit_of(unit):
        return column.metric or metric, Cell(column.title, value, time, rounding)
    prefix = (_RATE.fullmatch(unit) or ("", ""))[1]
    factor = scaled(f"1{prefix}", BINARY if prefix.endswith("i") else DECIMAL)
    return metric, Cell(column.title, value * (factor[0] if factor else 1), "", rounding)


def _metric_of(unit: str) -> str:
    if rate := _RATE.fullmatch(unit):
        return "bytes_per_second" if rate[2] else "items_per_second"
    return "real_time" if unit_of(unit) else ""


def check_change(title: str, text: str, ratio: float, rounded: float) -> None:
    """Compare a printed change with that of the values; raises Unreadable if none of its meanings fits."""
    found = _CHANGE.fullmatch(text)
    sign, digits, decimals, mark = found.groups() if found else ("", "", "", "")
    is_percent, has_sign = mark == "%" or (not mark and "%" in title), sign and not _SAVING.search(title)
    if not found or not (is_percent or mark):
        return
    unit = 100 if is_percent else 1
    printed = float(digits) / unit * (-1 if has_sign and sign != "+" else 1)
    allowed = (rounded + 0.01) * (1 + abs(printed)) + 0.6 / unit / 10.0 ** len(decimals or "")
    meant = [ratio - is_percent, 1 / ratio - is_percent]
    meant = meant[:1] if has_sign else [abs(each) for each in meant]
    if all(abs(each - printed) > allowed for each in meant):
        raise Unreadable(Fault.CONTRADICTION, f"{title}: {text}")
