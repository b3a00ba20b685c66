from __future__ import annotations

import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from service.adapters.review.gerrit.events import parse_event
from service.domain.values.errors import BadEvent, Refused, Transient
from service.ports.review.server import Line
from service.steps.review.listen import Actions, Timing, failures_after, listen, pause
from service.steps.review.receive_event import receive_event
from tests.support.memory.store import MemoryStore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

SAMPLES = Path(__file__).parents[3] / "samples" / "gerrit"
CREATED = (SAMPLES / "stream-patchset-created.json").read_bytes()
MERGED = (SAMPLES / "stream-change-merged.json").read_bytes()
DROPPED = b'{"type":"dropped-output","eventCreatedOn":1795220057}'
GONE = "Connection closed by remote host."


@dataclass(frozen=True)
class Quiet:
    """A time without a line."""

    seconds: float


@dataclass(frozen=True)
class Unconnected:
    """A time in which the server does not accept the connection."""

    seconds: float


@dataclass(frozen=True)
class Burst:
    """A line that is repeated, a millisecond apart."""

    body: bytes
    times: int


Happening = Line | Quiet | Unconnected | Burst


@dataclass
class World:
    """A clock, a server with its connections in turn, and a service; the last connection ends the test.

    The database does not answer in the seconds ``away``, and the queue in the seconds ``unasked``.
    """

    connections: list[Sequence[Happening] | Transient]
    away: tuple[float, float] = (0.0, 0.0)
    unasked: tuple[float, float] = (0.0, 0.0)
    now: float = 0.0
    stop: threading.Event = field(default_factory=threading.Event)
    comment: list[bytes] = field(default_factory=list)
    asked: list[float] = field(default_factory=list)
    beats: list[tuple[float, str]] = field(default_factory=list)
    troubles: list[str] = field(default_factory=list)
    connected: list[float] = field(default_factory=list)
    is_connected: bool = False
    script: list[Happening] = field(default_factory=list)

    def run(self, *, silence: float = 600.0, receive: Callable[[bytes], object] | None = None) -> World:
        actions = Actions(parse_event, receive or self.receive, self.ask, self.beat)
        timing = Timing(self.sleep, silence, clock=lambda: self.now, chance=lambda: 1.0)
        listen(self, actions, self.stop, timing)
        return self

    @contextmanager
    def lines(self) -> Iterator[World]:
        self.connected.append(self.now)
        script = self.connections.pop(0)
        if isinstance(script, Transient):
            raise script
        self.script = list(script)
        yield self
        self.is_connected = False

    def next_line(self, seconds: float) -> Line | None:
        self.is_connected = False
        if not self.script:
            if not self.connections:
                self.stop.set()
                return None
            raise Transient(GONE)
        happening = self.script.pop(0)
        self.is_connected = not isinstance(happening, Unconnected)
        match happening:
            case Line():
                return happening
            case Burst(body, times):
                self.now += 0.001
                if times > 1:
                    self.script.insert(0, Burst(body, times - 1))
                return Line(body)
            case Quiet(left) | Unconnected(left):
                self.now += min(left, seconds)
                if left > seconds:
                    self.script.insert(0, type(happening)(left - seconds))
                return None

    def receive(self, body: bytes) -> None:
        self._answer(self.away)
        self.comment.append(body)

    def ask(self) -> None:
        self._answer(self.unasked)
        self.asked.append(self.now)

    def beat(self, note: str, trouble: str) -> None:
        self._answer(self.away)
        self.beats.append((self.now, note))
        self.troubles.append(trouble)

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    def _answer(self, outage: tuple[float, float]) -> None:
        if outage[0] <= self.now < outage[1]:
            raise Transient("the database cannot be reached")


def test_every_line_is_received_in_order() -> None:
    world = World([[Line(CREATED), Quiet(3), Line(MERGED)]]).run()

    assert world.comment == [CREATED, MERGED]


def test_each_event_is_stored_and_queued() -> None:
    store = MemoryStore()
    World([[Line(CREATED), Line(DROPPED), Line(b"<html>")]]).run(
        receive=lambda body: receive_event(store, parse_event, "gerrit", body)
    )

    assert [event.kind for event in store.memory.events] == ["patchset-created", "dropped-output"]
    assert [task for task, _ in store.memory.hints] == ["handle_event"]


def test_each_new_connection_is_followed_by_a_reconciliation() -> None:
    world = World([[Quiet(100)], [Quiet(100)]]).run()

    assert len(world.asked) == len(world.connected) == 2
    assert all(asked >= connected for asked, connected in zip(world.asked, world.connected, strict=True))


def test_the_reconciliation_waits_until_the_connection_is_complete() -> None:
    """Otherwise both would miss events in between."""
    world = World([[Unconnected(20), Quiet(1)]]).run()

    assert world.asked == [21.0]


def test_a_failed_connection_is_not_followed_by_a_reconciliation() -> None:
    assert World([Transient("refused"), [Unconnected(5)], Refused("denied"), []]).run().asked == []


@pytest.mark.parametrize(
    "line", [Line(DROPPED), Line(CREATED[:100], is_whole=False), Line(b"<html>"), Line(b"\xff[[[")]
)
def test_a_lost_line_is_followed_by_a_reconciliation(line: Line) -> None:
    world = World([[Quiet(100), line, Quiet(1)]]).run()

    assert world.asked == [1.0, 100.0]


def test_many_lost_lines_need_few_reconciliations() -> None:
    world = World([[Quiet(100), Burst(DROPPED, 1000), Quiet(60)]]).run()

    assert len(world.comment) == 1000
    assert world.asked == [1.0, pytest.approx(100.001), pytest.approx(105.001, abs=1.0)]


def test_a_line_other_than_an_event_does_not_block_the_next() -> None:
    world = World([[Line(b""), Line(b"[]"), Line(b'{"type": 1}'), Line(b"\0"), Line(CREATED)]]).run()

    assert world.comment == [CREATED]


def test_an_event_that_the_service_rejects_is_skipped() -> None:
    comment: list[bytes] = []

    def receive(body: bytes) -> None:
        if not comment:
            comment.append(b"")
            raise BadEvent("the key 'type' is too old")
        comment.append(body)

    World([[Line(CREATED), Line(MERGED)]]).run(receive=receive)

    assert comment == [b"", MERGED]


def test_silence_leads_to_a_reconciliation_and_not_to_a_new_connection() -> None:
    world = World([[Quiet(1500)]]).run(silence=600.0)

    assert world.connected == [0.0]
    assert world.asked == [1.0, 601.0, 1201.0]


def test_a_received_event_ends_the_silence() -> None:
    world = World([[Quiet(500), Line(CREATED), Quiet(500)]]).run(silence=600.0)

    assert world.asked == [1.0]


def test_a_database_outage_is_followed_by_a_reconciliation() -> None:
    world = World([[Quiet(50), Line(CREATED), Quiet(50), Line(MERGED)]], away=(45.0, 75.0)).run()

    assert world.comment == [MERGED]
    assert world.asked == [1.0, pytest.approx(76.0, abs=1.0)]


def test_the_database_is_not_tried_for_every_line_during_an_outage() -> None:
    """Each attempt may take its whole timeout, and meanwhile the server would drop events."""
    tries = []

    def receive(body: bytes) -> None:
        tries.append(body)
        raise Transient("the database cannot be reached")

    World([[Quiet(50), Burst(CREATED, 1000), Quiet(50)]], away=(45.0, 75.0)).run(receive=receive)

    assert len(tries) == 1


def test_an_event_that_could_not_be_stored_does_not_delay_the_next() -> None:
    tries = []

    def receive(body: bytes) -> None:
        tries.append(body)
        if len(tries) == 1:
            raise Transient("deadlock detected")

    world = World([[Quiet(50), Line(CREATED), Line(MERGED), Quiet(20)]]).run(receive=receive)

    assert tries == [CREATED, MERGED]
    assert len(world.asked) == 2


def test_a_failed_request_for_a_reconciliation_is_repeated() -> None:
    world = World([[Quiet(100)]], unasked=(0.0, 30.0)).run()

    assert world.asked == [pytest.approx(33.5, abs=3.5)]


def test_there_is_a_heartbeat_at_least_every_15_seconds() -> None:
    world = World(
        [[Quiet(100)], *[Transient("refused")] * 9, [Burst(CREATED, 50_000)], [Unconnected(29)], [Quiet(40)]]
    ).run()
    moments = [moment for moment, _ in world.beats]

    assert moments[0] == 0.0
    assert max(later - before for before, later in pairwise(moments)) <= 15.0
    assert world.now - moments[-1] <= 15.0


def test_the_heartbeat_shows_the_age_of_the_connection() -> None:
    world = World([[Line(CREATED), Line(b"<html>"), Quiet(600)]]).run()

    assert world.beats[-1][1] == "connected for 10 min: 1 received, 1 lost"
    assert world.troubles[-1] == ""


def test_the_heartbeat_shows_the_length_of_an_outage_and_its_cause() -> None:
    refused = "port 29418: Connection refused"
    world = World([[Quiet(100)], *[Transient(refused)] * 4, [Unconnected(1)]]).run()
    troubles = world.troubles

    assert troubles[0] == "disconnected for 0 s: no connection was made yet"
    assert f"disconnected for 0 s: {GONE}" in troubles
    assert troubles[-1] == world.beats[-1][1] == f"disconnected for 60 s: {refused}"


def test_the_pauses_between_attempts_grow_to_a_minute() -> None:
    world = World([*[Transient("refused")] * 9, []]).run()
    pauses = [later - before for before, later in pairwise(world.connected)]

    assert pauses == [2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0, 60.0, 60.0]


def test_after_a_long_connection_the_next_attempt_comes_soon() -> None:
    world = World([*[Transient("refused")] * 9, [Quiet(3600)], []]).run()

    assert world.connected[-1] - world.connected[-2] == pytest.approx(3602.0)


def test_a_server_that_closes_every_connection_is_not_tried_in_a_loop() -> None:
    world = World([*[[Line(CREATED)]] * 9, []]).run()

    assert world.connected[-1] - world.connected[-2] == pytest.approx(60.0)


def test_it_stops_within_a_tick_while_it_waits_for_the_next_attempt() -> None:
    world = World([*[Transient("refused")] * 9])
    sleep = world.sleep

    def sleep_and_stop(seconds: float) -> None:
        sleep(seconds)
        if world.now > 200.0:
            world.stop.set()

    world.sleep = sleep_and_stop  # type: ignore[method-assign]
    world.run()

    assert world.now <= 201.0


def test_it_stops_between_two_lines_of_a_burst() -> None:
    world = World([[Burst(CREATED, 1000)]])

    def receive(_: bytes) -> None:
        if world.now > 0.5:
            world.stop.set()

    world.run(receive=receive)

    assert world.now == pytest.approx(0.5, abs=0.01)


def test_it_does_not_start_if_stop_is_set() -> None:
    world = World([[Line(CREATED)]])
    world.stop.set()

    assert world.run().connected == []


@pytest.mark.parametrize("failures", [1, 2, 5, 6, 7, 100, 10_000])
@pytest.mark.parametrize("chance", [0.0, 0.5, 0.999])
def test_a_pause_is_between_a_second_and_a_minute(failures: int, chance: float) -> None:
    assert 1.0 <= pause(failures, chance) <= 60.0


def test_listeners_that_lost_their_connections_together_reconnect_at_different_times() -> None:
    assert pause(6, 0.0) == 30.0
    assert pause(6, 0.5) == 45.0


def test_a_short_connection_counts_as_a_failure() -> None:
    assert failures_after(3, 0.0) == 4
    assert failures_after(3, 59.0) == 4
    assert failures_after(3, 60.0) == 1
