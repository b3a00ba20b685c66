"""Comparisons as a table for people, or as JSON for programs."""

from __future__ import annotations

import json
import math
import os
import sys
from collections import Counter
from typing import TYPE_CHECKING, Any, Final

import click

from service.domain.inference.verdict import Comparison, Verdict
from service.domain.text import change, interval, plain
from service.domain.wording.reasons import text_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from service.domain.inference.reasons import Reason

# The word carries the meaning; colour only repeats it.
_STYLE: Final[dict[Verdict, dict[str, Any]]] = {
    Verdict.SLOWER: {"fg": "red", "bold": True},
    Verdict.BROKEN: {"fg": "red", "bold": True},
    Verdict.REMOVED: {"fg": "red", "bold": True},
    Verdict.FASTER: {"fg": "green"},
    Verdict.UNDECIDED: {"fg": "yellow"},
}
_HEAD: Final = ("verdict", "change", "95 % interval", "pairs", "metric", "benchmark")
_NAMED: Final = 3  # more names than these, and the reason after them is not found
_TO_THE_RIGHT: Final = frozenset({"change", "95 % interval", "pairs"})


def print_comparisons(comparisons: Sequence[Comparison]) -> None:
    """A table on stdout, as wide as it needs."""
    cells = [_cells(each) for each in comparisons]
    widths = [max(map(len, column)) for column in zip(_HEAD, *cells, strict=True)]
    is_coloured = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    lines = [_line(_HEAD, widths, {"bold": True} if is_coloured else {}, are_all_styled=True)]
    for each, row in zip(comparisons, cells, strict=True):
        lines.append(_line(row, widths, _STYLE.get(each.verdict, {}) if is_coloured else {}))
    click.echo("\n".join(lines))


def _cells(each: Comparison) -> tuple[str, ...]:
    return (
        str(each.verdict),
        change(each.ratio) if each.ratio is not None else "",
        interval(*each.interval, each.ratio) if each.interval and each.ratio else "",
        str(each.pairs) if each.pairs else "",
        plain(each.row.metric.label),
        plain(each.row.benchmark),
    )


def _line(
    cells: Sequence[str], widths: Sequence[int], style: dict[str, Any], *, are_all_styled: bool = False
) -> str:
    padded = [
        cell.rjust(width) if name in _TO_THE_RIGHT else cell.ljust(width)
        for name, cell, width in zip(_HEAD, cells, widths, strict=True)
    ]
    if style and are_all_styled:
        return click.style("  ".join(padded).rstrip(), **style)
    first = click.style(padded[0], **style) if style else padded[0]
    return "  ".join((first, *padded[1:])).rstrip()


def print_reasons(comparisons: Sequence[Comparison]) -> None:
    """What the verdicts leave open, on stderr; what is open for many benchmarks alike is said once.

    Of those that more pairs would decide the worst are told one by one.
    """
    short = [each for each in comparisons if each.more_pairs is not None]
    worst = sorted(short, key=lambda each: each.worsening, reverse=True)[:_NAMED]
    untold = {id(each) for each in short}.difference(id(each) for each in worst)
    rest = [each for each in short if id(each) in untold]
    rows = Counter(each.row.benchmark for each in comparisons)
    alike: dict[tuple[Verdict, tuple[Reason, ...]], list[str]] = {}
    for each in comparisons:
        if each.reasons and id(each) not in untold:
            name = _name_of(each) if rows[each.row.benchmark] > 1 else plain(each.row.benchmark)
            alike.setdefault((each.verdict, each.reasons), []).append(name)
    for (verdict, reasons), names in alike.items():
        click.echo(f"{_subject(names, of=len(comparisons))} {verdict}: {plain(text_of(reasons))}", err=True)
    if rest:
        are = "is" if len(rest) == 1 else "are"
        click.echo(f"{len(rest)} more {are} undecided: {_missing_pairs(rest)}", err=True)


def _missing_pairs(comparisons: Sequence[Comparison]) -> str:
    them = "it" if len(comparisons) == 1 else "them"
    wanted = sorted(
        each.more_pairs for each in comparisons if each.more_pairs and not math.isinf(each.more_pairs)
    )
    if not wanted:
        return f"no reasonable number of pairs would decide {them}"
    least, most = f"{wanted[0]:.0f}", f"{wanted[-1]:.0f}"
    hopeless = len(comparisons) - len(wanted)
    whom = f"all but {hopeless} of them" if hopeless else them
    return f"about {least if least == most else f'{least} to {most}'} more pairs would decide {whom}"


def _name_of(each: Comparison) -> str:
    """A row's name where its benchmark has several: in other suites, or by other metrics."""
    places = filter(None, (plain(each.row.suite), plain(each.row.metric.label)))
    return f"{plain(each.row.benchmark)} ({', '.join(places)})"


def _subject(names: Sequence[str], of: int) -> str:
    if len(names) == 1:
        return f"{names[0]} is"
    if len(names) == of:
        return f"All {of} are"
    if len(names) <= _NAMED:
        return f"{', '.join(names[:-1])} and {names[-1]} are"
    return f"{', '.join(names[: _NAMED - 1])} and {len(names) - _NAMED + 1} others are"


def to_json(comparisons: Sequence[Comparison], **more: object) -> str:
    """The stable JSON: ``{"benchmarks": [{name, metric, verdict, ratio, interval, pairs, …}], …}``.

    A row is a line: indenting what is inside would take longer than comparing.
    """
    rows = ",\n".join(f"  {json.dumps(_row(each))}" for each in comparisons)
    rest = "".join(f",\n {json.dumps(key)}: {json.dumps(value)}" for key, value in more.items())
    return f'{{"benchmarks": [\n{rows}\n ]{rest}}}'


def _row(each: Comparison) -> dict[str, Any]:
    found: dict[str, Any] = {
        "name": each.row.benchmark,
        "metric": each.row.metric.name,
        "verdict": str(each.verdict),
        "ratio": each.ratio,
        "interval": list(each.interval) if each.interval else None,
        "pairs": each.pairs,
        "unit": each.row.metric.unit,
        "better": str(each.row.metric.better),
        "base": each.base,
        "patch": each.patch,
    }
    if each.row.suite:
        found["suite"] = each.row.suite
    if each.reasons:
        found["reason"] = text_of(each.reasons)
    return found
