"""Read manifests from their repositories, and resolve each project's revision to a commit."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from service.adapters.sources.git.command import Until, run_git
from service.adapters.sources.git.moved import MOST as MOST_MOVES
from service.adapters.sources.git.moved import moved_to
from service.adapters.sources.git.repository import tree_entries
from service.adapters.sources.git.submodules import NO_ACCESS, asks_for_user, limits_of
from service.domain.sources.manifest import find_own, read_manifest
from service.domain.sources.submodules import (
    Submodule,
    address_to_fetch,
    own_prefix,
    reachable_prefix,
    redacted,
    resolve,
)
from service.domain.sources.workspace import OtherProject, Workspace
from service.domain.values.errors import BadInput, Incomplete, NotFound
from service.domain.values.text import plain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from service.adapters.sources.git.repository import Repository
    from service.adapters.sources.git.submodules import Submodules
    from service.domain.project.manifest_key import ManifestKey
    from service.domain.sources.allowed import AllowedSources
    from service.domain.sources.manifest import Project

_FILE_BYTES: Final = 1 << 20  # of a file of a manifest; those of the largest projects have a tenth
_AT_ONCE: Final = 8  # questions to servers; most of their time is waiting
_SECONDS: Final = 120.0  # of a question, with a slow sign-in
_COMMIT: Final = 40


@dataclass(frozen=True, slots=True)
class Manifests:
    """Reader of the manifests of projects.

    Args:
        repositories: the mirrors of the manifests' repositories.
        allowed: the sources besides the project's own server.
    """

    repositories: Submodules
    allowed: AllowedSources

    def workspace(self, wanted: ManifestKey, project: str, url: str, branch: str) -> Workspace:
        """Read a manifest, and resolve the revisions of all projects but one's own.

        Args:
            wanted: the key of the project file.
            project: the project of that file; empty if only its address is known.
            url: the project's address.
            branch: of the change.

        Raises:
            BadInput: the manifest cannot be used, or a repository or revision does not exist or is not
                allowed; names it.
            Transient: git or a server does not answer.
        """
        own = own_prefix(url, project) if project else reachable_prefix(wanted.git, url)
        where = f"manifest {plain(wanted.git)}"
        try:
            address = resolve(wanted.git, url, "manifest")
            commit = self._commit_of(address, wanted.revision, own, where)
            kept = self.repositories.provide(
                Submodule(wanted.git, wanted.git, commit, redacted(address), "manifest"), own
            )
        except Incomplete as error:
            raise BadInput(error.why, error.what) from None

        def read(file: str) -> str | None:
            return _read(kept, file)

        def projects_below(own: str) -> tuple[Sequence[Project], Project]:
            try:
                projects = read_manifest(wanted.file, read, address, own, wanted.groups)
                return projects, find_own(projects, project, url, branch, wanted.file)
            except BadInput as error:
                raise BadInput(error.what, ", ".join(filter(None, (where, error.where)))) from None

        projects, mine = projects_below(own)
        if not project:
            own = own_prefix(url, mine.name)
            projects, mine = projects_below(own)
        others = [each for each in projects if each is not mine]
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            commits = pool.map(
                lambda each: self._commit_of(
                    each.url, each.revision, own, f"project {plain(each.name)} ({each.where})"
                ),
                others,
            )
            found = tuple(
                OtherProject(each.path, OtherProject.url_to_store(each.url, own), commit, each.has_submodules)
                for each, commit in zip(others, commits, strict=True)
            )
        files = tuple(file for each in projects for file in each.files)
        return Workspace(redacted(address), commit, mine.path, found, files, mine.name)

    def _commit_of(self, url: str, revision: str, own: str, where: str) -> str:
        """Return the commit of a revision: a commit ID, or a ref of the repository at ``url``."""
        address = url
        for _ in range(MOST_MOVES + 1):
            try:
                address = address_to_fetch(address, own, self.allowed)
            except BadInput as error:
                raise BadInput(str(error), where) from None
            if not revision.startswith("refs/"):
                return revision  # machines fetch it
            answer = run_git(
                Path("/"),
                ("ls-remote", "--end-of-options", address, revision, f"{revision}^{{}}"),
                until=Until(_SECONDS),
                limits=limits_of(address),
            )
            if not (elsewhere := moved_to(address, answer)):
                break
            address = elsewhere
        if asks_for_user(answer):
            raise BadInput(f"{plain(redacted(url))}: {NO_ACCESS}", where)
        try:
            answer.checked(f"the refs of {plain(redacted(url))}")
        except NotFound:
            raise BadInput(f"there is no repository {plain(redacted(url))}", where) from None
        lines = (line.partition("\t") for line in answer.output.decode(errors="replace").splitlines())
        refs = {ref: commit for commit, _, ref in lines}
        # ^{} is the commit of an annotated tag.
        commit = refs.get(f"{revision}^{{}}") or refs.get(revision, "")
        if len(commit) != _COMMIT:
            raise BadInput(f"{plain(redacted(url))} has no {plain(revision)}", where)
        return commit


def _read(kept: Repository, file: str) -> str | None:
    """Read a regular file of a commit."""
    mode, blob, size = tree_entries(kept, file).get(file, (b"", "", "0"))
    if not mode.startswith(b"100"):
        return None
    if int(size) > _FILE_BYTES:
        raise BadInput(f"larger than {_FILE_BYTES >> 20} MiB", plain(file))
    content = run_git(kept.mirror, ("cat-file", "blob", blob)).checked("git cat-file in a mirror").output
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise BadInput("not UTF-8 text", plain(file)) from None
