"""Feeds the lines of an event stream into the service, and asks for what the stream cannot have told."""

from __future__ import annotations

import random
import time
from typing import TYPE_CHECKING, Final, Protocol

import structlog

from service.domain.errors import BadEvent, Transient
from service.domain.gerrit.events import parse_event
from service.domain.text import duration, plain

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable
    from contextlib import AbstractContextManager

TICK: Final = 1.0  # seconds in which a request to stop is noticed
BEAT_EVERY: Final = 10.0  # seconds; 15 are promised
PROBE_EVERY: Final = 2.0  # seconds between looks whether the database is back
ASK_EVERY: Final = 5.0  # seconds; a server that drops events drops many, and one look finds them all
SHORTEST_PAUSE: Final = 1.0
LONGEST_PAUSE: Final = 60.0
_LOG = structlog.get_logger(__name__)


class Line(Protocol):
    """A line of the stream; one that is not whole is longer than an event may be."""

    @property
    def body(self) -> bytes:
        """The line without its end."""

    @property
    def is_whole(self) -> bool:
        """Whether it is all that was sent."""


class Lines(Protocol):
    """One connection to the stream."""

    @property
    def is_connected(self) -> bool:
        """Whether everything that happens from now on will be told."""

    def next_line(self, seconds: float) -> Line | None:
        """The next line, None when none came within so many seconds; Transient when the connection ended."""


class Stream(Protocol):
    """Where events come from."""

    def lines(self) -> AbstractContextManager[Lines]:
        """A new connection, closed at the end; Transient where none can be made."""


def pause(failures: int, chance: float) -> float:
    """Seconds until the next try after so many failures in a row.

    ``chance`` between 0 and 1 keeps listeners apart that a server's restart cut off together.
    """
    longest = min(2.0 ** min(failures, 10), LONGEST_PAUSE)
    return max(SHORTEST_PAUSE, longest * (0.5 + chance / 2))


def failures_after(failures: int, connected_seconds: float) -> int:
    """Failures in a row, now that a connection ended: one that lasted begins a new row."""
    return 1 if connected_seconds >= LONGEST_PAUSE else failures + 1


def tells_of_loss(line: Line) -> bool:
    """Whether events were lost that the stream will not tell again.

    Raises:
        BadEvent: the line is no event.
    """
    return not line.is_whole or parse_event(line.body).type == "dropped-output"


def listen(
    stream: Stream,
    receive: Callable[[bytes], object],
    ask_to_reconcile: Callable[[], object],
    stop: threading.Event,
    beat: Callable[[str], object],
    sleep: Callable[[float], object],
    *,
    silence: float = 600.0,
    clock: Callable[[], float] = time.monotonic,
    chance: Callable[[], float] = random.random,
) -> None:
    """Listen until ``stop`` is set, whatever happens to the connection and to the database.

    Nothing is replayed to a new connection, so a reconciliation is asked for after each one was made, and
    whenever a line was lost: dropped by the server, too long, unreadable, or told while it could not be
    stored.

    Args:
        stream: where events come from.
        receive: stores an event's body; may raise BadEvent and Transient.
        ask_to_reconcile: has the server's changes compared with ours soon; may raise Transient.
        stop: set when the listening is to end, which it does within about a second.
        beat: stores a sign of life with a note at least every 15 s; may raise Transient.
        sleep: waits so many seconds, or until ``stop`` is set.
        silence: seconds without a line after which a reconciliation is asked for. The connection is
            alive then as far as it can tell: on a quiet server nothing happens for hours.
        clock: seconds from any start.
        chance: numbers between 0 and 1.
    """
    state = StreamState(receive, ask_to_reconcile, beat, silence, clock)
    failures = 0
    while not stop.is_set():
        state.tick()
        try:
            _consume(stream, state, stop)
        except Transient as error:
            failures = failures_after(failures, state.connected_seconds)
            state.disconnect(plain(str(error), 300))
            until = clock() + pause(failures, chance())
            while not stop.is_set() and (left := until - clock()) > 0:
                state.tick()
                sleep(min(left, TICK))


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
    """What is known of the listening, and what it still owes."""

    def __init__(
        self,
        receive: Callable[[bytes], object],
        ask: Callable[[], object],
        beat: Callable[[str], object],
        silence: float,
        clock: Callable[[], float],
    ) -> None:
        self._receive = receive
        self._ask = ask
        self._beat = beat
        self._silence = silence
        self._clock = clock
        self._is_connected = False
        self._since = self._heard_at = self._beat_at = self._ask_at = clock()
        self._why = "no connection was made yet"
        self._is_stored = True  # whether the database took what it was last given
        self._is_owed = False
        self._events = self._lost = 0

    @property
    def connected_seconds(self) -> float:
        """For how long there has been a connection."""
        return self._clock() - self._since if self._is_connected else 0.0

    def connect(self) -> None:
        """There is a connection."""
        if not self._is_connected:
            self._is_connected = True
            self._since = self._heard_at = self._beat_at = self._clock()
            self._events = self._lost = 0
            _LOG.info("stream.connected")
            self._owe("connected")

    def disconnect(self, why: str) -> None:
        """There is none (still)."""
        if self._is_connected:
            self._is_connected = False
            self._since = self._clock()
        self._beat_at = self._clock()
        self._why = why
        _LOG.warning("stream.disconnected", error=why)

    def take(self, line: Line) -> None:
        """Store an event, or note that it was lost."""
        self._heard_at = self._clock()
        try:
            if tells_of_loss(line):
                self._lose("dropped" if line.is_whole else "too long")
            if line.is_whole:
                self._store(line.body)
        except BadEvent as error:
            _LOG.warning("stream.unreadable", size=len(line.body), error=str(error))
            self._lose("unreadable")

    def tick(self) -> None:
        """Leave a sign of life and ask for what is owed, when it is time."""
        now = self._clock()
        if self._is_connected and now >= self._heard_at + self._silence:
            self._heard_at = now
            self._owe("silent")
        if now >= self._beat_at:
            self._say()
        # A database that is away could not be reconciled either, and the request might be gone by then.
        if self._is_owed and self._is_stored and now >= self._ask_at:
            self._settle()

    def _store(self, body: bytes) -> None:
        # While the database is away each try might take its full timeout; the server would drop events.
        if not self._is_stored:
            self._lose("not stored")
            return
        try:
            self._receive(body)
            self._events += 1
        except Transient as error:
            _LOG.warning("stream.not_stored", error=str(error))
            self._lose("not stored")
            self._is_stored = False
            self._beat_at = self._clock()

    def _lose(self, why: str) -> None:
        self._lost += 1
        self._owe(why)

    def _owe(self, why: str) -> None:
        if not self._is_owed:
            _LOG.info("reconciliation.owed", why=why)
        self._is_owed = True

    def _say(self) -> None:
        try:
            self._beat(self._note())
            self._is_stored = True
        except Transient as error:
            if self._is_stored:
                _LOG.warning("stream.beat_failed", error=str(error))
            self._is_stored = False
        self._beat_at = self._clock() + (BEAT_EVERY if self._is_stored else PROBE_EVERY)

    def _note(self) -> str:
        lasting = duration(self._clock() - self._since)
        if self._is_connected:
            return f"connected for {lasting}: {self._events} heard, {self._lost} lost"
        return f"disconnected for {lasting}: {self._why}"

    def _settle(self) -> None:
        try:
            self._ask()
            self._is_owed = False
        except Transient as error:
            _LOG.warning("reconciliation.not_asked", error=str(error))
        self._ask_at = self._clock() + ASK_EVERY
