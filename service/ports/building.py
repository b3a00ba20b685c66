"""What builds and launches programs: sources, a sandbox, and where what was built is kept."""

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
        """Bring these refs (or commit ids) in."""

    def head(self, project: str, branch: str) -> str:
        """The commit id of a branch as it stands in the mirror."""

    def tree(self, project: str, revision: str) -> str:
        """The id of the Git tree of a revision."""

    def parent(self, project: str, revision: str) -> str | None:
        """The first parent's commit id; None for a root commit."""

    def is_merged(self, project: str, revision: str, branch: str) -> bool:
        """Whether a revision is part of a branch as it stands in the mirror."""

    def read(self, project: str, revision: str, path: str) -> str | None:
        """A text file of a revision; None where it has none."""

    def changed_paths(self, project: str, base: str, patch: str) -> Sequence[str]:
        """The paths that differ between two revisions."""

    def checkout(self, project: str, revision: str) -> AbstractContextManager[Path]:
        """A directory of its own with the files of a revision, gone afterwards."""


class Sandbox(Protocol):
    """Runs programs that are not trusted. Raises Unfit where the host cannot contain them."""

    def run(
        self,
        command: Command,
        *,
        log: BinaryIO | None,
        watch: Callable[[], None],
        discard_output: bool = False,
    ) -> Completed:
        """Run to the end; ``watch`` is called several times a second and ends it by raising.

        ``log`` gets standard output and error, without ``discard_output``; None: neither is kept.
        """

    def in_force(self) -> Mapping[str, str]:
        """What isolates and limits programs here, to be stored with what they measured."""


class Artifacts(Protocol):
    """Bytes kept under server-made keys, compressed. Raises NotFound, Transient."""

    def put(self, data: bytes) -> str:
        """Keep; the same bytes get the same key."""

    def get(self, key: str, *, at_most: int = ...) -> bytes:
        """The bytes; BadInput when they are more than ``at_most``."""

    def put_file(self, path: Path) -> str:
        """Keep a file's bytes without holding them in memory."""

    def get_file(self, key: str, path: Path) -> None:
        """Write the bytes to a new file."""


class Packer(Protocol):
    """Moves built programs in and out of sandboxes; the host itself never reads a hostile tree."""

    def pack(
        self,
        sandbox: Sandbox,
        build: Path,
        programs: Sequence[str],
        keep: Sequence[str],
        out: Path,
        watch: Callable[[], None],
    ) -> Path:
        """An archive in ``out`` of the programs, shared objects and kept files; raises CommandFailed."""

    def unpack(self, sandbox: Sandbox, archive: Path, into: Path, watch: Callable[[], None]) -> None:
        """The archive's files in ``into``; raises Transient."""

    def renew(self, sandbox: Sandbox, builds: tuple[Path, Path], watch: Callable[[], None]) -> bool:
        """New copies of both sides' programs, in that order; False: too large. Raises Transient."""

    def read_output(self, path: Path, at_most: int) -> bytes:
        """A file that a program wrote: a regular one of that size at most; raises BadResults."""


class Binaries(Protocol):
    """Built programs by key."""

    def find(self, key: BinaryKey) -> str | None:
        """The artifact of a binary built earlier."""

    def keep(self, key: BinaryKey, artifact: str, manifest: Mapping[str, Any]) -> None:
        """Remember a binary; the first one kept under a key stays."""
