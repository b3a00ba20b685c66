"""End HTTP connections whose request is not complete in time, or could be read in two ways."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, ClassVar, Final

import h11
from typing_extensions import override
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.h11_impl import H11Protocol

from service.web.guard import UPLOADS

if TYPE_CHECKING:
    import asyncio
    from typing import Any

_BARE_LINE_FEED: Final = re.compile(rb"(?<!\r)\n")
_LENGTHS: Final = frozenset({b"content-length", b"transfer-encoding"})


class StrictConnection(h11.Connection):
    """h11's connection, which refuses a head that a proxy before it may read in another way.

    h11 itself ends lines at a bare line feed, and prefers one of two lengths. Either lets a client hide a
    second request from the proxy.
    """

    @override
    def next_event(self) -> type[h11.NEED_DATA | h11.PAUSED] | h11.Event:
        received = self.trailing_data[0] if self.their_state is h11.IDLE else b""
        event = super().next_event()
        if isinstance(event, h11.Request):
            head = received[: len(received) - len(self.trailing_data[0])]
            if _BARE_LINE_FEED.search(head):
                raise h11.RemoteProtocolError("a line of the head ends without a carriage return")
            if {name for name, _ in event.headers} >= _LENGTHS:
                raise h11.RemoteProtocolError("it has both Content-Length and Transfer-Encoding")
        return event


class _MeasuredFlow(FlowControl):
    """Uvicorn's flow control, which also counts for how long it read nothing from the client."""

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(transport)
        self._clock = loop.time
        self._paused_at = 0.0
        self.paused = 0.0  # seconds

    @override
    def pause_reading(self) -> None:
        if not self.read_paused:
            self._paused_at = self._clock()
        super().pause_reading()

    @override
    def resume_reading(self) -> None:
        if self.read_paused:
            self.paused += self._clock() - self._paused_at
        super().resume_reading()


class DeadlineProtocol(H11Protocol):
    """Uvicorn's HTTP/1.1 with a deadline for the head and body of each request.

    An artifact has no deadline as a whole, but it must go on while the server reads it: a busy server reads
    it slowly. Uvicorn itself ends only connections that are idle after a response.
    """

    seconds: ClassVar[float] = 20.0  # the largest event arrives within seconds on a slow line
    least_bytes: ClassVar[int] = 1 << 20  # of an artifact, in that time
    _deadline: asyncio.TimerHandle | None = None
    _received = 0  # since the deadline was set

    def __init__(self, *given: Any, **named: Any) -> None:  # noqa: ANN401 - as uvicorn calls it
        super().__init__(*given, **named)
        self.conn = StrictConnection(h11.SERVER)

    @override
    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.flow = self._flow = _MeasuredFlow(transport, self.loop)
        self._watch(is_waiting=True)

    @override
    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._received += len(data)
        self._watch(is_waiting=self._is_waiting())

    @override
    def on_response_complete(self) -> None:
        super().on_response_complete()
        # After a response, the next request has not begun unless some of it was received already.
        self._watch(is_waiting=self._is_waiting() and bool(self.conn.trailing_data[0]))

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        self._watch(is_waiting=False)
        super().connection_lost(exc)

    def _is_waiting(self) -> bool:
        """Return whether the client still has to send a part of its request."""
        return self.conn.their_state in {h11.IDLE, h11.SEND_BODY}

    def _watch(self, *, is_waiting: bool) -> None:
        if self._deadline is not None and not is_waiting:
            self._deadline.cancel()
            self._deadline = None
        elif self._deadline is None and is_waiting:
            self._received, self._flow.paused = 0, 0.0
            self._deadline = self.loop.call_later(self.seconds, self._end_unless_uploading)

    def _end_unless_uploading(self) -> None:
        self._deadline = None
        paused, self._flow.paused = self._flow.paused, 0.0
        if not self._is_uploading():
            self.transport.close()
        elif self._flow.read_paused or self._received >= self.least_bytes:
            self._watch(is_waiting=True)
        elif paused:  # the client gets this time, too
            self._deadline = self.loop.call_later(paused, self._end_unless_uploading)
        else:
            self.transport.close()

    def _is_uploading(self) -> bool:
        """Return whether an artifact is on its way that the application has not refused."""
        cycle = self.cycle
        is_open = cycle is not None and not cycle.response_started and self._is_waiting()
        return is_open and UPLOADS.fullmatch(self.scope["path"]) is not None
