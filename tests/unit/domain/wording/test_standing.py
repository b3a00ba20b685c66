from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from service.domain.runs.overrides import Override, OverrideKind
from service.domain.verdict.inference.reasons import Reason, ReasonKind
from service.domain.wording.standing import not_counted, waived_as

OVERRIDE = Override(
    id=1, kind=OverrideKind.OVERRIDE, revision="c0ffee", bug="MB-12", who="Bob", account="1",
    at=datetime(2026, 11, 21, tzinfo=UTC),
)  # fmt: skip


@pytest.mark.parametrize(
    ("waiver", "text"),
    [
        (OVERRIDE, "overridden MB-12"),
        (replace(OVERRIDE, bug="https://bugs.example/browse/MB-12"), "overridden MB-12"),
        (replace(OVERRIDE, kind=OverrideKind.ACCEPT, bug=""), "accepted"),
    ],
)
def test_a_waiver_has_its_bug_in_few_words(waiver: Override, text: str) -> None:
    assert waived_as(waiver) == text


@pytest.mark.parametrize(
    ("reason", "text"),
    [
        (Reason(ReasonKind.ON_PROBATION, (0, 40, 0, 3)), "not counted until 40 A/A pairs"),
        (Reason(ReasonKind.ON_PROBATION, (44, 40, 2, 3)), "not counted until 3 A/A sessions"),
        (Reason(ReasonKind.SUSPENDED, (2, 9)), "not counted: suspended"),
        (Reason(ReasonKind.NOISY, (0.02,)), "not counted: not measurable"),
        (Reason(ReasonKind.LAYOUT_POSSIBLE), ""),
    ],
)
def test_a_slower_result_says_until_when_it_does_not_count(reason: Reason, text: str) -> None:
    assert not_counted([Reason(ReasonKind.LAYOUT_POSSIBLE), reason]) == text
