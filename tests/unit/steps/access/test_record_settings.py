from __future__ import annotations

from typing import Final

from service.domain.access.audit import AuditKind
from service.steps.access.record_settings import StartedProgram, record_settings
from tests.support.memory.audit import MemoryAuditLog
from tests.support.memory.store import MemoryStore

WEB: Final = StartedProgram("benchgate serve", "web-01")
WORKER: Final = StartedProgram("benchgate worker", "web-01")
PUBLIC: Final = {"BENCHGATE_READ": "public"}
SIGNED_IN: Final = {"BENCHGATE_READ": "signed-in"}


def test_settings_are_recorded_when_they_differ_from_those_recorded_last() -> None:
    store = MemoryStore()
    log = MemoryAuditLog(store.memory)
    starts = [record_settings(store, log, WEB, each) for each in (PUBLIC, PUBLIC, SIGNED_IN, PUBLIC)]
    assert starts == [True, False, True, True]
    assert [each.details for each in log.entries(0, 9)] == [PUBLIC, SIGNED_IN, PUBLIC]


def test_each_host_and_each_program_is_compared_with_itself() -> None:
    """Two web servers with different settings do not make an entry at each start."""
    store = MemoryStore()
    log = MemoryAuditLog(store.memory)
    starts = [
        record_settings(store, log, program, settings)
        for program, settings in (
            *((WEB, PUBLIC), (StartedProgram(WEB.command, "web-02"), SIGNED_IN), (WORKER, PUBLIC)),
            *((WEB, PUBLIC), (StartedProgram(WEB.command, "web-02"), SIGNED_IN), (WORKER, PUBLIC)),
        )
    ]
    assert starts == [True, True, True, False, False, False]
    assert [(each.actor, each.subject) for each in log.entries(0, 9)] == [
        ("benchgate serve", "web-01"),
        ("benchgate serve", "web-02"),
        ("benchgate worker", "web-01"),
    ]


def test_entries_of_other_kinds_do_not_hide_the_settings_recorded_last() -> None:
    store = MemoryStore()
    log = MemoryAuditLog(store.memory)
    assert record_settings(store, log, WEB, PUBLIC)
    with store.transaction() as tx:
        tx.audit.record_act(AuditKind.TRUST, "ann", "review~7/1", {})
    assert not record_settings(store, log, WEB, PUBLIC)


def test_the_entry_names_the_program_and_its_host() -> None:
    store = MemoryStore()
    log = MemoryAuditLog(store.memory)
    record_settings(store, log, WEB, {})
    [entry] = log.entries(0, 9)
    assert (entry.kind, entry.actor, entry.subject) == ("settings at start", "benchgate serve", "web-01")
