"""An audit log in memory."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from service.domain.access.audit import NO_ENTRY, AuditEntry, body_of, hash_of
from service.ports.access import Audit, AuditLog
from tests.support.memory.state import InMemory

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from service.domain.access.audit import AuditKind, ProtectionFault


class MemoryAudit(InMemory, Audit):
    def record_act(self, kind: AuditKind, actor: str, subject: str, details: Mapping[str, str]) -> None:
        entry = AuditEntry(
            id=len(self._m.audit) + 1,
            at=f"{self._m.now:%Y-%m-%dT%H:%M:%S.%fZ}",
            kind=kind.value,
            actor=actor,
            subject=subject,
            body=body_of(details),
            previous=self._m.audit[-1].hash if self._m.audit else NO_ENTRY,
            hash=NO_ENTRY,
        )
        self._m.audit.append(replace(entry, hash=hash_of(entry)))


class MemoryAuditLog(InMemory, AuditLog):
    def entries(self, after: int, limit: int, kind: AuditKind | None = None) -> Sequence[AuditEntry]:
        return [each for each in self._of(kind) if each.id > after][:limit]

    def newest(
        self, limit: int, kind: AuditKind | None = None, before: int | None = None
    ) -> Sequence[AuditEntry]:
        return [each for each in self._of(kind)[::-1] if before is None or each.id < before][:limit]

    def _of(self, kind: AuditKind | None) -> list[AuditEntry]:
        return [each for each in self._m.audit if kind in {None, each.kind}]

    def protection_faults(self) -> Sequence[ProtectionFault]:
        return []
