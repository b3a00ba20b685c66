"""Listens to Gerrit's ``stream-events`` through the system's OpenSSH client, one connection at a time."""

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

from service.adapters.embedded.process import guarded
from service.domain.errors import Refused, Transient
from service.domain.gerrit.events import MAX_BYTES
from service.domain.text import plain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

_OPTIONS: Final = (
    *("-F", "none"),  # nobody's own settings decide how, and through what, the server is reached
    "-T",
    *("-o", "BatchMode=yes"),
    *("-o", "IdentitiesOnly=yes"),  # the keys of an agent would use up the tries that the server allows
    *("-o", "StrictHostKeyChecking=yes"),
    *("-o", "UpdateHostKeys=no"),
    *("-o", "ConnectTimeout=10"),
    *("-o", "ServerAliveInterval=15"),
    *("-o", "ServerAliveCountMax=3"),
    *("-o", "LogLevel=VERBOSE"),  # says when the server let us in; it is silent until something happens
)
_LET_IN: Final = b"\nAuthenticated to "
# What ssh says after the reason of an end, or without one.
_CHATTER: Final = ("Authenticated to ", "Transferred: ", "Bytes per second: ", "Disconnected from ")
_REFUSALS: Final = (
    "Permission denied",
    "Host key verification failed",
    "authentication fail",
    "events not permitted",
)
_PASSED_ON: Final = ("PATH", "HOME", "SSH_AUTH_SOCK")  # the secrets of the service are nothing to ssh
_CHUNK_BYTES: Final = 1 << 16
_WORDS_BYTES: Final = 4096


@dataclass(frozen=True, slots=True)
class Line:
    """A line as it came, without its end; of one that is longer than an event may be, the beginning."""

    body: bytes
    is_whole: bool = True


@dataclass(frozen=True, slots=True)
class GerritStream:
    """The event stream of a server.

    Args:
        host: of Gerrit's own SSH server.
        port: of Gerrit's own SSH server.
        user: an account that has the capability Stream Events.
        key: its private key, without a passphrase or held by an agent.
        known_hosts: the file that holds the server's host key; no other host is spoken to.
        types: the types of events to ask for; empty: all. The server tells of dropped events in any case.
        connect_seconds: how long it may take until the server lets us in.
        settle_seconds: after that, until it has begun to listen on our behalf.
        program: the client, with words to put in front of ours.
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

    @contextmanager
    def lines(self) -> Iterator[Lines]:
        """A new connection, closed at the end. Use it in a thread that lives at least as long.

        Raises:
            Transient: the client cannot be started.
        """
        try:
            process = subprocess.Popen(  # noqa: S603 - an argument list of the operator's own settings
                guarded(self._command(), signal.SIGKILL),
                # Open and empty: its end could be taken for the end of the session.
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env={name: os.environ[name] for name in _PASSED_ON if name in os.environ},
                start_new_session=True,  # no terminal to ask for a passphrase, and one group to kill
            )
        except OSError as error:
            raise Transient(f"ssh cannot be started: {error}") from error
        with process:
            try:
                yield Lines(process, self)
            finally:
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)

    def _command(self) -> tuple[str, ...]:
        wanted = " ".join(f"-s {each}" for each in self.types)
        return (
            *self.program,
            *_OPTIONS,
            *("-p", str(self.port)),
            *("-o", f"IdentityFile={_literal(self.key)}"),
            *("-o", f"UserKnownHostsFile={_literal(self.known_hosts)}"),
            *("--", f"{self.user}@{self.host}"),
            f"gerrit stream-events {wanted}".strip(),
        )


class Lines:
    """The lines of one connection, as they come."""

    def __init__(self, process: subprocess.Popen[bytes], stream: GerritStream) -> None:
        self._process = process
        self._stream = stream
        self._connect_by = time.monotonic() + stream.connect_seconds
        self._connected_at = math.inf  # once the server let us in, when it will listen on our behalf
        self._cutter = Cutter()
        self._ready: deque[Line] = deque()
        self._words = b"\n"
        self._has_ended = False
        self._poller = select.poll()
        self._errors = cast("IO[bytes]", process.stderr).fileno()
        output = cast("IO[bytes]", process.stdout).fileno()
        self._readers: dict[int, Callable[[bytes], None]] = {output: self._hear, self._errors: self._overhear}
        for descriptor in self._readers:
            os.set_blocking(descriptor, False)
            self._poller.register(descriptor, select.POLLIN)

    @property
    def is_connected(self) -> bool:
        """Whether the server has begun to tell what happens: what happened before is not told."""
        return time.monotonic() >= self._connected_at

    def next_line(self, seconds: float) -> Line | None:
        """The next line; None when none came within so many seconds.

        A line that the end of the connection cut off is dropped, like all that comes after it.

        Raises:
            Refused: the server does not accept our key, or we do not accept the server's.
            Transient: the connection ended, or none was made in time; says why.
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
                raise Transient(f"{self._stream.host} did not let us in within {limit:.0f} s")
            else:
                return None
        return self._ready.popleft()

    def _read(self, seconds: float) -> None:
        """Take what came, waiting for it up to ``seconds``."""
        found = self._poller.poll(max(1, int(seconds * 1000)))
        for descriptor, _ in found:
            self._readers[descriptor](os.read(descriptor, _CHUNK_BYTES))
        # A pipe that something else still holds has no end; once the program has, what is in it is all.
        if not found and self._process.poll() is not None and not self._poller.poll(0):
            self._has_ended = True

    def _hear(self, chunk: bytes) -> None:
        self._has_ended = not chunk
        self._ready.extend(self._cutter.feed(chunk))
        if self._ready:
            self._connected_at = min(self._connected_at, time.monotonic())

    def _overhear(self, chunk: bytes) -> None:
        if not chunk:
            # A closed pipe is always ready: the loop would spin until the program ends.
            self._poller.unregister(self._errors)
        words = self._words + chunk
        if self._connected_at == math.inf and _LET_IN in words:
            self._connected_at = time.monotonic() + self._stream.settle_seconds
        self._words = words[-_WORDS_BYTES:]

    def _end(self) -> Transient:
        """Why the connection ended, in the last words of ssh."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(1.0)
        with suppress(BlockingIOError):
            while chunk := os.read(self._errors, _CHUNK_BYTES):
                self._overhear(chunk)
        lines = [line.strip() for line in self._words.decode(errors="replace").splitlines()]
        said = [line for line in lines if line and not line.startswith(_CHATTER)]
        code = self._process.returncode
        why = plain(said[-1], 300) if said else f"ssh ended with exit code {code}"
        kind = Refused if any(each.lower() in why.lower() for each in _REFUSALS) else Transient
        return kind(f"no event stream from {self._stream.host}: {why}")


class Cutter:
    """Cuts what comes in pieces into lines, and never holds more of one than an event may be long."""

    def __init__(self, bound: int = MAX_BYTES) -> None:
        self._bound = bound
        self._begun = bytearray()
        self._is_over = False

    def feed(self, chunk: bytes) -> Iterator[Line]:
        """The lines that end in this piece, and the beginning of one as soon as it is too long."""
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
    """A path as ssh reads it: words are cut at blanks, and a percent sign begins the name of a value."""
    return '"' + str(path).replace("%", "%%") + '"'
