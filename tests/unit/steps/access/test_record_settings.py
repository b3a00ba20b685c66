from __future__ import annotations

from service.domain.access.audit import AuditKind
from service.steps.access.record_settings import record_settings
from tests.support.memory.audit import MemoryAuditLog
from tests.support.memory.store import MemoryStore


def test_settings_are_recorded_when_they_differ_from_those_recorded_last() -> None:
    store = MemoryStore()
    log = MemoryAuditLog(store.memory)
    first, second = {"BENCHGATE_READ": "public"}, {"BENCHGATE_READ": "signed-in"}
    starts = [record_settings(store, log, "web-01", each) for each in (first, first, second, first)]
    assert starts == [True, False, True, True]
    assert [each.details for each in log.entries(0, 9)] == [first, second, first]


def test_entries_of_other_kinds_do_not_hide_the_settings_recorded_last() -> None:
    store = MemoryStore()
    log = MemoryAuditLog(store.memory)
    assert record_settings(store, log, "web-01", {"BENCHGATE_READ": "public"})
    with store.transaction() as tx:
        tx.record_act(AuditKind.TRUST, "ann", "review~7/1", {})
    assert not record_settings(store, log, "web-01", {"BENCHGATE_READ": "public"})


def test_the_entry_names_the_program_and_its_host() -> None:
    store = MemoryStore()
    log = MemoryAuditLog(store.memory)
    record_settings(store, log, "web-01", {})
    [entry] = log.entries(0, 9)
    assert (entry.kind, entry.actor, entry.subject) == ("settings at start", "benchgate serve", "web-01")
