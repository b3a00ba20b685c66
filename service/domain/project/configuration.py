"""The configuration of a job that only jobs of its kind have."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Configuration:
    """The base of each kind's own type, and the type of kinds that have no keys of their own."""

    @property
    def programs(self) -> tuple[str, ...]:
        """Paths of the programs that a build must produce; part of a binary's key."""
        return ()


@dataclass(frozen=True, slots=True)
class ExternalConfiguration(Configuration):
    """A job that another CI runs: Benchgate only waits for its result."""
