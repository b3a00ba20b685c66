"""Circuit breaker: at most 4 concurrent calls to a server, a deadline each, one probe after a failure.

People wait for these calls, each in one of some 40 threads of the web server. Without bounds, a server that
accepts connections and does not answer would soon occupy all of them.
"""

from __future__ import annotations

import time
from concurrent.futures import Future, wait
from threading import Condition, Semaphore, Thread
from typing import TYPE_CHECKING, Final, TypeVar

import structlog

from service.domain.values.errors import Transient

if TYPE_CHECKING:
    from collections.abc import Callable

AT_ONCE: Final = 4  # calls to one server; a tenth of the web server's threads
MOST_WAITING: Final = 12  # threads that wait until they may call, at all servers together
WAITING_SECONDS: Final = 5.0  # as long as a server may take for an answer; a failure ends the waiting
CALL_SECONDS: Final = 10.0  # a person waits
SILENT_SECONDS: Final = 15.0  # a server that did not answer is called again after them
_LOG = structlog.get_logger(__name__)
ResultT = TypeVar("ResultT")


class CircuitBreaker:
    """Circuit breaker for the calls of one process to a server; safe to use from several threads.

    A call fails if it raises Transient or misses its deadline. It then still counts until it ends. The error
    names the seconds after which the server is called again.

    Args:
        server: its name in messages.
        waiting: admits the threads that wait until they may call; for all servers together.
        seconds: the deadline of a call, from its begin to its end. HTTP clients only bound the wait for the
            next byte, and nothing bounds the look-up of a name.
        clock: monotonic seconds.
    """

    def __init__(
        self,
        server: str,
        waiting: Semaphore,
        seconds: float = CALL_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._server = server
        self._waiting = waiting
        self._seconds = seconds
        self._clock = clock
        self._changed = Condition()
        self._running = 0
        self._failure = ""
        self._silent_until = float("-inf")

    @property
    def failure(self) -> str:
        """Reason why the breaker is open; empty while it is closed."""
        with self._changed:
            return self._failure if self._clock() < self._silent_until else ""

    def run(self, call: Callable[[], ResultT]) -> ResultT:
        """Make a call, and return its result; raises what it raises.

        Raises:
            Transient: there are too many calls or threads, a call failed a moment ago, or this one missed its
                deadline.
        """
        self._begin()
        result: Future[ResultT] = Future()

        def work() -> None:
            try:
                value = call()
            except Transient as error:
                error.retry_after = error.retry_after or SILENT_SECONDS
                self._end(str(error))
                result.set_exception(error)
            except BaseException as error:  # noqa: BLE001 - the caller gets it
                self._end("")
                result.set_exception(error)
            else:
                self._end("")
                result.set_result(value)

        # A daemon: Benchgate can stop while the server still sends a byte now and then.
        try:
            Thread(target=work, daemon=True).start()
        except RuntimeError as error:
            self._end(None)
            raise Transient(f"this machine has no thread for a call to {self._server}") from error
        if not wait((result,), self._seconds).done:
            failure = f"{self._server} did not answer within {self._seconds:g} seconds"
            self._record(failure)
            raise Transient(failure, SILENT_SECONDS)
        return result.result()

    def _begin(self) -> None:
        with self._changed:
            self._wait_for_turn()
            now = self._clock()
            if self._failure and now < self._silent_until:
                raise Transient(self._failure, self._silent_until - now)
            if self._running >= AT_ONCE:
                raise Transient(f"too many requests wait for {self._server}", WAITING_SECONDS)
            self._running += 1
            if self._failure:  # half-open: this call alone probes the server
                self._silent_until = now + SILENT_SECONDS

    def _wait_for_turn(self) -> None:
        """Wait while the server works and has enough to do, unless too many threads wait already."""
        if self._failure or self._running < AT_ONCE or not self._waiting.acquire(blocking=False):
            return
        try:
            self._changed.wait_for(lambda: self._failure or self._running < AT_ONCE, WAITING_SECONDS)
        finally:
            self._waiting.release()

    def _end(self, failure: str | None) -> None:
        """Record the end of a call, and why the server did not answer; None: it was not called."""
        with self._changed:
            self._running -= 1
            self._changed.notify_all()
        if failure is not None:
            self._record(failure)

    def _record(self, failure: str) -> None:
        with self._changed:
            self._failure = failure
            self._silent_until = self._clock() + SILENT_SECONDS
            self._changed.notify_all()
        if failure:
            _LOG.warning("server.no_answer", server=self._server, error=failure)
