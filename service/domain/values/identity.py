"""Keys and names of changes, builds and series."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

# The last ~ separates name and number, whatever characters the name has.
ADDRESS: Final = r"^(?:[^\n]{1,100}~)?[1-9][0-9]{0,9}$"


class Side(StrEnum):
    """The two sides of a pair."""

    BASE = "base"
    PATCH = "patch"


class RunKind(StrEnum):
    """Purposes of a run."""

    CHECK = "check"
    POST_SUBMIT = "post-submit"
    CALIBRATION = "calibration"
    ANCHOR = "anchor"  # compares two merged commits that are far apart
    LONGER = "longer"  # more pairs of an undecided merged commit, or an anchor once more

    @property
    def is_for_idle_pools(self) -> bool:
        """Return whether such runs wait until a pool has nothing else to do, and cast no vote."""
        return self in {RunKind.CALIBRATION, RunKind.ANCHOR, RunKind.LONGER}

    @property
    def has_fixed_pairs(self) -> bool:
        """Return whether such runs measure a number of pairs that does not depend on the results."""
        return self in {RunKind.CALIBRATION, RunKind.ANCHOR}


@dataclass(frozen=True, slots=True, order=True)
class ChangeKey:
    """A change: its number is unique within one review server only.

    ``project`` is empty if it is not known. With it, a review server finds the change more surely.
    """

    instance: str
    number: int
    project: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class ChangeAddress:
    """A change's part of a URL: ``123``, or ``core~123`` with the name of its review server.

    ``instance`` is None for a number alone, which several review servers may have.
    """

    number: int
    instance: str | None = None

    @classmethod
    def parse(cls, text: str) -> ChangeAddress:
        """Parse an address; raise ValueError if it does not match :data:`ADDRESS`."""
        if re.fullmatch(ADDRESS, text) is None:
            raise ValueError("an address is a change's number, or INSTANCE~NUMBER")
        instance, separator, number = text.rpartition("~")
        return cls(int(number), instance if separator else None)

    def __str__(self) -> str:
        return str(self.number) if self.instance is None else f"{self.instance}~{self.number}"


@dataclass(frozen=True, slots=True, order=True)
class BuildName:
    """One numbered execution of one job, written ``job/number``."""

    job: str
    number: int

    def __str__(self) -> str:
        return f"{self.job}/{self.number}"


@dataclass(frozen=True, slots=True, order=True)
class SeriesKey:
    """One metric of one benchmark on one machine class and branch, over time."""

    instance: str
    project: str
    branch: str
    machine_class: str
    job: str
    suite: str
    benchmark: str
    metric: str

    @property
    def digest(self) -> bytes:
        """SHA-256 over all parts, used as the key because a benchmark's name may be too long for an index."""
        # astuple copies each part, which is too slow for an analysis of many series.
        return bytes.fromhex(_sha256(json.dumps([getattr(self, name) for name in self.__slots__])))


def digest_of(mapping: Mapping[str, Any]) -> str:
    """Compute the SHA-256 of a JSON mapping as 64 hexadecimal digits; the order of keys does not matter."""
    return _sha256(json.dumps(mapping, sort_keys=True, separators=(",", ":")))


def _sha256(text: str) -> str:
    import hashlib  # noqa: PLC0415 - loads OpenSSL, which `benchgate compare` does not need

    return hashlib.sha256(text.encode()).hexdigest()
