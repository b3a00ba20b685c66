"""Choose the week that a digest is about."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone

import pytest

from service.domain.trunk.week import Week, end_of, week_to_tell

MONDAY = date(2026, 11, 23)


@pytest.mark.parametrize(
    ("now", "week"),
    [
        (datetime(2026, 11, 30, 5, 59, tzinfo=UTC), None),
        (datetime(2026, 11, 30, 6, 0, tzinfo=UTC), MONDAY),
        (datetime(2026, 12, 1, 5, 59, tzinfo=UTC), MONDAY),
        (datetime(2026, 12, 1, 6, 0, tzinfo=UTC), None),
        (datetime(2026, 12, 3, 1, 0, tzinfo=UTC), None),
        (datetime(2026, 11, 30, 7, 0, tzinfo=timezone(timedelta(hours=2))), None),
    ],
)
def test_digests_of_a_week_leave_in_the_day_after_monday_morning(now: datetime, week: date | None) -> None:
    assert week_to_tell(now) == week


def test_a_week_has_seven_days() -> None:
    assert end_of(MONDAY) == datetime(2026, 11, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("week", "is_news"),
    [
        (Week(measured=40, faster=2), False),
        (Week(found=1), True),
        (Week(fixed=1), True),
        (Week(open=1), True),
    ],
)
def test_commits_alone_are_no_news(week: Week, *, is_news: bool) -> None:
    assert week.is_news is is_news
