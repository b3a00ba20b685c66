"""The lifetime of sessions."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

# A working day without signing in again, and a role that is at most as old as that: it is read at sign-in.
LONGEST_SESSION: Final = timedelta(hours=12)
# A browser left open does not stay signed in overnight, but over lunch and meetings.
LONGEST_IDLE: Final = timedelta(hours=2)
# Each request would otherwise write to the database.
SEEN_PRECISION: Final = timedelta(minutes=1)
