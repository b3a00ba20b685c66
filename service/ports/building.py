"""Building and launching programs: sources, a sandbox, artifacts, the binary cache and progress reports."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    from service.domain.building.built_files import BuiltFile
    from service.domain.building.sandbox_command import Command, Completed
    from service.domain.building.spec import BinaryKey
    from service.domain.measuring.lint.touched_lines import Lines
    from service.domain.project.dependencies import Dependency
    from service.domain.project.manifest_key import ManifestKey
    from service.domain.sources.workspace import Workspace


class Differences(Protocol):
    """The differences between two revisions of a project. The errors are those of :class:`Source`."""

    def changed_paths(self, project: str, base: str, patch: str) -> Sequence[str]:
        """List the paths that differ between two revisions; a rename is two paths.

        Bytes that are not UTF-8 are replaced, because the paths are only matched and shown.

        Raises:
            BadInput: there are too many paths.
        """

    def changed_lines(self, project: str, base: str | None, patch: str, endings: Collection[str]) -> Lines:
        """List the lines that a revision adds or changes in regular files whose names end so.

        A renamed file is compared with its former self if that has such a name too. Without a base, all lines
        are new. A path that is not UTF-8 has replaced bytes.

        Raises:
            BadInput: there are too many such files, or too many lines.
        """


class Source(Differences, Protocol):
    """Mirrors of the projects' repositories.

    A revision is a commit ID of 40 hexadecimal digits, or a fetched ref. All methods raise NotFound for an
    invalid name or an unknown revision, and Transient if git or the remote does not answer in time.
    """

    def fetch(self, project: str, *refs: str) -> None:
        """Fetch branches, change refs or commit IDs; commits that the mirror already has cost nothing."""

    def head(self, project: str, branch: str) -> str:
        """Return the commit ID of a branch at its last fetch."""

    def tree(self, project: str, revision: str) -> str:
        """Return the tree ID of a revision."""

    def parent(self, project: str, revision: str) -> str | None:
        """Return the commit ID of the first parent; None for a root commit."""

    def is_merged(self, project: str, revision: str, branch: str) -> bool:
        """Return whether the branch, as last fetched, contains a revision."""

    def read(self, project: str, revision: str, path: str) -> str | None:
        """Read a UTF-8 file of a revision; None if the path is missing or not a regular file.

        Raises:
            BadInput: the file is larger than 1 MiB, or not UTF-8.
        """

    def workspace(self, project: str, branch: str, wanted: ManifestKey) -> Workspace:
        """Read the manifest of a project, and return the commits that its other repositories have now.

        Args:
            project: its name.
            branch: of the change, which chooses if the manifest has the project at several places; may be
                empty.
            wanted: the key of the project file.

        Raises:
            BadInput: the manifest cannot be used, or names what does not exist or is not allowed.
        """

    def checkout(
        self,
        project: str,
        revision: str,
        workspace: Workspace | None = None,
        *,
        whole: bool = True,
        watch: Callable[[], None] = ...,
    ) -> AbstractContextManager[Path]:
        """Create a directory with the files of a revision, and remove it at the end of the block.

        Never run git in it: a patch set may have put a ``.git`` there, and it is no work tree of the mirror.

        Args:
            project: its name.
            revision: is checked out.
            workspace: is laid out around it, so that the directory is the top of all repositories.
            whole: with the files of its submodules and the content of Git LFS files. Otherwise their
                directories are empty, and these are pointer files.
            watch: called several times a second while the directory is made; may raise to end that.

        Raises:
            Incomplete: a submodule, LFS file or other repository cannot be had or placed; says which one,
                and what to do.
            Permanent: the directory cannot be removed afterwards.
        """


class Dependencies(Protocol):
    """The dependencies of builds, which a machine fetches once and keeps."""

    def provide(self, wanted: Mapping[str, Dependency], watch: Callable[[], None]) -> Path:
        """Return a directory with each dependency under its name, and the file for CMake.

        Builds see it read-only. Equal dependencies give the same directory, also to other processes. The work
        ends if ``watch``, which is called meanwhile, raises.

        Raises:
            BadInput: one may not be fetched, is not there, or is not what it must be; names it.
            Transient: a source or the disk does not answer.
        """


class ByteSink(Protocol):
    """A destination of output."""

    def write(self, data: bytes, /) -> object:
        """Take all of these bytes."""


class Sandbox(Protocol):
    """A runner of programs. All methods raise Unfit if this host cannot run them as promised."""

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
    """Room on disk for the files of a piece of work, which untrusted programs may write."""

    def directory(self) -> AbstractContextManager[Path]:
        """Create an empty directory, and remove it with all its content at the end of the block.

        Raises:
            Transient: the disk is full or does not answer.
            Permanent: the directory cannot be removed afterwards.
        """


class Artifacts(Protocol):
    """A store of compressed bytes, each under the SHA-256 of its content.

    All methods raise Transient if the disk is full or does not answer. Reading raises NotFound if there is no
    artifact with the key, and Permanent if it is damaged.
    """

    def put(self, data: bytes) -> str:
        """Store bytes, and return their key. Storing bytes again repairs a damaged file."""

    def get(self, key: str, *, at_most: int = ...) -> bytes:
        """Read the bytes; raises BadInput if they are more than ``at_most``, without reading them all."""

    def stream(self, key: str) -> tuple[int, Iterator[bytes]]:
        """Return the number of bytes, and the bytes in chunks, each read when it is asked for.

        The iterator raises Permanent at its end if the bytes are damaged.
        """

    def put_file(self, path: Path) -> str:
        """Store a file without reading all of it into memory; an untrusted program may have written it.

        Raises:
            BadResults: it is not a regular file.
        """

    def get_file(self, key: str, path: Path) -> None:
        """Write the bytes to a new file, which is removed if this raises; Permanent if the file exists."""

    def delete(self, key: str, stored_before: float) -> bool:
        """Delete an artifact that was last stored more than so many seconds ago; False if it was later.

        One that is stored again meanwhile stays. It is no error if there is none.
        """


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


class Inspector(Protocol):
    """A reader of built trees, by which two of them can be compared. Raises Transient."""

    def inspect(self, build: Path, watch: Callable[[], None]) -> Mapping[str, BuiltFile] | None:
        """Return every file of a build directory by its relative path; None if they cannot all be read."""


class Binaries(Protocol):
    """The cache of built programs."""

    def find(self, key: BinaryKey) -> str | None:
        """Return the artifact of a binary built earlier, or None."""

    def keep(self, key: BinaryKey, artifact: str, manifest: Mapping[str, Any]) -> None:
        """Remember a binary; the first one kept under a key stays."""


class Progress(Protocol):
    """A display of how far a long piece of work is."""

    def say(self, text: str, done: float | None = None) -> None:
        """Show what is being done now; ``done`` is its share of the whole if that is known."""

    def note(self, text: str) -> None:
        """Show a line that stays when the work goes on."""
