"""Gerrit's ``stream-events`` over the system's OpenSSH client, one connection at a time."""

from __future__ import annotations

import math
import os
import select
import signal
import subprocess
import time
from collections import deque
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Final, cast

from typing_extensions import override

from service.adapters.system.guarded_process import guarded
from service.domain.review.change import EVENT_BYTES
from service.domain.values.errors import Refused, Transient
from service.domain.values.text import plain
from service.ports.review.server import Line, Lines, Stream

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

_OPTIONS: Final = (
    *("-F", "none"),  # no user's settings decide the route to the server
    "-T",
    *("-o", "BatchMode=yes"),
    *("-o", "IdentitiesOnly=yes"),  # trying the keys of an agent would exhaust the server's limit of attempts
    *("-o", "StrictHostKeyChecking=yes"),
    *("-o", "UpdateHostKeys=no"),
    *("-o", "ConnectTimeout=10"),
    *("-o", "ServerAliveInterval=15"),
    *("-o", "ServerAliveCountMax=3"),
    *("-o", "LogLevel=VERBOSE"),  # reports the sign-in; Gerrit sends nothing before the first event
)
_SIGNED_IN: Final = b"\nAuthenticated to "
# Messages that ssh prints after the reason of an end, or without a reason.
_CHATTER: Final = ("Authenticated to ", "Transferred: ", "Bytes per second: ", "Disconnected from ")
_REFUSALS: Final = (
    "Permission denied",
    "Host key verification failed",
    "authentication fail",
    "events not permitted",
)
_PASSED_ON: Final = ("PATH", "HOME", "SSH_AUTH_SOCK")  # ssh gets no secret of the service
_CHUNK_BYTES: Final = 1 << 16
_STDERR_BYTES: Final = 4096


@dataclass(frozen=True, slots=True)
class GerritStream(Stream):
    """The event stream of a server.

    Args:
        host: the host of Gerrit's own SSH server.
        port: the port of Gerrit's own SSH server.
        user: an account with the capability Stream Events.
        key: its private key, without a passphrase or held by an agent.
        known_hosts: the file with the server's host key; Benchgate connects to no other host.
        types: the types of events to request; empty: all. The server reports dropped events in any case.
        connect_seconds: limit for the sign-in.
        settle_seconds: time after the sign-in until the server has subscribed this client to events.
        program: the client, with arguments to put before the others.
    """

    host: str
    port: int
    user: str
    key: Path
    known_hosts: Path
    types: tuple[str, ...] = ()
    connect_seconds: float = 30.0
    settle_seconds: float = 2.0
    program: tuple[str, ...] = ("ssh",)

    @override
    @contextmanager
    def lines(self) -> Iterator[GerritLines]:
        """Open a connection, closed at the end. The calling thread must outlive it.

        Raises:
            Transient: the client cannot be started.
        """
        try:
            process = subprocess.Popen(  # noqa: S603 - an argument list of the operator's own settings
                guarded(self._command(), signal.SIGKILL),
                # Kept open: the end of stdin may end the session.
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env={name: os.environ[name] for name in _PASSED_ON if name in os.environ},
                start_new_session=True,  # no terminal for a passphrase prompt, and one process group to kill
            )
        except OSError as error:
            raise Transient(f"ssh cannot be started: {error}") from error
        with process:
            try:
                yield GerritLines(process, self)
            finally:
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)

    def _command(self) -> tuple[str, ...]:
        wanted = " ".join(f"-s {kind}" for kind in self.types)
        return (
            *self.program,
            *_OPTIONS,
            *("-p", str(self.port)),
            *("-o", f"IdentityFile={_literal(self.key)}"),
            *("-o", f"UserKnownHostsFile={_literal(self.known_hosts)}"),
            *("--", f"{self.user}@{self.host}"),
            f"gerrit stream-events {wanted}".strip(),
        )


class GerritLines(Lines):
    """The lines of one connection, in the order of arrival."""

    def __init__(self, process: subprocess.Popen[bytes], stream: GerritStream) -> None:
        self._process = process
        self._stream = stream
        self._connect_by = time.monotonic() + stream.connect_seconds
        self._connected_at = math.inf  # after the sign-in, when the subscription is complete
        self._cutter = Cutter()
        self._ready: deque[Line] = deque()
        self._stderr = b"\n"
        self._has_ended = False
        self._poller = select.poll()
        self._errors = cast("IO[bytes]", process.stderr).fileno()
        output = cast("IO[bytes]", process.stdout).fileno()
        self._readers: dict[int, Callable[[bytes], None]] = {
            output: self._read_stdout,
            self._errors: self._read_stderr,
        }
        for descriptor in self._readers:
            os.set_blocking(descriptor, False)
            self._poller.register(descriptor, select.POLLIN)

    @property
    @override
    def is_connected(self) -> bool:
        """Return whether the server has subscribed this client; it sends no earlier events."""
        return time.monotonic() >= self._connected_at

    @override
    def next_line(self, seconds: float) -> Line | None:
        """Wait for the next line; None after the given seconds.

        An incomplete last line of a connection is dropped.

        Raises:
            Refused: the server rejects the key, or its own host key is not the known one.
            Transient: the connection ended, or the sign-in took too long; the message has the reason.
        """
        deadline = time.monotonic() + seconds
        while not self._ready:
            if self._has_ended:
                raise self._end()
            wake = deadline if self._connected_at < math.inf else min(deadline, self._connect_by)
            if (left := wake - time.monotonic()) > 0:
                self._read(left)
            elif wake < deadline:
                limit = self._stream.connect_seconds
                raise Transient(f"{self._stream.host} accepted no connection within {limit:.0f} s")
            else:
                return None
        return self._ready.popleft()

    def _read(self, seconds: float) -> None:
        """Read the available output, waiting for it up to ``seconds``."""
        readable = self._poller.poll(max(1, int(seconds * 1000)))
        for descriptor, _ in readable:
            self._readers[descriptor](os.read(descriptor, _CHUNK_BYTES))
        # A pipe that another process holds never ends. After the program's end, an empty pipe is the end.
        if not readable and self._process.poll() is not None and not self._poller.poll(0):
            self._has_ended = True

    def _read_stdout(self, chunk: bytes) -> None:
        self._has_ended = not chunk
        self._ready.extend(self._cutter.feed(chunk))
        if self._ready:
            self._connected_at = min(self._connected_at, time.monotonic())

    def _read_stderr(self, chunk: bytes) -> None:
        if not chunk:
            # A closed pipe is always ready, so the loop would spin until the program ends.
            self._poller.unregister(self._errors)
        stderr = self._stderr + chunk
        if self._connected_at == math.inf and _SIGNED_IN in stderr:
            self._connected_at = time.monotonic() + self._stream.settle_seconds
        self._stderr = stderr[-_STDERR_BYTES:]

    def _end(self) -> Transient:
        """Make the error with the last message of ssh."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(1.0)
        with suppress(BlockingIOError):
            while chunk := os.read(self._errors, _CHUNK_BYTES):
                self._read_stderr(chunk)
        lines = [line.strip() for line in self._stderr.decode(errors="replace").splitlines()]
        messages = [line for line in lines if line and not line.startswith(_CHATTER)]
        code = self._process.returncode
        why = plain(messages[-1], 300) if messages else f"ssh ended with exit code {code}"
        kind = Refused if any(refusal.lower() in why.lower() for refusal in _REFUSALS) else Transient
        return kind(f"no event stream from {self._stream.host}: {why}")


class Cutter:
    """A splitter of chunks into lines, which never holds more of a line than the longest event."""

    def __init__(self, bound: int = EVENT_BYTES) -> None:
        self._bound = bound
        self._begun = bytearray()
        self._is_over = False

    def feed(self, chunk: bytes) -> Iterator[Line]:
        """Yield the lines that end in this chunk, and the beginning of a line as soon as it is too long."""
        for number, piece in enumerate(chunk.split(b"\n")):
            if number:
                if not self._is_over:
                    yield Line(bytes(self._begun))
                self._begun.clear()
                self._is_over = False
            if not self._is_over:
                self._begun += piece
                self._is_over = len(self._begun) > self._bound
                if self._is_over:
                    yield Line(bytes(self._begun[: self._bound]), is_whole=False)


def _literal(path: Path) -> str:
    """Quote a path for an ssh option: blanks separate words there, and ``%`` begins a token."""
    return '"' + str(path).replace("%", "%%") + '"'
