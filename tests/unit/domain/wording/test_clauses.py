from __future__ import annotations

import pytest

from service.domain.verdict.inference.reasons import Reason, ReasonKind
from service.domain.wording.clauses import MAX_CLAUSE, clause_of, explained

WIDE = Reason(ReasonKind.WIDE_INTERVAL, (0.05, 1.039))
MORE = Reason(ReasonKind.MORE_PAIRS, (31.0, 120.0, 180.0, 0.01))
LONGER = Reason(ReasonKind.REAL_TIME_LONGER, (2.3, 0))
CONFIRMED = Reason(ReasonKind.LAYOUT_CONFIRMED, (1.05, 1.06, 1.07))
PROBATION = Reason(ReasonKind.ON_PROBATION, (0, 40, 0, 3))


@pytest.mark.parametrize(
    ("reasons", "clause"),
    [
        ([], ""),
        ([WIDE, MORE, LONGER], "about 31 more pairs (2 min) would decide it"),
        ([LONGER, WIDE], "real time is compared, too"),
        ([LONGER, CONFIRMED, PROBATION], "not counted until 40 A/A pairs"),
        ([CONFIRMED], "confirmed on 3 relinked programs"),
        ([Reason(ReasonKind.LAYOUT_REFUTED, (1, 1.0, 1.1))], "slower on 1 of 2 relinked programs"),
        ([Reason(ReasonKind.FAILS, ("Pool did not drain",))], "Pool did not drain"),
        (
            [Reason(ReasonKind.FAILS_SOMETIMES, ("patch", 3, 12, "x"))],
            "fails in 3 of 12 launches of the patch",
        ),
        ([WIDE], "only known to ±3.9 %"),
    ],
)
def test_a_row_has_the_clause_that_matters_most(reasons: list[Reason], clause: str) -> None:
    assert clause_of(reasons) == clause


FACTS = {
    **dict.fromkeys(ReasonKind, ()),
    ReasonKind.TOO_FEW_PAIRS: (1, 6),
    ReasonKind.WIDE_INTERVAL: (0.05, 1.039),
    ReasonKind.MORE_PAIRS: (31,),
    ReasonKind.OWN_TIME: (3.0, 2.0),
    ReasonKind.NOT_IN_PATCH: ("cpu_time",),
    ReasonKind.NOT_IN_BASE: ("cpu_time",),
    ReasonKind.SOMETIMES_IN_BASE: ("cpu_time", 1, 2),
    ReasonKind.UNUSABLE: ("patch", "it is not JSON " * 20),
    ReasonKind.FAILS: ("words " * 50,),
    ReasonKind.FAILS_IN_BASE: ("words " * 50,),
    ReasonKind.FAILS_SOMETIMES: ("base", 1, 2, "words " * 50),
    ReasonKind.ONLY_PATCH_FAILS: (1, 2, "words " * 50),
    ReasonKind.ONLY_PATCH_ZERO: (1, 2),
    ReasonKind.ONLY_PATCH_SCATTERS: (3.0,),
    ReasonKind.JUDGED_BY: ("cpu_time",),
    ReasonKind.WORK_CHANGED: ("items_per_second", 1.2),
    ReasonKind.REAL_TIME_LONGER: (2.3, 0),
    ReasonKind.REAL_TIME_MOVED: (1.3, 0),
    ReasonKind.LAYOUT_CONFIRMED: (1.05, 1.06),
    ReasonKind.LAYOUT_REFUTED: (1, 1.05, 1.06),
    ReasonKind.LAYOUT_BUILT_AGAIN: (1, 1.05, 1.06),
    ReasonKind.LAYOUT_REFUTED_GAIN: (1, 0.95, 0.96),
    ReasonKind.LAYOUT_AS_TEXT: ("words " * 50,),
    ReasonKind.SECOND_LIFTS: ("same", 24, 1.01),
    ReasonKind.SECOND_STANDS: ("slower", 24, 1.09),
    ReasonKind.CONTROL: (1.001, 0.997, 1.004, 14),
    ReasonKind.OWN_DIFFERENCE: (1.05, 1.048, 1.052, 14),
    ReasonKind.SUSPENDED: (2, 9),
    ReasonKind.ON_PROBATION: (0, 40, 0, 3),
    ReasonKind.NOISY: (0.02,),
    ReasonKind.FAR_OFF: (0.2,),
}


@pytest.mark.parametrize("kind", ReasonKind)
def test_every_kind_has_a_short_clause(kind: ReasonKind) -> None:
    clause = clause_of([Reason(kind, FACTS[kind])])
    assert 0 < len(clause) <= MAX_CLAUSE


def test_rows_with_such_reasons_share_one_explanation() -> None:
    assert explained([WIDE, MORE]) == explained([MORE])
    assert len(explained([MORE, LONGER, CONFIRMED, PROBATION])) == 4
    assert explained([Reason(ReasonKind.FAILS, ("x",))]) == ()
