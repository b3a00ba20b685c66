"""Check what an operator writes about a closure, and tell when it counts."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from service.domain.machines.closures import Closure, closure_of, moment_in
from service.domain.values.errors import BadInput

NOW = datetime(2026, 11, 28, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)


@pytest.mark.parametrize(
    ("begins_in", "ends_in", "is_current"),
    [(-1, None, True), (0, None, True), (1, None, False), (-2, -1, False), (-1, 0, False), (-1, 1, True)],
)
def test_a_closure_counts_from_its_beginning_until_before_its_end(
    begins_in: int, ends_in: int | None, *, is_current: bool
) -> None:
    ends_at = None if ends_in is None else NOW + ends_in * HOUR
    closure = Closure(begins_at=NOW + begins_in * HOUR, ends_at=ends_at, reason="new kernel", closed_by="ann")
    assert closure.is_current(NOW) is is_current


def test_a_moment_without_an_offset_is_in_utc() -> None:
    assert moment_in(" 2026-11-28T14:00 ", "until") == NOW + 2 * HOUR
    assert moment_in("2026-11-28 15:00+01:00", "until") == NOW + 2 * HOUR
    assert moment_in("", "until") is None
    with pytest.raises(BadInput, match=r"until: must be like .* not 'noon'"):
        moment_in("noon", "until")


def test_a_closure_begins_now_at_the_earliest_and_ends_later() -> None:
    assert closure_of("new kernel", "ann", NOW, NOW - HOUR).begins_at == NOW
    for begins_at, ends_at in ((None, NOW), (NOW + HOUR, NOW + HOUR)):
        with pytest.raises(BadInput, match="until: must be later than"):
            closure_of("new kernel", "ann", NOW, begins_at, ends_at)


def test_a_reason_says_something() -> None:
    with pytest.raises(BadInput, match="reason: must say why"):
        closure_of("  ab\u202e  ", "ann", NOW)
