"""Read the console output of Google Benchmark, from version 0.1 to 1.9."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from service.domain.claims.values import LEVELS, SCATTERS, Fault, Row, Unreadable
from service.domain.claims.words import (
    BINARY,
    DECIMAL,
    is_like_number,
    is_name,
    number,
    rounding_of,
    scaled,
    unit_of,
)
from service.domain.measuring.formats.row import TIMES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from service.domain.claims.words import Line

_RATES: Final = {"items/s": "items_per_second", "B/s": "bytes_per_second"}
# Rows without times: fitted complexities, and benchmarks that did not run.
_FITTED: Final = ("_BigO", "_RMS")
_UNMEASURED: Final = frozenset({"ERROR", "SKIPPED", "SKIPPED:"})
_TITLES: Final = 3  # Benchmark, Time, CPU
_WHOLE: Final = 6  # words of a row: name, two times with units, iterations


class Layout(NamedTuple):
    """Columns: ``unit`` of times, if the titles have it as before 1.0, and ``base`` of k, if known."""

    unit: str | None
    has_iterations: bool
    base: int | None


def is_header(line: Line) -> bool:
    """Return whether a line has the titles of the columns."""
    if len(line.words) < _TITLES or line.words[0] != "Benchmark" or "Old" in line.words:
        return False
    return line.words[1].startswith("Time") and line.words[2].startswith("CPU")


def is_row(line: Line, header: Line | None) -> bool:
    """Return whether a line is a row; below a header, also a damaged one."""
    words = line.words
    if header is None or len(words) < _TITLES or is_like_number(words[0]):
        return _is_whole(words)
    if words[0].endswith(_FITTED) or words[1] in _UNMEASURED:
        return True
    if _unit_in(header.words[1]):
        return is_like_number(words[1]) and is_like_number(words[2])
    return (len(line.cells) > 1 or is_like_number(words[1])) and any(map(_is_unit, words[1:]))


def layout_of(header: Line | None, rows: Sequence[Line]) -> Layout:
    """Read the titles; raises Unreadable if times have two units."""
    words = [word for line in rows for word in line.words]
    titles = header.words if header else ("", "", "", "Iterations")
    unit = _unit_in(titles[1])
    if unit != _unit_in(titles[2]):
        raise Unreadable(Fault.TWO_UNITS, " ".join(titles[:_TITLES]))
    base = None
    if any(word.startswith(("items_per_second=", "bytes_per_second=")) for word in words):
        base = DECIMAL
    elif "items/s" in words or any(word.endswith("B/s") for word in words):
        base = BINARY
    elif header and "  " in header.text.strip():
        # Version 1.5 made the columns wider and the prefixes decimal. Squeezed titles do not tell.
        base = BINARY if "CPU Iterations" in header.text else DECIMAL
    return Layout(unit, "Iterations" in titles, base)


def read_row(line: Line, layout: Layout) -> list[Row]:
    """Read a row; return none if it has no times. Raises Unreadable if a part cannot be read safely."""
    words = line.words
    if words[0].endswith(_FITTED) or words[1] in _UNMEASURED:
        return []
    starts = [k for k in range(len(words) - 1) if is_like_number(words[k]) and _is_unit(words[k + 1])]
    at = 1 if layout.unit else starts[0] if starts else len(words)
    name = " ".join(words[:at])
    # A name may have blanks, if a column ends after it.
    is_split = at > 1 and (name != line.cells[0] or is_like_number(words[at - 1]))
    if is_split or not is_name(name):
        raise Unreadable(Fault.BAD_NAME, line.text)
    real, cpu, unit, rest = _times(line, starts, layout.unit)
    aggregate = next((each for each in LEVELS + SCATTERS if name.endswith(f"_{each}")), None)
    if unit == "%" and aggregate != "cv":
        raise Unreadable(Fault.NO_UNIT, line.text)
    iterations = None
    if layout.has_iterations or (rest and _is_count(rest[0])):
        if not rest or not _is_count(rest[0]):
            raise Unreadable(Fault.NOT_ALIGNED, line.text)
        iterations, rest = int(number(rest[0])), rest[1:]
    times = dict(zip(TIMES, (number(real), number(cpu)), strict=True))
    rounding = dict(zip(TIMES, map(rounding_of, (real, cpu)), strict=True))
    counters, label = _counters(rest, layout.base)
    values = {metric: value for metric, (value, _) in counters.items()}
    rounding = {metric: half for metric, (_, half) in counters.items()} | rounding
    return [Row(line.number, name, unit, times, iterations, values, label, aggregate, rounding)]


def _is_unit(word: str) -> bool:
    return word == "%" or unit_of(word) is not None


def _is_count(word: str) -> bool:
    return word.replace(",", "").isdecimal()


def _is_whole(words: Sequence[str]) -> bool:
    """Return whether words are a name, two times with units, iterations, and no third time."""
    if len(words) < _WHOLE or is_like_number(words[0]) or not _is_count(words[5]):
        return False
    are_times = all(is_like_number(words[k]) and _is_unit(words[k + 1]) for k in (1, 3))
    return are_times and not any(map(_is_unit, words[6:7]))


def _unit_in(title: str) -> str | None:
    return unit_of(title.partition("(")[2].removesuffix(")"))


def _times(line: Line, starts: Sequence[int], unit: str | None) -> tuple[str, str, str, Sequence[str]]:
    """Return both times, their unit, and the words after them."""
    if unit:
        return line.words[1], line.words[2], unit, line.words[3:]
    if len(starts) != 2 or starts[1] != starts[0] + 2:  # noqa: PLR2004 - real and CPU time
        raise Unreadable(Fault.NOT_ALIGNED, line.text)
    real, real_unit, cpu, cpu_unit, *rest = line.words[starts[0] :]
    unit = unit_of(real_unit) or real_unit
    if unit != (unit_of(cpu_unit) or cpu_unit):
        raise Unreadable(Fault.TWO_UNITS, line.text)
    return real, cpu, unit, rest


def _counters(words: Sequence[str], base: int | None) -> tuple[dict[str, tuple[float, float]], str | None]:
    """Read counters and rates, each with its rounding; what follows them is the label."""
    found: list[tuple[str, tuple[float, float]]] = []
    at = 0
    while at < len(words):
        name, _, value = words[at].partition("=")
        unit = "".join(words[at + 1 : at + 2])
        if name and value:
            # SetBytesProcessed() asks for binary prefixes, which 1.5 to 1.7 print like decimal ones.
            cell = scaled(value, BINARY if name == "bytes_per_second" else base)
            if cell is None and not is_like_number(value):
                break
        else:
            value = words[at]
            cell = scaled(value, base) if value.endswith("B/s") or unit in _RATES else None
            if not cell or (cell[1] or unit) not in _RATES:
                break
            name = _RATES[cell[1] or unit]
            at += cell[1] == ""
        found += [(name, (cell[0], rounding_of(value)))] if cell else []
        at += 1
    if len(dict(found)) < len(found):
        raise Unreadable(Fault.REPEATED, " ".join(words[:at]))
    return dict(found), " ".join(words[at:]) or None
