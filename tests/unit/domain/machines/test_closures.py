"""Check what an operator writes about a closure, and tell when it counts."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from service.domain.machines.closures import AHEAD, Closure, closing_of, moment_in
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


def test_a_closure_that_begins_at_once_leaves_the_moment_to_what_keeps_it() -> None:
    assert closing_of("new kernel", "ann", NOW, NOW - HOUR).begins_at is None
    assert closing_of("new kernel", "ann", NOW, NOW + HOUR).begins_at == NOW + HOUR


def test_a_closure_ends_after_its_beginning() -> None:
    for begins_at, ends_at in ((None, NOW), (NOW + HOUR, NOW + HOUR)):
        with pytest.raises(BadInput, match="until: must be later than"):
            closing_of("new kernel", "ann", NOW, begins_at, ends_at)


def test_moments_are_within_a_year() -> None:
    """Python has no year 10000, which is where the last moment of 9999 is in UTC."""
    last = moment_in("9999-12-31T23:59-14:00", "until")
    assert closing_of("new kernel", "ann", NOW, None, NOW + AHEAD).ends_at == NOW + AHEAD
    for field, begins_at, ends_at in (("until", None, last), ("from", last, None)):
        with pytest.raises(BadInput, match=f"{field}: must be within a year, before 2027-11-29 12:00 UTC"):
            closing_of("new kernel", "ann", NOW, begins_at, ends_at)
    first = moment_in("0001-01-01T00:00+14:00", "until")
    with pytest.raises(BadInput, match="until: must be later than"):
        closing_of("new kernel", "ann", NOW, None, first)


def test_a_reason_says_something() -> None:
    with pytest.raises(BadInput, match="reason: must say why"):
        closing_of("  ab\u202e  ", "ann", NOW)
