"""Comparisons as a table for people, or as JSON for programs."""

from __future__ import annotations

import json
import math
import os
import sys
from collections import Counter, defaultdict
from functools import lru_cache
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
_shown = lru_cache(maxsize=16)(plain)  # for labels of metrics, which most rows share


def print_comparisons(comparisons: Sequence[Comparison]) -> None:
    """Print a table to stdout, as wide as it needs."""
    rows = [_HEAD, *map(_cells, comparisons)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    line = "  ".join(
        f"%{width}s" if name in _TO_THE_RIGHT else f"%-{width}s"
        for name, width in zip(_HEAD, widths, strict=True)
    )
    lines = [(line % row).rstrip() for row in rows]
    if sys.stdout.isatty() and not os.environ.get("NO_COLOR"):
        lines[0] = click.style(lines[0], bold=True)
        for k, each in enumerate(comparisons, start=1):
            if style := _STYLE.get(each.verdict):
                lines[k] = click.style(lines[k][: widths[0]], **style) + lines[k][widths[0] :]
    click.echo("\n".join(lines))


def _cells(each: Comparison) -> tuple[str, ...]:
    return (
        each.verdict,
        change(each.ratio) if each.ratio is not None else "",
        interval(*each.interval, each.ratio) if each.interval and each.ratio else "",
        str(each.pairs) if each.pairs else "",
        _shown(each.row.metric.label),
        plain(each.row.benchmark),
    )


def print_reasons(comparisons: Sequence[Comparison]) -> None:
    """Print to stderr why verdicts are open; a reason that several benchmarks share is printed once.

    Of the benchmarks that more pairs would decide, only the worst are printed one by one.
    """
    short = [each for each in comparisons if each.more_pairs is not None]
    worst = sorted(short, key=lambda each: each.worsening, reverse=True)[:_NAMED]
    unlisted = {id(each) for each in short}.difference(id(each) for each in worst)
    # By identity first: thousands of rows may share the tuple of their reasons, which is slow to hash.
    sharing: defaultdict[tuple[Verdict, int], list[Comparison]] = defaultdict(list)
    for each in comparisons:
        if each.reasons and id(each) not in unlisted:
            sharing[each.verdict, id(each.reasons)].append(each)
    alike: defaultdict[tuple[Verdict, tuple[Reason, ...]], list[Comparison]] = defaultdict(list)
    for found in sharing.values():
        alike[found[0].verdict, found[0].reasons] += found
    rows = Counter([each.row.benchmark for each in comparisons])
    for (verdict, reasons), found in alike.items():
        click.echo(f"{_subject(found, rows)} {verdict}: {plain(text_of(reasons))}", err=True)
    if rest := [each for each in short if id(each) in unlisted]:
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


def _subject(found: Sequence[Comparison], rows: Counter[str]) -> str:
    names = [_name_of(each, rows) for each in found[:_NAMED]]
    if len(found) == 1:
        return f"{names[0]} is"
    if len(found) == rows.total():
        return f"All {len(found)} are"
    if len(found) <= _NAMED:
        return f"{', '.join(names[:-1])} and {names[-1]} are"
    return f"{', '.join(names[: _NAMED - 1])} and {len(found) - _NAMED + 1} others are"


def _name_of(each: Comparison, rows: Counter[str]) -> str:
    """The name of a row, with suite and metric if its benchmark has several rows."""
    name = plain(each.row.benchmark)
    if rows[each.row.benchmark] == 1:
        return name
    return f"{name} ({', '.join(filter(None, (plain(each.row.suite), plain(each.row.metric.label))))})"


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
