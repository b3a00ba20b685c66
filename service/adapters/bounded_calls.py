"""Calls to a server that may hang: few at once, each with a deadline, and none for a while after a failure.

People wait for these calls, each in a thread of the web server. Without bounds, a server that accepts
connections and does not answer would soon occupy all threads.
"""

from __future__ import annotations

import time
from concurrent.futures import Future, wait
from threading import BoundedSemaphore, Thread
from typing import TYPE_CHECKING, Final, TypeVar

from service.domain.errors import Transient

if TYPE_CHECKING:
    from collections.abc import Callable

_MOST: Final = 4  # at once
SILENT_SECONDS: Final = 15.0  # a server that failed is left alone
_LATER: Final = "try again in a minute"
ResultT = TypeVar("ResultT")


class BoundedCalls:
    """The calls of one process to a server.

    Args:
        server: its name in messages.
        seconds: the deadline of a call, from its begin to its end. HTTP clients only bound the wait for the
            next byte, and nothing bounds the look-up of a name.
        failure: the errors by which a call says that it did not reach the server.
        clock: monotonic seconds.
    """

    def __init__(
        self,
        server: str,
        seconds: float,
        failure: type[Exception],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._server = server
        self._seconds = seconds
        self._failure = failure
        self._clock = clock
        self._free = BoundedSemaphore(_MOST)
        self._silent_until = float("-inf")

    def run(self, call: Callable[[], ResultT]) -> ResultT:
        """Make a call, and return its result; raises what it raises.

        Raises:
            Transient: there are too many calls or threads, a call failed a moment ago, or this one missed its
                deadline.
        """
        if self._clock() < self._silent_until:
            raise Transient(f"{self._server} did not answer a moment ago; {_LATER}")
        if not self._free.acquire(blocking=False):
            raise Transient(f"{self._server} is still answering others; {_LATER}")
        result: Future[ResultT] = Future()

        def work() -> None:
            try:
                result.set_result(call())
            except BaseException as error:  # noqa: BLE001 - the caller gets it
                result.set_exception(error)
            finally:
                self._free.release()

        # A daemon: Benchgate can stop while the server still sends a byte now and then.
        try:
            Thread(target=work, daemon=True).start()
        except RuntimeError as error:
            self._free.release()
            raise Transient(f"this machine has no thread for a call to {self._server}; {_LATER}") from error
        if not wait((result,), self._seconds).done:
            self._leave_alone()
            raise Transient(f"{self._server} did not answer within {self._seconds:g} seconds; {_LATER}")
        if isinstance(result.exception(), self._failure):
            self._leave_alone()
        return result.result()

    def _leave_alone(self) -> None:
        self._silent_until = self._clock() + SILENT_SECONDS
