from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest

from service.domain.measuring.launch import Launch
from service.domain.measuring.listing import Listing
from service.domain.project.benchmark import Suite
from service.domain.project.policy import Policy
from service.domain.values.identity import Side
from service.domain.verdict.calibration.evidence import sessions_of
from service.domain.verdict.comparison.suite import compare_suites
from service.domain.verdict.inference.estimate import MIN_PAIRS
from service.domain.verdict.inference.verdict import Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from service.domain.verdict.calibration.evidence import Session

SUITES = [Suite("s", "p"), Suite("other", "q")]
LISTINGS = [Listing(suite.name, ("BM_a",), ("BM_a",), suite.name == "s") for suite in SUITES]
BOTH = frozenset({"s", "other"})


def launches(ratios: Sequence[float], suite: str = "s", base: float = 1e-6) -> list[Launch]:
    sides: tuple[tuple[Side, Sequence[float]], ...] = ((Side.BASE, [1.0] * len(ratios)), (Side.PATCH, ratios))
    return [
        Launch(pair, side, suite, {"BM_a": {"cpu_time": base * value, "real_time": base * value}}, {})
        for side, values in sides
        for pair, value in enumerate(values)
    ]


def found(measured: list[Launch], suites: frozenset[str] = BOTH) -> Mapping[str, Session]:
    sessions = sessions_of(compare_suites(SUITES, LISTINGS, measured, Policy()), measured, suites)
    return {row.suite: session for row, session in sessions.items()}


def test_a_session_holds_the_log_ratios_of_its_pairs_in_order() -> None:
    ratios = [1.001, 0.999, 1.002, 1.0, 1.0, 1.003, 1.0, 0.998]
    session = found(launches(ratios))["s"]
    assert session.logs == pytest.approx([math.log(ratio) for ratio in ratios])
    assert session.verdict is Verdict.SAME


def test_the_rule_speaks_although_the_programs_are_known_to_be_the_same() -> None:
    session = found(launches([1.2 + k / 1000 for k in range(16)]))["s"]
    assert (session.verdict, session.is_alarm) == (Verdict.SLOWER, True)


def test_only_requested_suites_give_sessions() -> None:
    measured = launches([1.0] * 8) + launches([1.0] * 8, "other")
    assert set(found(measured, frozenset({"s"}))) == {"s"}
    assert set(found(measured)) == {"s", "other"}


def test_too_few_pairs_for_a_verdict_are_no_session() -> None:
    assert found(launches([1.0] * (MIN_PAIRS - 1))) == {}


def test_pairs_without_a_ratio_are_left_out_unless_nothing_differs() -> None:
    assert found(launches([1.0] * 9, base=0.0))["s"].logs == (0.0,) * 9
    lone = Launch(10, Side.BASE, "s", {"BM_a": {"cpu_time": 1.0}}, {})
    assert len(found([*launches([1.0] * 10), lone])["s"].logs) == 10
