"""Record refused sign-ins."""

from __future__ import annotations

from service.domain.access.audit import AuditKind
from service.steps.access.refused_sign_ins import RefusedSignIns
from tests.support.memory.audit import MemoryAuditLog
from tests.support.memory.store import MemoryStore


def test_ten_refusals_of_a_minute_are_recorded_and_the_next_entry_counts_the_others() -> None:
    store = MemoryStore()
    now = 100.0
    refused = RefusedSignIns(store, clock=lambda: now)
    for number in range(25):
        refused.record(f"eve{number}", "192.0.2.7", "no group")
    entries = MemoryAuditLog(store.memory).entries(0, 100)
    assert [entry.actor for entry in entries] == [f"eve{number}" for number in range(10)]
    assert {(entry.kind, entry.subject) for entry in entries} == {(AuditKind.SIGN_IN_REFUSED, "192.0.2.7")}
    assert entries[0].details == {"reason": "no group"}

    now += 60.0
    refused.record("al", "192.0.2.8", "access_denied")
    refused.record("bo", "192.0.2.8", "access_denied")
    al, bo = MemoryAuditLog(store.memory).entries(10, 100)
    assert al.details == {"reason": "access_denied", "further refusals not recorded": "15"}
    assert bo.details == {"reason": "access_denied"}


def test_guessed_codes_do_not_keep_the_refusal_of_a_person_out_of_the_log() -> None:
    store = MemoryStore()
    refused = RefusedSignIns(store, clock=lambda: 100.0)
    for _ in range(1000):
        refused.record("", "192.0.2.7", "invalid_grant")
    refused.record("eve", "192.0.2.8", "no group")
    entries = MemoryAuditLog(store.memory).entries(0, 100)
    assert [entry.actor for entry in entries] == [""] * 10 + ["eve"]
    assert entries[-1].details == {"reason": "no group"}
