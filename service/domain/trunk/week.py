"""Decide which week a digest is about, and whether anything happened in it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Final

DAYS: Final = 7
_SENT_AT: Final = timedelta(hours=6)  # in UTC, on Mondays: before people in Europe begin to work


@dataclass(frozen=True, slots=True, kw_only=True)
class Week:
    """Counts of seven days on some branches.

    Args:
        measured: merged commits that were measured.
        faster: those that made a benchmark faster.
        found: regressions that were found, without those that a person accepted or rejected.
        fixed: regressions that a person marked as fixed.
        open: regressions that are not closed now.
        untriaged: those of them that nobody has judged.
    """

    measured: int = 0
    faster: int = 0
    found: int = 0
    fixed: int = 0
    open: int = 0
    untriaged: int = 0

    @property
    def is_news(self) -> bool:
        """Return whether it is worth a message: a quiet week without open regressions is not."""
        return bool(self.found or self.fixed or self.open)


def week_to_tell(now: datetime) -> date | None:
    """Return the Monday that began the last week if its digests leave now: in the day after Monday, 6:00 UTC.

    An upgrade on a Thursday sends no digest of a week that is half forgotten.
    """
    today = (now.astimezone(UTC) - _SENT_AT).date()
    return None if today.weekday() else today - timedelta(days=DAYS)


def end_of(week: date) -> datetime:
    """Return the moment when a week ends that begins on this Monday."""
    return datetime.combine(week + timedelta(days=DAYS), time(), UTC)
