"""Keep what was measured of claimed benchmarks that a filter leaves out: it answers only claims."""

from __future__ import annotations

import gzip
import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from service.domain.claims.answers import MeasuredRow
from service.domain.values.errors import BadResults
from service.domain.verdict.explanation.explanation import beside_in, rate_in, read_member, text_in
from service.domain.verdict.inference.verdict import Verdict

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from service.domain.verdict.inference.verdict import Comparison

MOST_LEFT_OUT: Final = 50  # benchmarks of a build
LEAST_PAIRS: Final = 6  # with fewer, no interval by ranks has 95 % confidence
MOST_PAIRS: Final = 20  # twice as many would narrow the intervals by less than a third
MOST_ROWS: Final = 200  # of a build
_MOST_RATIO: Final = 1e100  # so that a ratio and its reciprocal can be computed with
_MOST_JSON: Final = 1 << 20  # bytes
_OF_JOB: Final = {
    "job",
    "same_within",
    "names_metrics",
    "cpus",
    "is_same_program",
    "is_doubtful",
    "renamed",
}  # which the reader knows
# Why there is no ratio. No other verdict is kept: these rows are no part of the judged family.
_WITHOUT_RATIO: Final = frozenset({Verdict.NEW, Verdict.REMOVED, Verdict.BROKEN, Verdict.FAILING})


def left_out_row(found: Comparison) -> MeasuredRow:
    """Keep the ratio of a comparison with a single look, and its interval if it has enough pairs."""
    low, high = found.interval if found.interval and found.pairs >= LEAST_PAIRS else (None, None)
    verdict = found.verdict if found.verdict in _WITHOUT_RATIO else Verdict.UNDECIDED
    names = "", found.row.suite, found.row.benchmark, found.row.metric.name
    return MeasuredRow(*names, verdict, found.pairs, found.ratio, low, high, found.error).with_reasons(
        found.reasons
    )


def pack_left_out(rows: Sequence[MeasuredRow]) -> bytes:
    """Write rows as a gzip member that goes beside explanations; empty without rows."""
    kept = [{name: value for name, value in asdict(row).items() if name not in _OF_JOB} for row in rows]
    return gzip.compress(json.dumps(kept[:MOST_ROWS]).encode(), mtime=0) if rows else b""


def left_out_in(packed: bytes) -> tuple[MeasuredRow, ...]:
    """Read the rows of a build from its packed explanations, without what its job and machine decide.

    Raises:
        BadResults: they cannot be read.
    """
    if not (data := beside_in(packed)):
        return ()
    try:
        return tuple(map(_row, json.loads(read_member(data, _MOST_JSON)[0])[:MOST_ROWS]))
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError) as error:
        raise BadResults(f"the claimed rows cannot be read: {error!r}") from None


def answering(
    compared: Sequence[MeasuredRow], left_out: Iterable[MeasuredRow], benchmarks: Collection[str]
) -> tuple[MeasuredRow, ...]:
    """Add rows left out to the compared ones, of those ``benchmarks`` that were not compared."""
    missing = {*benchmarks}.difference(row.benchmark for row in compared)
    return (*compared, *(row for row in left_out if row.benchmark in missing))


def _row(row: dict[str, Any]) -> MeasuredRow:
    """Read a row that a machine wrote, if its values are of the right kinds."""
    suite, benchmark, metric, per = (text_in(row[name]) for name in ("suite", "benchmark", "metric", "per"))
    numbers = (row[name] for name in ("ratio", "low", "high", "error"))
    *ratios, error = (None if each is None else rate_in(each) for each in numbers)
    if not all(each is None or 1 / _MOST_RATIO <= each <= _MOST_RATIO for each in ratios):
        raise ValueError("not a ratio")
    if type(pairs := row["pairs"]) is not int or not 0 <= pairs <= MOST_PAIRS:
        raise ValueError("not a number of pairs")
    ratio, low, high = ratios
    return MeasuredRow(
        "", suite, benchmark, metric, Verdict(row["verdict"]), pairs, ratio, low, high, error, per
    )
