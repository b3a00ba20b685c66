"""Rows that relinks judge keep what was known of them, and those judged by another metric follow it."""

from __future__ import annotations

import pytest

from service.domain.measuring.launch import Launch
from service.domain.measuring.metric import metric_named
from service.domain.values.identity import Side
from service.domain.verdict.comparison.link_layout import PAIRS, VARIANTS, confirm, suspects
from service.domain.verdict.inference.reasons import Reason, ReasonKind
from service.domain.verdict.inference.verdict import Verdict
from tests.unit.domain.verdict.comparison.test_link_layout import (
    NOT_CHECKED,
    POLICY,
    RATE,
    ROW,
    SLOWER,
    judged,
)


@pytest.mark.parametrize(
    ("seconds", "verdict", "kind"),
    [
        (1.0, Verdict.UNDECIDED, ReasonKind.LAYOUT_REFUTED),
        (1.05, Verdict.SLOWER, ReasonKind.LAYOUT_CONFIRMED),
    ],
)
def test_a_rate_judged_by_the_time_follows_it(seconds: float, verdict: Verdict, kind: ReasonKind) -> None:
    """The patch reports half the bytes for the same work, which no relink may take for a slow-down."""
    launches = [
        Launch(index, side, "bench", {"BM_a": values}, {}, variant=variant)
        for variant in VARIANTS
        for index in range(PAIRS)
        for side, values in (
            (Side.BASE, {"cpu_time": 1.0, "bytes_per_second": 100.0}),
            (Side.PATCH, {"cpu_time": seconds, "bytes_per_second": 50.0 / seconds}),
        )
    ]
    judged_by = Reason(ReasonKind.JUDGED_BY, (ROW.metric.label,))
    rate = RATE._replace(row=ROW._replace(metric=metric_named("bytes_per_second")), reasons=(judged_by,))
    time, followed = confirm([SLOWER, rate], launches, POLICY)

    assert [time.verdict, followed.verdict] == [verdict, verdict]
    assert time.reasons[0].kind is kind
    assert followed.reasons == (*time.reasons, judged_by)
    assert suspects([SLOWER, rate], POLICY) == (SLOWER,)


def test_reasons_of_the_programs_as_built_stay_behind_that_of_relinks() -> None:
    """Without it nobody would know that the time per item is compared."""
    work = Reason(ReasonKind.WORK_CHANGED, ("items_per_second", 2.0))
    found = SLOWER._replace(reasons=(work,))

    assert confirm([found], [], POLICY)[0].reasons == (*NOT_CHECKED, work)
    for ratio, kind in ((1.05, ReasonKind.LAYOUT_CONFIRMED), (1.0, ReasonKind.LAYOUT_REFUTED)):
        reasons = judged(*[ratio] * 7, found=found).reasons
        assert [each.kind for each in reasons] == [kind, ReasonKind.WORK_CHANGED]
