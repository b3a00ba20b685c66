"""Run git so that neither the user's settings nor a repository's content can start a program."""

from __future__ import annotations

import os
import re
import resource
import selectors
import signal
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final, cast

from service.domain.values.errors import BadInput, NotFound, Transient

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

OUTPUT_BYTES: Final = 64 << 20  # the paths of a change that touches half a million files
LOCAL_SECONDS: Final = 300.0  # a checkout of a large project on a slow disk
ERROR_BYTES: Final = 8192
WATCH_SECONDS: Final = 0.25  # between two looks whether the work must end
# Programs find credentials in their usual places: ~/.netrc, ~/.ssh, an agent.
PASSED_ON: Final = ("PATH", "HOME", "SSH_AUTH_SOCK", "https_proxy", "http_proxy", "no_proxy", "SSL_CERT_FILE")
TOO_LARGE: Final = re.compile("File too large")
"""git's error about a file that reached the limit of a transfer."""
_ENVIRONMENT: Final = {
    "GIT_CONFIG_NOSYSTEM": "1",
    # The environment, because git does not pass `-c` on to the other side of a local fetch.
    "GIT_CONFIG_GLOBAL": str(Path(__file__).with_name("settings")),
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "LC_ALL": "C",
}
_MISSING: Final = re.compile(
    r"couldn't find remote ref|not our ref|does not appear to be a git repository|"
    r"repository '.*' not found|repository not found",
    re.IGNORECASE,
)
_CREDENTIALS: Final = re.compile(r"(?<=://)[^/\s@]+@")


def unwatched() -> None:
    """Never end the work."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The result of a git command. ``errors`` contains no credentials."""

    code: int
    output: bytes
    errors: str

    def line(self) -> str:
        """Decode the output as one line of text."""
        return self.output.decode(errors="replace").strip()

    def checked(self, what: str) -> Answer:
        """Return the answer if git succeeded; else raise NotFound if git reports so, or Transient."""
        if self.code == 0:
            return self
        lines = [line for line in self.errors.splitlines() if line.startswith(("fatal:", "error:"))]
        reason = lines[0] if lines else self.errors.strip()[:300] or f"exit code {self.code}"
        kind = NotFound if _MISSING.search(self.errors) else Transient
        raise kind(f"{what}: {reason}")


@dataclass(frozen=True, slots=True)
class TransferLimits:
    """The only protocol that git may use, without redirects, and the size of each file that it writes."""

    protocol: str
    file_bytes: int

    @property
    def environment(self) -> dict[str, str]:
        """The variables that git reads them from."""
        return {
            "GIT_ALLOW_PROTOCOL": self.protocol,
            "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": "http.followRedirects",
            "GIT_CONFIG_VALUE_0": "false",
        }


@dataclass(frozen=True, slots=True)
class Until:
    """Kill git and its children after ``seconds``, or earlier if ``watch`` raises.

    ``watch`` is called several times a second.
    """

    seconds: float = LOCAL_SECONDS
    watch: Callable[[], None] = unwatched


_LOCAL: Final = Until()


def run_git(
    directory: Path,
    arguments: Sequence[str],
    *,
    until: Until = _LOCAL,
    inherit: Sequence[int] = (),
    given: bytes = b"",
    limits: TransferLimits | None = None,
) -> Answer:
    """Run git in a repository to its end, with Benchgate's settings only.

    Args:
        directory: the repository.
        arguments: command and arguments; no shell interprets them.
        until: when git is killed.
        inherit: descriptors that stay open in git, so that their locks outlive this process.
        given: standard input.
        limits: of a fetch from an address that a patch set names.

    Raises:
        Transient: git took too long or cannot be started.
        BadInput: git wrote more than ``OUTPUT_BYTES``.
    """
    with tempfile.TemporaryFile() as errors, tempfile.TemporaryFile() as begun:
        begun.write(given)
        begun.seek(0)
        try:
            process = subprocess.Popen(  # noqa: S603 - an argument list of checked names
                ["git", "-C", str(directory), *arguments],  # noqa: S607 - the operator's PATH
                stdin=begun,
                stdout=subprocess.PIPE,
                stderr=errors,
                env={name: os.environ[name] for name in PASSED_ON if name in os.environ}
                | _ENVIRONMENT
                | (limits.environment if limits else {}),
                pass_fds=inherit,
                restore_signals=limits is None,  # so that git names a file that reached its limit
                start_new_session=True,  # no terminal for a password prompt, and one group to kill
            )
        except OSError as error:
            raise Transient(f"git cannot be started: {error}") from error
        with process:
            try:
                if limits is not None:  # git first connects, and writes its files later
                    most = (limits.file_bytes, limits.file_bytes)
                    resource.prlimit(process.pid, resource.RLIMIT_FSIZE, most)
                output = _collect(process, arguments[0], until)
            finally:
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)
        errors.seek(0)
        text = errors.read(ERROR_BYTES).decode(errors="replace")
    return Answer(process.returncode, output, _CREDENTIALS.sub("", text))


def _collect(process: subprocess.Popen[bytes], command: str, until: Until) -> bytes:
    """Read the output of git until it ends."""
    stream = cast("IO[bytes]", process.stdout)
    deadline = time.monotonic() + until.seconds
    collected = bytearray()
    with selectors.DefaultSelector() as selector:
        selector.register(stream, selectors.EVENT_READ)
        while (left := deadline - time.monotonic()) > 0:
            until.watch()
            if not selector.select(min(left, WATCH_SECONDS)):
                continue
            chunk = os.read(stream.fileno(), 1 << 16)
            if not chunk:
                break
            collected += chunk
            if len(collected) > OUTPUT_BYTES:
                raise BadInput(f"git {command} wrote more than {OUTPUT_BYTES >> 20} MiB")
    try:
        process.wait(max(0.0, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        raise Transient(f"git {command} took longer than {until.seconds:.0f} s") from None
    return bytes(collected)
