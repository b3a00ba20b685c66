"""Listen to an event stream: store each event, and request what the stream missed."""

from __future__ import annotations

import random
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import structlog

from service.domain.values.errors import BadEvent, Transient
from service.domain.values.text import duration, plain

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable

    from service.domain.review.change import Event
    from service.ports.review.server import Line, Stream

TICK: Final = 1.0  # seconds within which a request to stop is noticed
BEAT_EVERY: Final = 10.0  # seconds; at least every 15 is promised
PROBE_EVERY: Final = 2.0  # seconds between two checks whether the database is back
REQUEST_EVERY: Final = 5.0  # seconds; a server drops many events at a time, and one reconciliation finds all
SHORTEST_PAUSE: Final = 1.0
LONGEST_PAUSE: Final = 60.0
_LOG = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Actions:
    """The effects of the listener; each may raise Transient.

    Args:
        parse: reads an event; may raise BadEvent.
        receive: stores an event's body; may also raise BadEvent.
        request_reconciliation: queues a comparison of the server's changes with the stored ones.
        beat: stores a heartbeat with a note and the trouble (empty if connected), at least every 15 s.
    """

    parse: Callable[[bytes], Event]
    receive: Callable[[bytes], object]
    request_reconciliation: Callable[[], object]
    beat: Callable[[str, str], object]


@dataclass(frozen=True, slots=True)
class Timing:
    """The clock of the listener.

    Args:
        sleep: waits for the given seconds, or until the listener must stop.
        silence: seconds without a line after which a reconciliation is requested. Such a connection may
            still be alive: on a quiet server, hours can pass without an event.
        clock: monotonic seconds.
        chance: random numbers between 0 and 1.
    """

    sleep: Callable[[float], object]
    silence: float = 600.0
    clock: Callable[[], float] = time.monotonic
    chance: Callable[[], float] = random.random


def pause(failures: int, chance: float) -> float:
    """Compute the seconds until the next attempt after this many failures in a row.

    ``chance`` between 0 and 1 spreads the attempts of listeners that lost their connections together.
    """
    longest = min(2.0 ** min(failures, 10), LONGEST_PAUSE)
    return max(SHORTEST_PAUSE, longest * (0.5 + chance / 2))


def failures_after(failures: int, connected_seconds: float) -> int:
    """Count the failures in a row when a connection ends; a long connection starts the count again."""
    return 1 if connected_seconds >= LONGEST_PAUSE else failures + 1


def listen(stream: Stream, actions: Actions, stop: threading.Event, timing: Timing) -> None:
    """Listen until ``stop`` is set, also through failures of the connection and the database.

    The server does not repeat events for a new connection. The listener therefore requests a reconciliation
    after each connection, and for each line that was lost: dropped by the server, too long, unreadable, or
    received while the database was away. It ends within about a second of ``stop``.
    """
    state = StreamState(actions, timing)
    failures = 0
    while not stop.is_set():
        state.tick()
        try:
            _consume(stream, state, stop)
        except Transient as error:
            failures = failures_after(failures, state.connected_seconds)
            state.disconnect(plain(str(error), 300))
            until = timing.clock() + pause(failures, timing.chance())
            while not stop.is_set() and (left := until - timing.clock()) > 0:
                state.tick()
                timing.sleep(min(left, TICK))


def _consume(stream: Stream, state: StreamState, stop: threading.Event) -> None:
    with stream.lines() as lines:
        while not stop.is_set():
            line = lines.next_line(TICK)
            if lines.is_connected:
                state.connect()
            if line is not None:
                state.take(line)
            state.tick()


class StreamState:
    """The listener's connection, database, and due reconciliation."""

    def __init__(self, actions: Actions, timing: Timing) -> None:
        self._actions = actions
        self._silence = timing.silence
        self._clock = timing.clock
        self._is_connected = False
        self._since = self._received_at = self._beat_at = self._request_at = timing.clock()
        self._why = "no connection was made yet"
        self._is_stored = True  # whether the last write to the database succeeded
        self._is_due = False  # a reconciliation
        self._events = self._lost = 0

    @property
    def connected_seconds(self) -> float:
        """The age of the connection; 0 without one."""
        return self._clock() - self._since if self._is_connected else 0.0

    def connect(self) -> None:
        """Note that there is a connection."""
        if not self._is_connected:
            self._is_connected = True
            self._since = self._received_at = self._beat_at = self._clock()
            self._events = self._lost = 0
            _LOG.info("stream.connected")
            self._require("connected")

    def disconnect(self, why: str) -> None:
        """Note that there is no connection."""
        if self._is_connected:
            self._is_connected = False
            self._since = self._clock()
        self._beat_at = self._clock()
        self._why = why
        _LOG.warning("stream.disconnected", error=why)

    def take(self, line: Line) -> None:
        """Store an event, or note that it was lost."""
        self._received_at = self._clock()
        try:
            if not line.is_whole or self._actions.parse(line.body).is_loss:
                self._lose("dropped" if line.is_whole else "too long")
            if line.is_whole:
                self._store(line.body)
        except BadEvent as error:
            _LOG.warning("stream.unreadable", size=len(line.body), error=str(error))
            self._lose("unreadable")

    def tick(self) -> None:
        """Store a heartbeat and request a due reconciliation, each at its time."""
        now = self._clock()
        if self._is_connected and now >= self._received_at + self._silence:
            self._received_at = now
            self._require("silent")
        if now >= self._beat_at:
            self._store_heartbeat()
        # Without the database a reconciliation would fail, and its request might be lost.
        if self._is_due and self._is_stored and now >= self._request_at:
            try:
                self._actions.request_reconciliation()
                self._is_due = False
            except Transient as error:
                _LOG.warning("reconciliation.not_requested", error=str(error))
            self._request_at = self._clock() + REQUEST_EVERY

    def _store(self, body: bytes) -> None:
        # Without the database, each attempt may take its full timeout, and the server would drop events.
        if not self._is_stored:
            self._lose("not stored")
            return
        try:
            self._actions.receive(body)
            self._events += 1
        except Transient as error:
            _LOG.warning("stream.not_stored", error=str(error))
            self._lose("not stored")
            self._is_stored = False
            self._beat_at = self._clock()

    def _lose(self, why: str) -> None:
        self._lost += 1
        self._require(why)

    def _require(self, why: str) -> None:
        if not self._is_due:
            _LOG.info("reconciliation.due", why=why)
        self._is_due = True

    def _store_heartbeat(self) -> None:
        try:
            lasting = duration(self._clock() - self._since)
            trouble = "" if self._is_connected else f"disconnected for {lasting}: {self._why}"
            note = f"connected for {lasting}: {self._events} received, {self._lost} lost"
            self._actions.beat(trouble or note, trouble)
            self._is_stored = True
        except Transient as error:
            if self._is_stored:
                _LOG.warning("stream.beat_failed", error=str(error))
            self._is_stored = False
        self._beat_at = self._clock() + (BEAT_EVERY if self._is_stored else PROBE_EVERY)
