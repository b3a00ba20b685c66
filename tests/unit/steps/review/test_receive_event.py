from __future__ import annotations

from pathlib import Path

import pytest

from service.adapters.review.gerrit.events import parse_event
from service.domain.values.errors import BadEvent
from service.steps.review.look_at_change import handle_event
from service.steps.review.receive_event import receive_event, receive_events
from tests.support.memory.store import MemoryStore
from tests.support.review.changes import KEY, Service, change_at

SAMPLES = Path(__file__).parents[3] / "samples" / "gerrit"
CREATED = b'{"type": "patchset-created", "change": {"number": 7}}'


def test_an_event_is_stored_and_a_look_at_its_change_is_queued() -> None:
    store = MemoryStore()
    event_id = receive_event(
        store, parse_event, "gerrit", (SAMPLES / "webhook-patchset-created.json").read_bytes()
    )

    (event,) = store.memory.events
    assert (event.kind, event.change, event.is_handled) == ("patchset-created", 1, False)
    assert store.memory.hints == [("handle_event", event_id)]


def test_a_repeated_event_is_counted_and_handled_again() -> None:
    """Gerrit repeats an event if it believes that the receiver missed it, and events may be equal."""
    store = MemoryStore()
    numbers = {receive_event(store, parse_event, "gerrit", CREATED) for _ in range(25)}

    assert len(numbers) == len(store.memory.events) == 1
    assert store.memory.events[0].deliveries == 25
    assert not store.memory.events[0].is_handled


def test_equal_events_of_two_servers_are_two() -> None:
    store = MemoryStore()
    numbers = {receive_event(store, parse_event, instance, CREATED) for instance in ("gerrit", "other")}

    assert len(numbers) == 2


@pytest.mark.parametrize(
    "name", ["stream-ref-updated-branch", "stream-topic-changed", "stream-project-created"]
)
def test_an_event_that_updates_no_change_is_stored_as_handled(name: str) -> None:
    store = MemoryStore()
    receive_event(store, parse_event, "gerrit", (SAMPLES / f"{name}.json").read_bytes())

    assert store.memory.events[0].is_handled
    assert store.memory.hints == []


@pytest.mark.parametrize("body", [b"", b"<html>", b"[]", b'{"type": 1}', b"\xff" * 100])
def test_garbage_is_refused_and_not_stored(body: bytes) -> None:
    store = MemoryStore()
    with pytest.raises(BadEvent):
        receive_event(store, parse_event, "gerrit", body)

    assert store.memory.events == []
    assert store.memory.hints == []


def test_handling_an_event_looks_at_its_change() -> None:
    service = Service()
    service.server.put(change_at(1))
    handle_event(
        service.store, service.server, receive_event(service.store, parse_event, KEY.instance, CREATED)
    )

    assert [revision for revision, _ in service.runs()] == ["patch1"]
    assert service.store.memory.events[0].is_handled


def test_an_event_of_a_hidden_change_is_handled_without_an_error() -> None:
    service = Service()
    handle_event(
        service.store, service.server, receive_event(service.store, parse_event, KEY.instance, CREATED)
    )

    assert service.runs() == []
    assert service.store.memory.events[0].is_handled


def test_an_event_without_a_change_is_only_marked_as_handled() -> None:
    service = Service()
    body = (SAMPLES / "stream-project-created.json").read_bytes()
    handle_event(service.store, service.server, receive_event(service.store, parse_event, "gerrit", body))

    assert service.runs() == []


def test_a_batch_of_events_is_stored_in_one_transaction_and_returns_an_id_for_each() -> None:
    store = MemoryStore()
    other = CREATED.replace(b"7", b"8")
    merged = (SAMPLES / "stream-ref-updated-branch.json").read_bytes()
    numbers = receive_events(store, parse_event, "gerrit", [CREATED, b"<html>", other, CREATED, merged])

    first, unreadable, second, again, branch = numbers
    assert (unreadable, again) == (None, first)
    assert len({first, second, branch}) == len(store.memory.events) == 3
    stored = {number: store.memory.events[number - 1] for number in (first, second, branch) if number}
    assert {number: event.change for number, event in stored.items()} == {first: 7, second: 8, branch: None}
    assert {number: event.deliveries for number, event in stored.items()} == {first: 2, second: 1, branch: 1}
    assert [event.is_handled for event in stored.values()] == [False, False, True]
    assert set(store.memory.hints) == {("handle_event", first), ("handle_event", second)}


def test_a_batch_without_a_readable_event_stores_nothing() -> None:
    store = MemoryStore()
    assert receive_events(store, parse_event, "gerrit", [b"", b"[]"]) == [None, None]
    assert (store.memory.events, store.memory.hints) == ([], [])
