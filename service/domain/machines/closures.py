"""Closures of hosts: an operator keeps their machines from new builds, now or in a maintenance window."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from service.domain.values.errors import BadInput
from service.domain.values.text import brief, plain

_FORM: Final = "like 2026-11-28T14:00, in UTC"
LEAST_REASON: Final = 5  # characters: the reason stands on the page of each build that waits
MOST_REASON: Final = 200
AHEAD: Final = timedelta(days=366)
"""A closure begins and ends within this time: a later moment is a slip of the pen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Closure:
    """A closed host begins no build; what it runs already goes on.

    Args:
        begins_at: the first moment without new builds.
        ends_at: the first moment with new builds again; None: an operator reopens the host.
        reason: why, in the operator's words.
        closed_by: the operator.
    """

    begins_at: datetime
    ends_at: datetime | None = None
    reason: str
    closed_by: str

    def is_current(self, now: datetime) -> bool:
        """Return whether the host is closed at this moment."""
        return self.begins_at <= now and not self.is_over(now)

    def is_over(self, now: datetime) -> bool:
        """Return whether the host is open again."""
        return self.ends_at is not None and self.ends_at <= now


@dataclass(frozen=True, slots=True, kw_only=True)
class Closing:
    """A closure as an operator asks for it; ``begins_at`` None: now, by the clock of whatever keeps it."""

    begins_at: datetime | None = None
    ends_at: datetime | None = None
    reason: str
    closed_by: str


def moment_in(written: str, field: str) -> datetime | None:
    """Read a moment as a form or a command has it, in UTC without an offset; None if it is empty.

    Raises BadInput, with the field, for a text that is no moment.
    """
    if not written.strip():
        return None
    try:
        moment = datetime.fromisoformat(written.strip())
    except ValueError:
        raise BadInput(f"must be {_FORM}, not {brief(written)}", field) from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def closing_of(
    reason: str,
    closed_by: str,
    now: datetime,
    begins_at: datetime | None = None,
    ends_at: datetime | None = None,
) -> Closing:
    """Check what an operator wrote, and make a closing of it; it begins now unless ``begins_at`` is later.

    Raises:
        BadInput: the reason says too little, the closure would end before it begins, or a moment is not in
            the next year.
    """
    words = plain(reason.strip(), MOST_REASON)
    if len(words) < LEAST_REASON:
        raise BadInput(f"must say why, in at least {LEAST_REASON} characters", "reason")
    for field, moment in (("from", begins_at), ("until", ends_at)):
        if moment is not None and moment > now + AHEAD:
            raise BadInput(f"must be within a year, before {_minute(now + AHEAD)}", field)
    begin = None if begins_at is None or begins_at <= now else begins_at
    if ends_at is not None and ends_at <= (begin or now):
        raise BadInput(f"must be later than {_minute(begin or now)}, when the closure begins", "until")
    return Closing(begins_at=begin, ends_at=ends_at, reason=words, closed_by=closed_by)


def _minute(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
