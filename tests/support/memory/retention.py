"""Old records in memory."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from typing_extensions import override

from service.domain.runs.retention import Supply
from service.ports.runs.retention import Retention

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from service.domain.runs.retention import Kind, Policy

DAY: Final = 86_400.0
NOW: Final = datetime(2026, 11, 28, tzinfo=UTC)


@dataclass(eq=False)
class MemoryRecord:
    """A record that ended ``days`` ago, and the artifacts that it names."""

    kind: Kind
    days: float
    artifacts: tuple[str, ...] = ()
    is_held: bool = False


@dataclass
class MemoryRetention(Retention):
    """Records in a list. ``sizes`` has the sizes of artifacts by name and part."""

    records: list[MemoryRecord] = field(default_factory=list)
    name: str = "site"
    marks: int = 0  # deletions that went through
    policy: Policy | None = None

    sizes: dict[tuple[str, str], tuple[int, ...]] = field(default_factory=dict)

    def _expired(self, kind: Kind, days: int) -> list[MemoryRecord]:
        of_kind = [each for each in self.records if each.kind is kind]
        return [each for each in of_kind if each.days > days and not each.is_held]

    @override
    def delete_expired(self, kind: Kind, days: int, most: int) -> int:
        gone = self._expired(kind, days)[:most]
        self.records = [each for each in self.records if each not in gone]
        return len(gone)

    @override
    def supply(self, kind: Kind, days: int | None) -> Supply:
        ages = [each.days for each in self.records if each.kind is kind]
        return Supply(
            records=len(ages),
            expired=None if days is None else len(self._expired(kind, days)),
            oldest_at=NOW - timedelta(days=max(ages)) if ages else None,
        )

    @override
    def keep_policy(self, policy: Policy) -> None:
        self.policy = policy

    @override
    def mark_pruned(self) -> None:
        self.marks += 1

    @override
    def kept_policy(self) -> Policy | None:
        return self.policy

    @override
    def site(self) -> str:
        return self.name

    @override
    def named(self, prefix: str, without: Policy | None = None) -> Mapping[str, str]:
        days = {kind: days for kind, days in (without or {}).items() if days is not None}
        expired = [each for kind in days for each in self._expired(kind, days[kind])]
        return {
            artifact: each.kind.stored_as
            for each in self.records
            if each not in expired
            for artifact in each.artifacts
            if artifact.startswith(prefix)
        }

    @override
    def store_sizes(self, part: str, artifacts: Mapping[str, Collection[int]]) -> None:
        self.sizes = {key: sizes for key, sizes in self.sizes.items() if key[1] != part}
        self.sizes |= {(name, part): tuple(sizes) for name, sizes in artifacts.items()}
