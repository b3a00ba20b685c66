from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.domain.access.audit import (
    NO_ENTRY,
    AuditEntry,
    ChainFault,
    FaultKind,
    body_of,
    canonical,
    check_chain,
    hash_of,
)
from service.domain.runs.overrides import OverrideKind
from service.ports.runs.decisions import KINDS

if TYPE_CHECKING:
    from collections.abc import Mapping

# Few letters, so that fields that run into each other would be drawn: ("ab", "c") and ("a", "bc").
TEXTS = st.text(alphabet="ab\x00é\u2028", max_size=3)
ENTRIES = st.builds(
    AuditEntry,
    id=st.integers(1, 12),
    at=TEXTS,
    kind=TEXTS,
    actor=TEXTS,
    subject=TEXTS,
    body=TEXTS,
    previous=st.just(NO_ENTRY),
    hash=st.just(NO_ENTRY),
)


def sealed(number: int, previous: bytes, actor: str = "alice") -> AuditEntry:
    entry = AuditEntry(
        id=number,
        at="2026-03-02T12:00:00.000000Z",
        kind="override",
        actor=actor,
        subject="review~7/1",
        body=body_of({"reason": "flaky"}),
        previous=previous,
        hash=NO_ENTRY,
    )
    return replace(entry, hash=hash_of(entry))


def chain(length: int) -> list[AuditEntry]:
    entries: list[AuditEntry] = []
    for number in range(1, length + 1):
        entries.append(sealed(number, entries[-1].hash if entries else NO_ENTRY))
    return entries


CHAIN: Final = chain(4)


@given(ENTRIES, ENTRIES)
def test_two_different_entries_never_share_their_canonical_bytes(one: AuditEntry, other: AuditEntry) -> None:
    assert (canonical(one) == canonical(other)) == (one == other)


def test_text_does_not_move_between_fields_without_another_hash() -> None:
    moved = replace(CHAIN[0], actor="alicer", subject="eview~7/1")
    assert hash_of(moved) != CHAIN[0].hash


def test_the_canonical_bytes_and_the_hash_are_those_that_earlier_versions_stored() -> None:
    [entry] = chain(1)
    assert canonical(entry).startswith(b"\0\0\0\x011\0\0\0\x1b2026-03-02T12:00:00.000000Z\0\0\0\x08override")
    assert entry.hash.hex() == "50b930d71e62b1dd094b2ccb71b5da3dfb66023b85fe78723ee9ce45def6a988"


@given(st.dictionaries(st.text(max_size=3), st.text(max_size=3), max_size=4))
def test_details_are_read_as_they_were_written(details: Mapping[str, str]) -> None:
    body = body_of(details)
    assert replace(CHAIN[0], body=body).details == details
    assert body_of(dict(sorted(details.items(), reverse=True))) == body


def test_every_kind_of_override_has_a_kind_in_the_log() -> None:
    assert KINDS.keys() == set(OverrideKind)


def test_an_unbroken_chain_has_a_head() -> None:
    found = check_chain(iter(CHAIN))
    assert (found.count, found.head, found.fault, found.has_seen) == (4, CHAIN[-1].hash, None, True)


def test_an_empty_log_is_unbroken() -> None:
    assert (check_chain([]).count, check_chain([]).head, check_chain([]).fault) == (0, NO_ENTRY, None)


@pytest.mark.parametrize("field", ["at", "kind", "actor", "subject", "body", "hash"])
def test_a_changed_field_is_found_in_its_entry(field: str) -> None:
    value = getattr(CHAIN[2], field)
    changed = replace(CHAIN[2], **{field: value[:-1] + (b"?" if field == "hash" else "?")})
    found = check_chain([*CHAIN[:2], changed, CHAIN[3]])
    assert (found.count, found.fault) == (2, ChainFault(FaultKind.CHANGED, 3))


def test_replacing_an_entry_with_its_hash_breaks_the_chain() -> None:
    replaced = sealed(3, CHAIN[1].hash, actor="mallory")
    assert check_chain([*CHAIN[:2], replaced, CHAIN[3]]).fault == ChainFault(FaultKind.OUT_OF_ORDER, 4)


@pytest.mark.parametrize(("gone", "number"), [(0, 1), (1, 2), (2, 3)])
def test_a_removed_entry_is_named(gone: int, number: int) -> None:
    assert check_chain([*CHAIN[:gone], *CHAIN[gone + 1 :]]).fault == ChainFault(FaultKind.MISSING, number)


def test_an_entry_that_comes_twice_is_out_of_order() -> None:
    assert check_chain([*CHAIN[:2], CHAIN[1]]).fault == ChainFault(FaultKind.OUT_OF_ORDER, 2)


def test_a_removed_tail_is_only_found_by_an_earlier_head() -> None:
    head = CHAIN[-1].hash
    assert check_chain(CHAIN[:-1]).fault is None
    assert not check_chain(CHAIN[:-1], head).has_seen
    assert check_chain([*CHAIN, sealed(5, head)], head).has_seen


@pytest.mark.parametrize(
    ("kind", "sentence"),
    [
        (FaultKind.CHANGED, "entry 3 was changed: its hash is not that of its fields"),
        (FaultKind.MISSING, "entry 3 is missing"),
        (
            FaultKind.OUT_OF_ORDER,
            "entry 3 is out of order: it does not continue the chain of the entry before it",
        ),
    ],
)
def test_a_fault_names_the_entry_and_the_problem(kind: FaultKind, sentence: str) -> None:
    assert str(ChainFault(kind, 3)) == sentence
