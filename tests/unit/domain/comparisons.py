"""Comparisons of every verdict."""

from __future__ import annotations

from typing import Any

from service.domain.measuring.metric import metric_named
from service.domain.verdict.inference.reasons import Reason, ReasonKind
from service.domain.verdict.inference.verdict import ComparedRow, Comparison, Verdict


def row(name: str, metric: str = "cpu_time") -> ComparedRow:
    return ComparedRow("suite", name, metric_named(metric))


def slower(name: str, ratio: float, metric: str = "cpu_time") -> Comparison:
    return Comparison(row(name, metric), Verdict.SLOWER, 24, ratio, (ratio - 0.01, ratio + 0.01), 1.0, ratio)


def reason(kind: ReasonKind, *facts: Any) -> Reason:  # noqa: ANN401 - also pytest.approx
    return Reason(kind, facts)


WIDE = Reason(ReasonKind.WIDE_INTERVAL, (0.01, 1.03))
SAME = Comparison(row("BM_same"), Verdict.SAME, 8, 1.0, (0.995, 1.005), 1.0, 1.0)
FASTER = Comparison(row("BM_fast"), Verdict.FASTER, 12, 0.5, (0.49, 0.51), 1.0, 0.5)
UNDECIDED = Comparison(row("BM_noisy"), Verdict.UNDECIDED, 32, 1.01, (0.98, 1.04), 1.0, 1.01, (WIDE,))
UNMEASURED = Comparison(row("BM_never"), Verdict.UNDECIDED, reasons=(Reason(ReasonKind.NO_PAIR),))
NEW = Comparison(row("BM_new"), Verdict.NEW)
REMOVED = Comparison(row("BM_gone"), Verdict.REMOVED)
FAILING = Comparison(
    row("BM_file"), Verdict.FAILING, reasons=(Reason(ReasonKind.FAILS_ON_BOTH, ("no file",)),)
)
BROKEN = Comparison(row("BM_broken"), Verdict.BROKEN, reasons=(Reason(ReasonKind.FAILS, ("no space left",)),))
