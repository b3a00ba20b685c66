"""Store contract: the audit log, what a unit of work records, and how it is read."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import pytest

from service.domain.access.audit import NO_ENTRY, AuditKind, check_chain
from service.domain.measuring.metric import Better
from service.domain.review.change import Person, PostedMessage
from service.domain.runs.overrides import OverrideKind
from service.domain.runs.slowdown import Slowdown
from service.domain.values.errors import NotFound
from service.ports.runs.decisions import NewOverride
from tests.support.store_samples import NOON, change

if TYPE_CHECKING:
    from service.ports.access import AuditLog
    from service.ports.store import Store

KINDS: Final = [
    (OverrideKind.OVERRIDE, AuditKind.OVERRIDE),
    (OverrideKind.ACCEPT, AuditKind.ACCEPT),
    (OverrideKind.UNDO, AuditKind.UNDO),
    (OverrideKind.TRUST, AuditKind.TRUST),
    (OverrideKind.PERSON_VOTE, AuditKind.PERSON_VOTE),
]


def record(store: Store, *kinds: AuditKind) -> None:
    with store.transaction() as tx:
        for kind in kinds:
            tx.audit.record_act(kind, "ann", "token 1", {})


class TestAudit:
    def test_entries_are_appended_in_their_order_as_one_chain(
        self, store: Store, audit_log: AuditLog
    ) -> None:
        details = {"reason": "flaky — “BM_get”", "bug": "KV-1"}
        with store.transaction() as tx:
            tx.audit.record_act(AuditKind.TOKEN_CREATED, "ann", "token 1", details)
            tx.audit.record_act(AuditKind.TOKEN_REVOKED, "bob", "token 1", {})
        record(store, AuditKind.SIGN_IN_REFUSED)
        first, second, third = audit_log.entries(0, 10)
        assert (first.id, first.kind, first.actor, first.subject) == (1, "token created", "ann", "token 1")
        assert first.details == details
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", first.at)
        assert (first.previous, second.previous, third.previous) == (NO_ENTRY, first.hash, second.hash)
        assert check_chain([first, second, third]).fault is None

    def test_work_that_raises_records_nothing(self, store: Store, audit_log: AuditLog) -> None:
        def fail() -> None:
            with store.transaction() as tx:
                tx.audit.record_act(AuditKind.TOKEN_CREATED, "ann", "token 1", {})
                raise RuntimeError

        with pytest.raises(RuntimeError):
            fail()
        record(store, AuditKind.TOKEN_REVOKED)
        assert [(each.id, each.kind) for each in audit_log.entries(0, 10)] == [(1, "token revoked")]

    @pytest.mark.parametrize(("kind", "recorded"), KINDS)
    def test_each_override_is_recorded(
        self, store: Store, audit_log: AuditLog, kind: OverrideKind, recorded: AuditKind
    ) -> None:
        with store.transaction() as tx:
            patch_set = tx.changes.upsert(change(8, patch_set=2)).patch_set_id
            entry = NewOverride(kind, "1000003", "Bob", [3, 4], "BM_*", "KV-1", "known to be flaky")
            tx.overrides.add(patch_set, entry)
        [found] = audit_log.entries(0, 10)
        assert (found.kind, found.actor, found.subject) == (recorded, "1000003", "review~8/2")
        assert found.details == {
            "person": "Bob",
            "revision": f"{2:040x}",
            "builds": "3, 4",
            "filter": "BM_*",
            "bug": "KV-1",
            "reason": "known to be flaky",
        }

    def test_the_record_of_an_accept_has_its_levels(self, store: Store, audit_log: AuditLog) -> None:
        levels = (Slowdown("BM_a", "cpu_time", Better.LOWER, 0.12, 0.11, 0.129),)
        with store.transaction() as tx:
            patch_set = tx.changes.upsert(change(8)).patch_set_id
            tx.overrides.add(patch_set, NewOverride(OverrideKind.ACCEPT, "1000003", "Bob", levels=levels))
        [found] = audit_log.entries(0, 10)
        assert found.details["levels"] == "BM_a CPU time up to +12.9 %"

    @pytest.mark.parametrize(
        ("signed_in_as", "recorded"),
        [("", {"way": "comment"}), ("s-1", {"way": "page", "signed in as": "s-1"})],
    )
    def test_the_record_of_a_command_has_its_way_and_the_person_who_signed_in(
        self, store: Store, audit_log: AuditLog, signed_in_as: str, recorded: dict[str, str]
    ) -> None:
        bob = Person("Bob", "bob@example.com", "bob", "1000003")
        posted = PostedMessage("m1", 1, bob, NOON, "override undo")
        with store.transaction() as tx:
            change_record = tx.changes.upsert(change(8))
            (number,) = tx.comments.record(change_record, [posted])
            entry = NewOverride(
                OverrideKind.UNDO, "1000003", "Bob", comment_id=number, signed_in_as=signed_in_as
            )
            tx.overrides.add(change_record.patch_set_id, entry)
        [found] = audit_log.entries(0, 10)
        assert found.details == {"person": "Bob", "revision": f"{1:040x}", **recorded}

    def test_the_record_of_an_override_has_no_empty_values(self, store: Store, audit_log: AuditLog) -> None:
        with store.transaction() as tx:
            patch_set = tx.changes.upsert(change(8)).patch_set_id
            tx.overrides.add(patch_set, NewOverride(OverrideKind.TRUST, "1000003", "Bob"))
        [found] = audit_log.entries(0, 10)
        assert found.details == {"person": "Bob", "revision": f"{1:040x}"}

    def test_an_override_of_an_unknown_patch_set_is_refused(self, store: Store) -> None:
        with store.transaction() as tx, pytest.raises(NotFound):
            tx.overrides.add(9, NewOverride(OverrideKind.TRUST, "1000003", "Bob"))


class TestAuditLog:
    def test_an_empty_log_has_no_entries(self, audit_log: AuditLog) -> None:
        assert (list(audit_log.entries(0, 10)), list(audit_log.newest(10))) == ([], [])

    def test_entries_are_read_from_an_id_on_or_backwards_from_one(
        self, store: Store, audit_log: AuditLog
    ) -> None:
        record(store, *[AuditKind.SETTINGS] * 5)
        assert [each.id for each in audit_log.entries(0, 2)] == [1, 2]
        assert [each.id for each in audit_log.entries(2, 9)] == [3, 4, 5]
        assert [each.id for each in audit_log.newest(2)] == [5, 4]
        assert [each.id for each in audit_log.newest(9, before=3)] == [2, 1]

    def test_entries_are_filtered_by_kind(self, store: Store, audit_log: AuditLog) -> None:
        record(store, AuditKind.SETTINGS, AuditKind.TRUST, AuditKind.SETTINGS, AuditKind.TRUST)
        assert [each.id for each in audit_log.entries(1, 9, AuditKind.SETTINGS)] == [3]
        assert [each.id for each in audit_log.newest(1, AuditKind.SETTINGS)] == [3]
        assert [each.id for each in audit_log.newest(9, AuditKind.SETTINGS, before=3)] == [1]

    def test_a_log_as_it_is_created_has_every_protection(self, audit_log: AuditLog) -> None:
        assert list(audit_log.protection_faults()) == []
