"""Building and launching programs: sources, a sandbox, artifacts and the binary cache."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path
    from typing import BinaryIO

    from service.domain.building.binary_key import BinaryKey
    from service.domain.building.sandbox_command import Command, Completed


class Source(Protocol):
    """A mirror of a project's repository. Raises Transient, NotFound."""

    def fetch(self, project: str, *refs: str) -> None:
        """Fetch these refs (or commit ids) into the mirror."""

    def head(self, project: str, branch: str) -> str:
        """Return the commit id of a branch as it is in the mirror."""

    def tree(self, project: str, revision: str) -> str:
        """Return the id of the Git tree of a revision."""

    def parent(self, project: str, revision: str) -> str | None:
        """Return the first parent's commit id; None for a root commit."""

    def is_merged(self, project: str, revision: str, branch: str) -> bool:
        """Whether a revision is part of a branch as it is in the mirror."""

    def read(self, project: str, revision: str, path: str) -> str | None:
        """Return a text file of a revision; None if there is none."""

    def changed_paths(self, project: str, base: str, patch: str) -> Sequence[str]:
        """Return the paths that differ between two revisions."""

    def checkout(self, project: str, revision: str) -> AbstractContextManager[Path]:
        """Make a directory of its own with the files of a revision; it is removed afterwards."""


class Sandbox(Protocol):
    """A runner of programs that are not trusted. Raises Unfit if the host cannot contain them."""

    def run(
        self,
        command: Command,
        *,
        log: BinaryIO | None,
        watch: Callable[[], None],
        discard_output: bool = False,
    ) -> Completed:
        """Run to the end; ``watch`` is called several times a second and ends the run by raising.

        ``log`` gets standard output and error, without ``discard_output``; None: neither is kept.
        """

    def in_force(self) -> Mapping[str, str]:
        """Return what isolates and limits programs here, to be stored with their results."""


class Artifacts(Protocol):
    """Bytes kept under server-made keys, compressed. Raises NotFound, Transient."""

    def put(self, data: bytes) -> str:
        """Keep bytes and return their key; the same bytes get the same key."""

    def get(self, key: str, *, at_most: int = ...) -> bytes:
        """Return the bytes; raise BadInput if they are more than ``at_most``."""

    def put_file(self, path: Path) -> str:
        """Keep a file's bytes without holding them in memory, and return their key."""

    def get_file(self, key: str, path: Path) -> None:
        """Write the bytes to a new file."""


class Packer(Protocol):
    """A mover of built programs in and out of sandboxes; the host itself never reads a hostile tree."""

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


class Binaries(Protocol):
    """The cache of built programs."""

    def find(self, key: BinaryKey) -> str | None:
        """Return the artifact of a binary built earlier; None if there is none."""

    def keep(self, key: BinaryKey, artifact: str, manifest: Mapping[str, Any]) -> None:
        """Remember a binary; the first one kept under a key stays."""
