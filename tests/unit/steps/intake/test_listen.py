from __future__ import annotations

import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from service.domain.errors import BadEvent, Refused, Transient
from service.steps.intake.listen import failures_after, listen, pause, tells_of_loss
from service.steps.intake.receive_event import receive_event
from tests.support.memory_store import MemoryStore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

SAMPLES = Path(__file__).parents[3] / "samples" / "gerrit"
CREATED = (SAMPLES / "stream-patchset-created.json").read_bytes()
MERGED = (SAMPLES / "stream-change-merged.json").read_bytes()
DROPPED = b'{"type":"dropped-output","eventCreatedOn":1795220057}'
GONE = "Connection closed by remote host."


@dataclass(frozen=True)
class Said:
    """A line as the stream gives it."""

    body: bytes
    is_whole: bool = True


@dataclass(frozen=True)
class Quiet:
    """So many seconds in which nothing comes."""

    seconds: float


@dataclass(frozen=True)
class Unconnected:
    """So many seconds in which the server does not let us in."""

    seconds: float


@dataclass(frozen=True)
class Burst:
    """A line that comes so many times, a millisecond apart."""

    body: bytes
    times: int


Happening = Said | Quiet | Unconnected | Burst


@dataclass
class World:
    """A clock, a server with its connections in turn, and a service; after the last connection all stops.

    ``away`` says in which seconds the database does not answer, ``unasked`` in which the queue does not.
    """

    connections: list[Sequence[Happening] | Transient]
    away: tuple[float, float] = (0.0, 0.0)
    unasked: tuple[float, float] = (0.0, 0.0)
    now: float = 0.0
    stop: threading.Event = field(default_factory=threading.Event)
    comment: list[bytes] = field(default_factory=list)
    asked: list[float] = field(default_factory=list)
    beats: list[tuple[float, str]] = field(default_factory=list)
    connected: list[float] = field(default_factory=list)
    is_connected: bool = False
    script: list[Happening] = field(default_factory=list)

    def run(self, *, silence: float = 600.0, receive: Callable[[bytes], object] | None = None) -> World:
        listen(
            self,
            receive or self.receive,
            self.ask,
            self.stop,
            self.beat,
            self.sleep,
            silence=silence,
            clock=lambda: self.now,
            chance=lambda: 1.0,
        )
        return self

    # What the listener is given.

    @contextmanager
    def lines(self) -> Iterator[World]:
        self.connected.append(self.now)
        script = self.connections.pop(0)
        if isinstance(script, Transient):
            raise script
        self.script = list(script)
        yield self
        self.is_connected = False

    def next_line(self, seconds: float) -> Said | None:
        self.is_connected = False
        if not self.script:
            if not self.connections:
                self.stop.set()
                return None
            raise Transient(GONE)
        happening = self.script.pop(0)
        self.is_connected = not isinstance(happening, Unconnected)
        match happening:
            case Said():
                return happening
            case Burst(body, times):
                self.now += 0.001
                if times > 1:
                    self.script.insert(0, Burst(body, times - 1))
                return Said(body)
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

    def beat(self, note: str) -> None:
        self._answer(self.away)
        self.beats.append((self.now, note))

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    def _answer(self, outage: tuple[float, float]) -> None:
        if outage[0] <= self.now < outage[1]:
            raise Transient("the database cannot be reached")


def test_every_line_is_received_in_order() -> None:
    world = World([[Said(CREATED), Quiet(3), Said(MERGED)]]).run()

    assert world.comment == [CREATED, MERGED]


def test_lines_become_stored_events_that_are_looked_at() -> None:
    store = MemoryStore()
    World([[Said(CREATED), Said(DROPPED), Said(b"<html>")]]).run(
        receive=lambda body: receive_event(store, "gerrit", body)
    )

    assert [event.kind for event in store.memory.events] == ["patchset-created", "dropped-output"]
    assert [task for task, _ in store.memory.hints] == ["handle_event"]


def test_a_new_connection_is_followed_by_a_reconciliation_since_nothing_is_replayed() -> None:
    world = World([[Quiet(100)], [Quiet(100)]]).run()

    assert len(world.asked) == len(world.connected) == 2
    assert all(asked >= connected for asked, connected in zip(world.asked, world.connected, strict=True))


def test_nothing_is_asked_before_the_server_listens_on_our_behalf() -> None:
    """What happened between the reconciliation and then would be told by neither."""
    world = World([[Unconnected(20), Quiet(1)]]).run()

    assert world.asked == [21.0]


def test_nothing_is_asked_for_a_connection_that_was_never_made() -> None:
    assert World([Transient("refused"), [Unconnected(5)], Refused("denied"), []]).run().asked == []


@pytest.mark.parametrize(
    "line", [Said(DROPPED), Said(CREATED[:100], is_whole=False), Said(b"<html>"), Said(b"\xff[[[")]
)
def test_a_lost_line_is_made_good_at_once(line: Said) -> None:
    world = World([[Quiet(100), line, Quiet(1)]]).run()

    assert world.asked == [1.0, 100.0]


def test_many_lost_lines_are_made_good_together() -> None:
    world = World([[Quiet(100), Burst(DROPPED, 1000), Quiet(60)]]).run()

    assert len(world.comment) == 1000
    assert world.asked == [1.0, pytest.approx(100.001), pytest.approx(105.001, abs=1.0)]


def test_a_line_that_is_no_event_does_not_keep_the_next_from_being_heard() -> None:
    world = World([[Said(b""), Said(b"[]"), Said(b'{"type": 1}'), Said(b"\0"), Said(CREATED)]]).run()

    assert world.comment == [CREATED]


def test_what_the_service_itself_cannot_read_is_passed_over() -> None:
    comment: list[bytes] = []

    def receive(body: bytes) -> None:
        if not comment:
            comment.append(b"")
            raise BadEvent("the key 'type' is too old")
        comment.append(body)

    World([[Said(CREATED), Said(MERGED)]]).run(receive=receive)

    assert comment == [b"", MERGED]


def test_silence_is_answered_by_a_reconciliation_and_not_by_a_new_connection() -> None:
    world = World([[Quiet(1500)]]).run(silence=600.0)

    assert world.connected == [0.0]
    assert world.asked == [1.0, 601.0, 1201.0]


def test_while_something_is_heard_there_is_no_silence() -> None:
    world = World([[Quiet(500), Said(CREATED), Quiet(500)]]).run(silence=600.0)

    assert world.asked == [1.0]


def test_what_came_while_the_database_was_away_is_made_good_once_it_is_back() -> None:
    world = World([[Quiet(50), Said(CREATED), Quiet(50), Said(MERGED)]], away=(45.0, 75.0)).run()

    assert world.comment == [MERGED]
    assert world.asked == [1.0, pytest.approx(76.0, abs=1.0)]


def test_the_database_is_not_tried_for_every_line_while_it_is_away() -> None:
    """Each try may take its whole timeout, and meanwhile the server would drop what it has to tell."""
    tries = []

    def receive(body: bytes) -> None:
        tries.append(body)
        raise Transient("the database cannot be reached")

    World([[Quiet(50), Burst(CREATED, 1000), Quiet(50)]], away=(45.0, 75.0)).run(receive=receive)

    assert len(tries) == 1


def test_one_event_that_could_not_be_stored_delays_no_other() -> None:
    tries = []

    def receive(body: bytes) -> None:
        tries.append(body)
        if len(tries) == 1:
            raise Transient("deadlock detected")

    world = World([[Quiet(50), Said(CREATED), Said(MERGED), Quiet(20)]]).run(receive=receive)

    assert tries == [CREATED, MERGED]
    assert len(world.asked) == 2


def test_a_request_that_could_not_be_made_is_made_again() -> None:
    world = World([[Quiet(100)]], unasked=(0.0, 30.0)).run()

    assert world.asked == [pytest.approx(33.5, abs=3.5)]


def test_a_sign_of_life_is_left_at_least_every_15_seconds_whatever_happens() -> None:
    world = World(
        [[Quiet(100)], *[Transient("refused")] * 9, [Burst(CREATED, 50_000)], [Unconnected(29)], [Quiet(40)]]
    ).run()
    moments = [moment for moment, _ in world.beats]

    assert moments[0] == 0.0
    assert max(later - before for before, later in pairwise(moments)) <= 15.0
    assert world.now - moments[-1] <= 15.0


def test_the_sign_of_life_says_how_long_there_has_been_a_connection() -> None:
    world = World([[Said(CREATED), Said(b"<html>"), Quiet(600)]]).run()

    assert world.beats[-1][1] == "connected for 10 min: 1 heard, 1 lost"


def test_the_sign_of_life_says_how_long_there_has_been_none_and_why() -> None:
    refused = "port 29418: Connection refused"
    world = World([[Quiet(100)], *[Transient(refused)] * 4, [Unconnected(1)]]).run()
    notes = [note for _, note in world.beats]

    assert notes[0] == "disconnected for 0 s: no connection was made yet"
    assert f"disconnected for 0 s: {GONE}" in notes
    assert notes[-1] == f"disconnected for 60 s: {refused}"


def test_the_tries_come_ever_more_seldom_until_one_a_minute() -> None:
    world = World([*[Transient("refused")] * 9, []]).run()
    pauses = [later - before for before, later in pairwise(world.connected)]

    assert pauses == [2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0, 60.0, 60.0]


def test_after_a_connection_that_lasted_the_next_try_comes_soon() -> None:
    world = World([*[Transient("refused")] * 9, [Quiet(3600)], []]).run()

    assert world.connected[-1] - world.connected[-2] == pytest.approx(3602.0)


def test_a_server_that_hangs_up_at_once_is_not_called_in_a_loop() -> None:
    world = World([*[[Said(CREATED)]] * 9, []]).run()

    assert world.connected[-1] - world.connected[-2] == pytest.approx(60.0)


def test_it_ends_within_a_tick_while_it_waits_for_the_next_try() -> None:
    world = World([*[Transient("refused")] * 9])
    sleep = world.sleep

    def sleep_and_stop(seconds: float) -> None:
        sleep(seconds)
        if world.now > 200.0:
            world.stop.set()

    world.sleep = sleep_and_stop  # type: ignore[method-assign]
    world.run()

    assert world.now <= 201.0


def test_it_ends_between_two_lines_of_a_flood() -> None:
    world = World([[Burst(CREATED, 1000)]])

    def receive(_: bytes) -> None:
        if world.now > 0.5:
            world.stop.set()

    world.run(receive=receive)

    assert world.now == pytest.approx(0.5, abs=0.01)


def test_it_does_not_begin_when_it_is_to_stop() -> None:
    world = World([[Said(CREATED)]])
    world.stop.set()

    assert world.run().connected == []


@pytest.mark.parametrize("failures", [1, 2, 5, 6, 7, 100, 10_000])
@pytest.mark.parametrize("chance", [0.0, 0.5, 0.999])
def test_a_pause_is_between_a_second_and_a_minute(failures: int, chance: float) -> None:
    assert 1.0 <= pause(failures, chance) <= 60.0


def test_listeners_that_were_cut_off_together_come_back_apart() -> None:
    assert pause(6, 0.0) == 30.0
    assert pause(6, 0.5) == 45.0


def test_a_short_connection_goes_on_with_the_row_of_failures() -> None:
    assert failures_after(3, 0.0) == 4
    assert failures_after(3, 59.0) == 4
    assert failures_after(3, 60.0) == 1


def test_only_dropped_output_and_cut_lines_tell_of_a_loss() -> None:
    assert tells_of_loss(Said(DROPPED))
    assert tells_of_loss(Said(b'{"type":', is_whole=False))
    assert not any(tells_of_loss(Said(path.read_bytes())) for path in SAMPLES.glob("stream-*.json"))
