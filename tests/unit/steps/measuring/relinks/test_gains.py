"""Gains are measured again on relinked programs, too, and block nobody."""

from __future__ import annotations

from typing import TYPE_CHECKING

from service.domain.runs.vote import Outcome
from service.domain.verdict.comparison.link_layout import PAIRS
from service.domain.verdict.inference.reasons import Reason, ReasonKind
from service.domain.verdict.inference.verdict import Verdict
from tests.unit.steps.measuring.relinks.test_confirm_layout import BASE, SEVEN, Machine, verdict_of

if TYPE_CHECKING:
    from pathlib import Path

GAINS = {"BM_slow": 0.9e-6, "BM_same": 1e-6}


def test_a_gain_of_one_link_is_taken_back_and_does_not_withhold_the_vote(tmp_path: Path) -> None:
    patch = {"benchmarks": GAINS, "linked again": {"benchmarks": BASE}}
    machine = Machine(tmp_path, patch=patch)
    machine.work()
    found = machine.judge()
    verdict, (reason,) = verdict_of(found, "BM_slow")

    assert (verdict, reason.kind) == (Verdict.UNDECIDED, ReasonKind.LAYOUT_REFUTED_GAIN)
    assert found.judgement.outcome is Outcome.UNDECIDED


def test_a_gain_without_possible_relinks_stays_without_a_warning(tmp_path: Path) -> None:
    machine = Machine(tmp_path, patch={"benchmarks": GAINS, "does not link again": 1})
    report = machine.work()
    found = machine.judge()

    assert not any("relink" in cause for cause in report.causes)
    assert found.judgement.outcome is Outcome.PASSED
    assert verdict_of(found, "BM_slow") == (Verdict.FASTER, (Reason(ReasonKind.LAYOUT_POSSIBLE),))


def test_gains_are_measured_on_relinks_after_all_slow_downs(tmp_path: Path) -> None:
    machine = Machine(tmp_path, patch={"benchmarks": {"BM_slow": 1.05e-6, "BM_same": 0.9e-6}})
    machine.work()
    relinked = [pattern for _, pattern in machine.sandbox.launches[-4 * PAIRS * len(SEVEN) :]]

    assert relinked == [
        pattern for pattern in ("^(BM_slow)$", "^(BM_same)$") for _ in range(2 * PAIRS * len(SEVEN))
    ]
    assert verdict_of(machine.judge(), "BM_same")[0] is Verdict.FASTER
