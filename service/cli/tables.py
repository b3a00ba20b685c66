"""Comparisons as a table for people, or as JSON for programs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from service.domain.text import change, interval, plain
from service.domain.verdict import Comparison, Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

# The word carries the meaning; colour only repeats it.
_STYLE = {
    Verdict.SLOWER: "bold red",
    Verdict.BROKEN: "bold red",
    Verdict.REMOVED: "bold red",
    Verdict.FASTER: "green",
    Verdict.UNDECIDED: "yellow",
}


def print_comparisons(comparisons: Sequence[Comparison]) -> None:
    """A table on stdout, as wide as it needs where stdout is no terminal."""
    console = Console(soft_wrap=True, highlight=False)
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("verdict", no_wrap=True)
    for name in ("change", "95 % interval", "pairs"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("metric", no_wrap=True)
    table.add_column("benchmark", overflow="fold")
    for each in comparisons:
        table.add_row(
            Text(each.verdict, style=_STYLE.get(each.verdict, "")),
            change(each.ratio) if each.ratio is not None else "",
            interval(*each.interval, each.ratio) if each.interval and each.ratio else "",
            str(each.pairs) if each.pairs else "",
            each.row.metric.label,
            Text(plain(each.row.benchmark)),
        )
    if not console.is_terminal:
        console = Console(width=200, highlight=False)
    console.print(table)


def print_reasons(comparisons: Sequence[Comparison]) -> None:
    """What the verdicts leave open, on stderr."""
    console = Console(stderr=True, highlight=False, soft_wrap=True)
    for each in comparisons:
        if each.reason:
            console.print(Text(f"{plain(each.row.benchmark)} is {each.verdict}: {plain(each.reason)}"))


def to_json(comparisons: Sequence[Comparison], **more: object) -> str:
    """The stable JSON: ``{"benchmarks": [{name, metric, verdict, ratio, interval, pairs, …}], …}``."""
    return json.dumps({"benchmarks": [_row(each) for each in comparisons], **more}, indent=2)


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
    if each.reason:
        found["reason"] = each.reason
    return found
