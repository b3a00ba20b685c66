"""``make bench-verdicts``: try rules on recorded A/A sessions, and ours on a program with a knob."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from bench.verdicts.live import measure_live
from bench.verdicts.report import print_outcomes, print_sessions
from bench.verdicts.rules import CUSTOMARY, RULES, SHORT
from bench.verdicts.series import calm, measurable, series_of
from bench.verdicts.session import RECORDED, load_sessions
from bench.verdicts.trial import Trial

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bench.verdicts.session import Session


def main() -> int:
    """Print the tables; return 1 if a goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sessions", type=Path, default=RECORDED)
    parser.add_argument("--half", choices=("tune", "test"), default="test")
    parser.add_argument("--live", type=Path, help="measure the program with a knob, built in this directory")
    given = parser.parse_args()
    sessions = load_sessions(given.sessions)
    half = len(sessions) // 2  # hours apart, rather than every other one
    tune, test = sessions[:half], sessions[half:]
    quiet = quiet_benchmarks(tune)
    print_sessions(sessions, quiet, {"20 × 2 ms": SHORT, "3 × 16 ms": CUSTOMARY})
    still = calm([each for session in tune for each in series_of(session, SHORT)])
    trial = Trial(test if given.half == "test" else tune, quiet, still)
    outcomes = []
    for rule in RULES:
        outcomes.append(trial.run(rule))
        sys.stderr.write(f"tried {rule.name}\n")
    is_met = print_outcomes(outcomes)
    if given.live:
        sys.stdout.write("\nThe program with a knob, measured now\n\n")
        measure_live(given.live.resolve(), quiet)
    return 0 if is_met else 1


def quiet_benchmarks(sessions: Sequence[Session]) -> frozenset[str]:
    """Return the benchmarks that these sessions show to be measurable."""
    return measurable([each for session in sessions for each in series_of(session, SHORT)])


if __name__ == "__main__":
    raise SystemExit(main())
