"""Sentence of a calibration: the false alarms of its comparisons of a program with itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from service.domain.inference.estimate import MIN_PAIRS
from service.domain.wording.judgement import describe

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from service.domain.calibration.evidence import Session
    from service.domain.inference.verdict import ComparedRow, Comparison


def calibration_cause(rows: Sequence[Comparison], sessions: Mapping[ComparedRow, Session]) -> str:
    """The result of a calibration's sessions, in one sentence."""
    if not sessions:
        return f"no benchmark has the {MIN_PAIRS} pairs that a comparison needs"
    alarms = [row for row in rows if row.row in sessions and sessions[row.row].is_alarm]
    pairs = max(len(session.logs) for session in sessions.values())
    comparisons = "1 comparison" if len(sessions) == 1 else f"{len(sessions)} comparisons"
    of = f"{comparisons} of {pairs} pairs of a program with itself"
    if not alarms:
        return f"no false alarm in {of}"
    worst = max(alarms, key=lambda row: abs(row.worsening))
    word = "alarms" if len(alarms) > 1 else "alarm"
    return f"{len(alarms)} false {word} in {of}; worst: {describe(worst)}"
