"""Sources: the repositories of projects, and the differences between their revisions."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

from service.domain.building.spec import Merge
from service.domain.measuring.lint.touched_lines import Lines
from service.domain.project.dependencies import Dependency
from service.domain.project.manifest_key import ManifestKey
from service.domain.sources.commit import BranchCommit
from service.domain.sources.workspace import Workspace


class Differences(Protocol):
    """The differences between two revisions of a project. The errors are those of :class:`Source`."""

    def changed_paths(self, project: str, base: str, patch: str) -> Sequence[str]:
        """List the paths that differ between two revisions; a rename is two paths.

        A path below which anything may differ, of a submodule or a symbolic link, ends with a slash. A file
        also has its names through symbolic links of the patch.
        Bytes that are not UTF-8 are replaced, because the paths are only matched and shown.

        Raises:
            BadInput: there are too many paths.
        """

    def changed_lines(self, project: str, base: str | None, patch: str, endings: Collection[str]) -> Lines:
        """List the lines that a revision adds or changes in regular files with these endings.

        A renamed file is compared with its old version if that has such an ending. Without a base, all lines
        are new. A path that is not UTF-8 has replaced bytes.

        Raises:
            BadInput: there are too many such files, or too many lines.
        """


class CommitGraph(Protocol):
    """Commits of a project, and their places in its history. The errors are those of :class:`Source`."""

    def head(self, project: str, branch: str) -> str:
        """Return the commit ID of a branch at its last fetch."""

    def tree(self, project: str, revision: str) -> str:
        """Return the tree ID of a revision."""

    def parent(self, project: str, revision: str) -> str | None:
        """Return the commit ID of the first parent; None for a root commit."""

    def message(self, project: str, revision: str) -> str:
        """Return the whole message of a commit; empty for a merge commit, because nobody writes about it.

        Bytes that are not UTF-8 are replaced.
        """

    def line(self, project: str, branch: str, most: int) -> Sequence[BranchCommit]:
        """Return the newest commits along the first parents of a branch, as last fetched, newest first."""

    def merge(self, project: str, merge: Merge) -> str | None:
        """Merge a commit, and return the commit ID of the result; None if there is a conflict.

        Everybody who merges the same commits gets the same ID.
        """

    def is_merged(self, project: str, revision: str, branch: str) -> bool:
        """Return whether the branch, as last fetched, contains a revision."""


class Source(CommitGraph, Differences, Protocol):
    """Mirrors of the projects' repositories.

    A revision is a commit ID of 40 hexadecimal digits, or a fetched ref. All methods raise NotFound for an
    invalid name or an unknown revision, and Transient if git or the remote does not answer in time.
    """

    def fetch(self, project: str, *refs: str) -> None:
        """Fetch branches, change refs or commit IDs; commits that the mirror already has cost nothing."""

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
    """Dependencies of builds; a machine fetches them once and keeps them."""

    def provide(self, wanted: Mapping[str, Dependency], watch: Callable[[], None]) -> Path:
        """Return a directory with each dependency under its name, and the file for CMake.

        Builds see it read-only. Equal dependencies give the same directory, also to other processes. The work
        ends if ``watch``, which is called meanwhile, raises.

        Raises:
            BadInput: one may not be fetched, is not there, or is not what it must be; names it.
            Transient: a source or the disk does not answer.
        """
