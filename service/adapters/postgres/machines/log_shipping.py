"""Ship a build's growing log from a thread, beside the renewal of its lease."""

from __future__ import annotations

import threading
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Protocol

import structlog

from service.adapters.postgres.engine import connect_apart
from service.adapters.postgres.faults import translated
from service.adapters.postgres.machines.calls import call_on
from service.domain.building.logs.pages import whole_characters
from service.domain.values.errors import LeaseLost, Transient

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy import Connection, Engine

    from service.ports.building import Artifacts
    from service.ports.machines import BuildOutput

CHUNK_BYTES: Final = 1 << 20  # decompressed in a few milliseconds, for a page
END_BYTES: Final = 256 << 10  # one row that is overwritten: small, and more than a screen
SHIP_SECONDS: Final = 2.0
CLOSE_WITHIN_SECONDS: Final = 5.0


class Call(Protocol):
    """A call of a function of the machine plane, with the build and its token."""

    def __call__(self, function: str, /, **values: object) -> object:
        """Call it; raises LeaseLost and Transient."""


class LogChunks:
    """A log's shipped part: chunks of what stays for good, and a row with the newest end.

    Args:
        log: grows while it is read.
        artifacts: the chunks are stored there.
    """

    def __init__(self, log: BuildOutput, artifacts: Artifacts) -> None:
        self._log = log
        self._artifacts = artifacts
        self._chunks = 0
        self._place = 0  # the next chunk begins here,
        self._line = 0  # after as many line ends
        self._shown = (0, -1)  # the places of the end that is shown
        # A chunk that may be stored, and how many lines it ends.
        self._unanswered: tuple[dict[str, Any], int] | None = None

    def ship(self, call: Call, is_stopped: Callable[[], bool] = lambda: False) -> None:
        """Ship chunks until the rest fits into the end's row, or may be left out later; then ship the end.

        A log that did not grow costs nothing. Raises what ``call`` and the artifacts raise; it goes on there.
        """

        def watch() -> None:
            if is_stopped():
                raise Transient("the log is being closed")

        artifacts = self._artifacts.watched(watch)
        while self._log.mark() - self._place > END_BYTES and self._place < self._log.stable_end():
            if is_stopped():
                return
            most = min(CHUNK_BYTES, self._log.stable_end() - self._place)
            start, data = self._log.read(self._place, most)
            self._add(call, artifacts, (start, data), is_last=start + len(data) == self._log.stable_end())
        start, data = self._log.read(max(self._place, self._log.mark() - END_BYTES), END_BYTES)
        data = whole_characters(data)
        if self._shown != (start, start + len(data)):
            call("show_log_end", start=start, line=self._log.lines_before(start), data=data)
            self._shown = start, start + len(data)

    def finish(self, call: Call, watch: Callable[[], None] = lambda: None) -> None:
        """Ship everything that is kept of a log that does not grow any more; raises as ``ship``.

        ``watch`` may end a wait for the artifacts by an error.
        """
        artifacts, size = self._artifacts.watched(watch), self._log.mark()
        while self._place < size:
            start, data = self._log.read(self._place, CHUNK_BYTES)
            if start > self._place:
                self._line = self._log.lines_before(start)
            self._add(call, artifacts, (start, data), is_last=start + len(data) == size)
        call("show_log_end", start=self._place, line=self._line, data=b"")

    def _add(self, call: Call, artifacts: Artifacts, read: tuple[int, bytes], *, is_last: bool) -> None:
        """Ship the lines of a chunk that are whole; all of it if it is the last one, or has no line end.

        After a call without an answer, the chunk is sent again as it was, although the log grew since: the
        database may have it, and takes no other one in its place.
        """
        if self._unanswered is None:
            start, data = read
            kept = data if is_last else data[: data.rfind(b"\n") + 1] or whole_characters(data)
            artifact = artifacts.put(kept)
            chunk = {"number": self._chunks, "start": start, "line": self._line, "size": len(kept)}
            self._unanswered = {**chunk, "artifact": artifact}, kept.count(b"\n")
        sent, lines = self._unanswered
        call("add_log_chunk", **sent)
        self._unanswered = None
        self._chunks += 1
        self._place = sent["start"] + sent["size"]
        self._line += lines


class LogShipping:
    """Ship one log from a thread of its own.

    Args:
        engine: connections of the machine's role.
        lease: the build, and the fencing token of the claim.
        chunks: of the log.
    """

    def __init__(self, engine: Engine, lease: tuple[int, int], chunks: LogChunks) -> None:
        self._engine = engine
        self._lease = lease
        self._chunks = chunks
        self._is_closing = threading.Event()
        self._thread = threading.Thread(target=self._ship_until_closed, name=f"log-{lease[0]}", daemon=True)
        self._thread.start()

    def finish(self, call: Call, watch: Callable[[], None]) -> None:
        """Ship all that is left; raises what ``call``, the artifacts and ``watch`` raise."""
        self._is_closing.set()
        self._thread.join()  # the calls that it waits for have time limits
        self._chunks.finish(call, watch)

    def close(self) -> None:
        """Stop shipping."""
        self._is_closing.set()
        self._thread.join(CLOSE_WITHIN_SECONDS)

    def _ship_until_closed(self) -> None:
        connection: Connection | None = None
        build, token = self._lease
        while not self._is_closing.is_set():
            try:
                with translated():
                    # Not that of the renewal, which must never wait for a chunk.
                    connection = connection or connect_apart(self._engine)
                    call = partial(call_on, connection, build=build, token=token)
                    self._chunks.ship(call, self._is_closing.is_set)
            except Transient:
                _drop(connection)
                connection = None
            except LeaseLost:
                break  # the renewal stops the build
            except Exception:  # noqa: BLE001 - the last resort of a thread, which logs it
                if not self._is_closing.is_set():  # else the log was closed while this waited
                    # The end of the build tries again, and raises.
                    structlog.get_logger().exception("log.not_shipped", build=build)
                break
            self._is_closing.wait(SHIP_SECONDS)
        _drop(connection)


def _drop(connection: Connection | None) -> None:
    if connection is not None:
        with suppress(Transient), translated():
            connection.close()
