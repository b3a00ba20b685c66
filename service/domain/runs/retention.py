"""Say how long records of each kind are kept.

Builds, runs, votes, overrides, comparisons and the audit log are never deleted.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from service.domain.values.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime


class Kind(StrEnum):
    """Records that an operator may keep for a number of days."""

    EVENTS = "events"
    LOGS = "logs"
    FAILED_LOGS = "failed-logs"
    FAILURES = "failures"
    PROGRAMS = "programs"
    MERGED_PROGRAMS = "merged-programs"
    PAIRS = "pairs"
    MERGED_PAIRS = "merged-pairs"
    SAMPLES = "samples"
    MERGED_SAMPLES = "merged-samples"

    @property
    def stored_as(self) -> str:
        """The name under which its size is shown; some kinds share a table."""
        return self.removeprefix("merged-").removeprefix("failed-")


@dataclass(frozen=True, slots=True)
class Kept:
    """Days for which records are kept by default, None for ever, and the fewest that can be set."""

    days: int | None
    least: int


KEPT: Final[Mapping[Kind, Kept]] = MappingProxyType(
    {
        # An event that Gerrit sends again later is handled again, which changes nothing.
        Kind.EVENTS: Kept(30, least=7),
        Kind.LOGS: Kept(90, least=7),
        # A log that explains a failure is looked at again when the failure comes back.
        Kind.FAILED_LOGS: Kept(400, least=30),
        Kind.FAILURES: Kept(400, least=30),
        # Days without use. A build, which ends within a day, may still need its program; later ones build it
        # again.
        Kind.PROGRAMS: Kept(30, least=2),
        Kind.MERGED_PROGRAMS: Kept(90, least=2),
        # Nobody can measure them again: an operator decides.
        Kind.PAIRS: Kept(None, least=14),
        Kind.MERGED_PAIRS: Kept(None, least=90),
        # Comparisons keep ratio, interval and error, all that trends show.
        Kind.SAMPLES: Kept(None, least=30),
        Kind.MERGED_SAMPLES: Kept(None, least=400),
    }
)
ARTIFACT_GRACE: Final = (
    24 * 3600.0
)  # seconds from storing an artifact to the row that names it: a build's most
UNNEEDED: Final = "unneeded files"  # artifacts that no record names
RECENT: Final = "recent files"  # those whose record may be on its way
MOST_DAYS: Final = 36_500

Policy = dict[Kind, int | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Supply:
    """Records of a kind, and how many of them have been kept long enough; None: they are kept for ever."""

    records: int
    expired: int | None
    oldest_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredSize:
    """Room that records of one name took in the database and in artifacts when it was measured last."""

    name: str
    records: int
    database_bytes: int
    artifacts: int
    artifact_bytes: int


def policy_with(given: Mapping[str, int]) -> Policy:
    """Return the days for which each kind is kept, where some may differ from the default.

    Raises:
        BadInput: there is no such kind, or the days are out of its range.
    """
    if unknown := sorted(set(given) - set(Kind)):
        raise BadInput(f"must be one of {', '.join(Kind)}", unknown[0][:50])
    for kind, days in given.items():
        least = KEPT[Kind(kind)].least
        if not least <= days <= MOST_DAYS:
            raise BadInput(f"must be a number of days from {least} to {MOST_DAYS}", kind)
    return {kind: given.get(kind, kept.days) for kind, kept in KEPT.items()}
