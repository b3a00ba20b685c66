"""End HTTP connections if a request is not complete in time, so that half-sent ones hold nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import h11
from typing_extensions import override
from uvicorn.protocols.http.h11_impl import H11Protocol

if TYPE_CHECKING:
    import asyncio


class DeadlineProtocol(H11Protocol):
    """Uvicorn's HTTP/1.1 with a deadline for the head and body of each request.

    Uvicorn itself ends only connections that are idle after a response.
    """

    seconds: ClassVar[float] = 20.0  # the largest event arrives within seconds on a slow line
    _deadline: asyncio.TimerHandle | None = None

    @override
    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._watch(is_waiting=True)

    @override
    def data_received(self, data: bytes) -> None:
        super().data_received(data)
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
            self._deadline = self.loop.call_later(self.seconds, self.transport.close)
