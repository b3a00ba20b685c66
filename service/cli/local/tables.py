"""Print comparisons as a table for people, or as JSON for programs."""

from __future__ import annotations

import json
import math
import os
import sys
from collections import Counter, defaultdict
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

import click

from service.domain.project.policy import MOST_PAIRS
from service.domain.values.text import change, interval, plain
from service.domain.verdict.inference.verdict import Comparison, Verdict
from service.domain.wording.reasons import text_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from service.domain.verdict.inference.reasons import Reason

# The word carries the meaning; colour only repeats it.
_STYLE: Final[dict[Verdict, dict[str, Any]]] = {
    Verdict.SLOWER: {"fg": "red", "bold": True},
    Verdict.BROKEN: {"fg": "red", "bold": True},
    Verdict.REMOVED: {"fg": "red", "bold": True},
    Verdict.FASTER: {"fg": "green"},
    Verdict.UNDECIDED: {"fg": "yellow"},
    Verdict.FAILING: {"fg": "yellow"},
}
SCHEMA_VERSION: Final = 1  # of the JSON that commands print; a key that changes its meaning raises it
_HEAD: Final = ("verdict", "change", "95 % interval", "pairs", "metric", "benchmark")
_NAMED: Final = 3  # more names would bury the reason after them
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
    if sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb":
        lines[0] = click.style(lines[0], bold=True)
        for k, comparison in enumerate(comparisons, start=1):
            if style := _STYLE.get(comparison.verdict):
                lines[k] = click.style(lines[k][: widths[0]], **style) + lines[k][widths[0] :]
    click.echo("\n".join(lines))


def _cells(comparison: Comparison) -> tuple[str, ...]:
    return (
        comparison.verdict,
        change(comparison.ratio) if comparison.ratio is not None else "",
        interval(*comparison.interval, comparison.ratio) if comparison.interval and comparison.ratio else "",
        str(comparison.pairs) if comparison.pairs else "",
        _shown(comparison.row.metric.label),
        plain(comparison.row.benchmark),
    )


def print_reasons(comparisons: Sequence[Comparison]) -> None:
    """Print to stderr why verdicts are open; a reason that several benchmarks share is printed once.

    Of the benchmarks that more pairs would decide, only the worst are printed one by one.
    """
    short = [comparison for comparison in comparisons if comparison.more_pairs is not None]
    worst = sorted(short, key=lambda comparison: comparison.worsening, reverse=True)[:_NAMED]
    unlisted = {id(comparison) for comparison in short}.difference(id(comparison) for comparison in worst)
    # By identity first: thousands of rows may share the tuple of their reasons, which is slow to hash.
    sharing: defaultdict[tuple[Verdict, int], list[Comparison]] = defaultdict(list)
    for comparison in comparisons:
        if comparison.reasons and id(comparison) not in unlisted:
            sharing[comparison.verdict, id(comparison.reasons)].append(comparison)
    alike: defaultdict[tuple[Verdict, tuple[Reason, ...]], list[Comparison]] = defaultdict(list)
    for found in sharing.values():
        alike[found[0].verdict, found[0].reasons] += found
    rows = Counter([comparison.row.benchmark for comparison in comparisons])
    for (verdict, reasons), found in alike.items():
        click.echo(f"{_subject(found, rows)} {verdict}: {plain(text_of(reasons))}", err=True)
    if rest := [comparison for comparison in short if id(comparison) in unlisted]:
        are = "is" if len(rest) == 1 else "are"
        click.echo(f"{len(rest)} more {are} undecided: {_missing_pairs(rest)}", err=True)


def print_summary(comparisons: Sequence[Comparison], *, fails: bool) -> None:
    """Print to stdout how many results have each verdict, and whether they would vote −1."""
    counts = Counter(comparison.verdict for comparison in comparisons)
    verdicts = ", ".join(f"{counts[verdict]} {verdict}" for verdict in Verdict if counts[verdict])
    results = "1 result" if len(comparisons) == 1 else f"{len(comparisons)} results"
    click.echo(f"{results}: {verdicts}; {'this' if fails else 'nothing'} would vote -1")


def _missing_pairs(comparisons: Sequence[Comparison]) -> str:
    them = "it" if len(comparisons) == 1 else "them"
    pairs = [comparison.more_pairs for comparison in comparisons if comparison.more_pairs]
    finite = sorted(number for number in pairs if not math.isinf(number))
    if not finite:
        return f"even {MOST_PAIRS} pairs would not decide {them}"
    least, most = f"{finite[0]:.0f}", f"{finite[-1]:.0f}"
    hopeless = len(comparisons) - len(finite)
    decided = f"all but {hopeless} of them" if hopeless else them
    return f"about {least if least == most else f'{least} to {most}'} more pairs would decide {decided}"


def _subject(found: Sequence[Comparison], rows: Counter[str]) -> str:
    names = [_name_of(comparison, rows) for comparison in found[:_NAMED]]
    if len(found) == 1:
        return f"{names[0]} is"
    if len(found) == rows.total():
        return f"All {len(found)} are"
    if len(found) <= _NAMED:
        return f"{', '.join(names[:-1])} and {names[-1]} are"
    return f"{', '.join(names[: _NAMED - 1])} and {len(found) - _NAMED + 1} others are"


def _name_of(comparison: Comparison, rows: Counter[str]) -> str:
    """Name a row, with suite and metric if its benchmark has several rows."""
    row = comparison.row
    name, more = plain(row.benchmark), filter(None, (plain(row.suite), plain(row.metric.label)))
    return name if rows[row.benchmark] == 1 else f"{name} ({', '.join(more)})"


def to_json(comparisons: Sequence[Comparison], **more: object) -> str:
    """Make the stable JSON: ``{"schema_version": 1, "benchmarks": [{name, metric, verdict, …}], …}``.

    Each row is one line, because indenting its content would take longer than comparing.
    """
    rows = ",\n".join(f"  {json.dumps(_row(comparison))}" for comparison in comparisons)
    rest = "".join(f",\n {json.dumps(key)}: {json.dumps(value)}" for key, value in more.items())
    return f'{{"schema_version": {SCHEMA_VERSION},\n "benchmarks": [\n{rows}\n ]{rest}}}'


def _row(comparison: Comparison) -> dict[str, Any]:
    found: dict[str, Any] = {
        "name": comparison.row.benchmark,
        "metric": comparison.row.metric.name,
        "verdict": str(comparison.verdict),
        "ratio": comparison.ratio,
        "interval": list(comparison.interval) if comparison.interval else None,
        "pairs": comparison.pairs,
        "spread": comparison.spread,
        "unit": comparison.row.metric.unit,
        "better": str(comparison.row.metric.better),
        "base": comparison.base,
        "patch": comparison.patch,
    }
    if comparison.row.suite:
        found["suite"] = comparison.row.suite
    if comparison.reasons:
        found["reason"] = text_of(comparison.reasons)
    return found
