from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from typing_extensions import override

from service.domain.access.audit import AuditKind, ChainFault, FaultKind, ProtectionFault
from service.steps.access.verify_audit import verify_audit
from tests.support.memory.audit import MemoryAuditLog
from tests.support.memory.store import MemoryStore

if TYPE_CHECKING:
    from collections.abc import Sequence

    from service.domain.access.audit import AuditEntry


class LogInPages(MemoryAuditLog):
    """A log that counts its pages, and loses its protection on demand."""

    pages: int = 0
    lost: Sequence[ProtectionFault] = ()

    @override
    def entries(self, after: int, limit: int, kind: AuditKind | None = None) -> Sequence[AuditEntry]:
        self.pages += 1
        assert limit <= 1000
        return super().entries(after, limit, kind)

    @override
    def protection_faults(self) -> Sequence[ProtectionFault]:
        return self.lost


def log_of(count: int) -> LogInPages:
    store = MemoryStore()
    with store.transaction() as tx:
        for number in range(count):
            tx.audit.record_act(AuditKind.OVERRIDE, "ann", f"review~{number}/1", {})
    return LogInPages(store.memory)


def test_a_complete_and_protected_log_passes() -> None:
    assert verify_audit(log_of(3)).is_passed


def test_an_empty_log_passes() -> None:
    assert verify_audit(log_of(0)).is_passed


def test_a_long_log_is_read_in_pages() -> None:
    log = log_of(2001)
    found = verify_audit(log)
    assert (found.is_passed, found.chain.count, log.pages) == (True, 2001, 4)


def test_a_changed_entry_fails() -> None:
    store = MemoryStore()
    with store.transaction() as tx:
        for kind in (AuditKind.OVERRIDE, AuditKind.UNDO):
            tx.audit.record_act(kind, "ann", "review~7/1", {})
    store.memory.audit[1] = replace(store.memory.audit[1], kind="accept")
    found = verify_audit(MemoryAuditLog(store.memory))
    assert (found.is_passed, found.chain.fault) == (False, ChainFault(FaultKind.CHANGED, 2))


def test_an_earlier_head_must_still_be_there() -> None:
    log = log_of(3)
    [head] = log.newest(1)
    assert verify_audit(log, head.hash).is_passed
    assert not verify_audit(log_of(2), head.hash).is_passed


def test_a_lost_protection_fails_although_the_chain_holds() -> None:
    log = log_of(3)
    log.lost = [ProtectionFault("the trigger is missing", "make it anew")]
    found = verify_audit(log)
    assert (found.is_passed, found.chain.fault, found.protection_faults) == (False, None, tuple(log.lost))
