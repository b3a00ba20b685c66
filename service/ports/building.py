"""Building and launching programs: a sandbox, artifacts, the binary cache and progress reports."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, BinaryIO, Final, Protocol

from service.domain.building.built_files import BuiltFile, Opened
from service.domain.building.sandbox_command import Command, Completed
from service.domain.building.spec import BinaryKey


class ByteSink(Protocol):
    """A destination of output."""

    def write(self, data: bytes, /) -> object:
        """Take all of these bytes."""


class Sandbox(Protocol):
    """Run programs. All methods raise Unfit if this host cannot run them as promised."""

    def run(self, command: Command, *, log: ByteSink | None, watch: Callable[[], None]) -> Completed:
        """Run ``command`` to its end.

        Args:
            command: the program, its mounts and its limits.
            log: receives standard output and error, at most ``limits.log_bytes``; None: both are discarded.
            watch: called at least every 0.25 s from this thread. If it raises, the error is raised from here
                after every process of the command has ended.

        Raises:
            Permanent: the command cannot be started at all (an argument is too long).
            Transient: the host failed, not the command.
        """

    def in_force(self) -> Mapping[str, str]:
        """Describe the isolation and the limits here; results with different ones must not be compared."""


class Scratch(Protocol):
    """Temporary directories on disk that untrusted programs may write to."""

    def directory(self) -> AbstractContextManager[Path]:
        """Create an empty directory, and remove it with all its content at the end of the block.

        Raises:
            Transient: the disk is full or does not answer.
            Permanent: the directory cannot be removed afterwards.
        """


# Each answer of the routes of artifacts has it: no proxy, other page or earlier version sends it.
ARTIFACTS_HEADER: Final = "Benchgate-Artifacts"
LARGEST_ARTIFACT: Final = 9 << 30  # bytes, packed and unpacked: more than an archive of programs has


class ArtifactKind(StrEnum):
    """The two stores: project files name the digests of downloads, and must reach nothing else."""

    BUILDS = "builds"
    DOWNLOADS = "downloads"


class Artifacts(Protocol):
    """Content-addressed store of compressed bytes, as a machine may use it; keys are SHA-256.

    All methods raise Transient if the disk is full or does not answer. Reading raises NotFound if there is no
    artifact with the key, and Permanent if it is damaged. Over a network, they repeat what fails for minutes,
    and raise LeaseLost if the machine's lease is over.
    """

    def watched(self, watch: Callable[[], None]) -> Artifacts:
        """Return the same store; it calls ``watch``, which may raise, before and during each wait."""

    def put(self, data: bytes) -> str:
        """Store bytes, and return their key. Storing bytes again repairs a damaged file."""

    def get(self, key: str, *, at_most: int = ...) -> bytes:
        """Read the bytes; raises BadInput if they are more than ``at_most``, without reading them all."""

    def stream(self, key: str) -> Iterator[bytes]:
        """Yield the bytes in chunks, each read when it is asked for.

        Raises Permanent at the end if they are damaged; all must be discarded then.
        """

    def put_file(self, path: Path) -> str:
        """Store a file without reading all of it into memory; an untrusted program may have written it.

        Raises:
            BadResults: it is not a regular file.
        """

    def get_file(self, key: str, path: Path) -> None:
        """Write the bytes to a new file, which is removed if this raises; Permanent if the file exists."""


@dataclass(frozen=True, slots=True)
class KeptArtifact:
    """A stored artifact: its key, when it was stored last (seconds since 1970), and its packed bytes."""

    key: str
    stored_at: float
    size: int


class IncomingArtifact(Protocol):
    """A transfer into the store, in gzip's format; nobody can read any of it before ``publish``."""

    def take(self, data: bytes) -> None:
        """Take the next bytes, and check them; raises BadInput if the artifact cannot be stored."""

    def publish(self) -> None:
        """Store the artifact; raises BadInput if its bytes are not those of its key, or not all."""

    def close(self) -> None:
        """Forget what was not published."""


class ArtifactStore(Artifacts, Protocol):
    """The store as the control plane has it: it serves the machines, and deletes."""

    def delete(self, key: str, stored_before: float) -> bool:
        """Delete an artifact unless it was stored in the last ``stored_before`` seconds (then False).

        One that is stored again meanwhile stays. A missing one is no error.
        """

    def listed(self, prefix: str) -> Iterator[KeptArtifact]:
        """Yield the artifacts whose keys begin with up to four hexadecimal digits, in no order."""

    def mark(self, site: str) -> None:
        """Note the site whose records name what lies here."""

    def marked(self) -> str:
        """Return the site that was noted; empty if none was."""

    def receive(self, key: str) -> IncomingArtifact:
        """Begin a transfer, which the caller closes; raises NotFound if this can be no key."""

    def packed(self, key: str) -> BinaryIO:
        """Open an artifact in gzip's format, unchecked; raises NotFound."""


class Packer(Protocol):
    """Move built programs in and out of sandboxes; the host itself never reads a hostile tree."""

    def pack(
        self,
        sandbox: Sandbox,
        build: Path,
        programs: Sequence[str],
        keep: Sequence[str],
        out: Path,
        watch: Callable[[], None],
    ) -> Path:
        """Pack the programs, shared objects and kept files into a file in ``out``; raises CommandFailed."""

    def unpack(self, sandbox: Sandbox, archive: Path, into: Path, watch: Callable[[], None]) -> None:
        """Unpack the archive's files below ``into``; raises Transient."""

    def renew(self, sandbox: Sandbox, builds: tuple[Path, Path], watch: Callable[[], None]) -> bool:
        """Make new copies of both sides' programs, in that order; False: too large. Raises Transient."""

    def read_output(self, path: Path, at_most: int) -> bytes:
        """Return a file that a program wrote: a regular one of at most that size; raises BadResults."""


class Inspector(Protocol):
    """Read built trees, so that two can be compared. Raises Transient."""

    def inspect(self, build: Path, watch: Callable[[], None]) -> Mapping[str, BuiltFile] | None:
        """Return every file of a build directory by its relative path; None if they cannot all be read."""

    def digest(
        self, tree: Path, paths: Collection[str], watch: Callable[[], None]
    ) -> Mapping[str, BuiltFile] | None:
        """Return these files and directories of a built tree by their paths; None if one cannot be read."""


class OpenedFiles(Protocol):
    """Tell which files of a tree programs open."""

    def observe(self, tree: Path) -> AbstractContextManager[Callable[[], Opened]]:
        """Observe a tree during the block; each call returns what was opened since the call before.

        Any process of the host counts. A file that is only looked up (its size, or whether it exists) is not
        opened, and directories that are added meanwhile are not observed. A tree that cannot be observed
        raises nothing: what was opened is unknown.
        """


class Binaries(Protocol):
    """The cache of built programs."""

    def find(self, key: BinaryKey) -> str | None:
        """Return the artifact of a binary built earlier, or None."""

    def keep(self, key: BinaryKey, artifact: str, manifest: Mapping[str, Any]) -> None:
        """Remember a binary; the first one kept under a key stays."""


class Progress(Protocol):
    """Show the progress of a long task."""

    def say(self, text: str, done: float | None = None) -> None:
        """Show what is being done now; ``done`` is its share of the whole if that is known."""

    def note(self, text: str) -> None:
        """Show a line that stays when the work goes on."""
