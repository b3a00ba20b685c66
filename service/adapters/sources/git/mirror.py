"""Mirror the projects' repositories."""

from __future__ import annotations

import hashlib
import os
import re
import secrets
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from io import BytesIO
from typing import TYPE_CHECKING, Final

from typing_extensions import override

from service.adapters.sources.git import merging
from service.adapters.sources.git.bare import check_out, create, has_commit, run_locked
from service.adapters.sources.git.command import LOCAL_SECONDS, Answer, Until, run_git, unwatched
from service.adapters.sources.git.manifests import Manifests
from service.adapters.sources.git.repository import Repository
from service.adapters.sources.git.submodules import Submodules
from service.adapters.system.eviction import mark_used
from service.adapters.system.locking import locked, make_locked, take_unlocked
from service.adapters.system.removal import remove_tree
from service.domain.measuring.lint.touched_lines import lines_in
from service.domain.sources.allowed import NOTHING
from service.domain.sources.commit import BranchCommit
from service.domain.sources.links import with_other_names
from service.domain.values.errors import BadInput, Incomplete, NotFound, Transient
from service.ports.sources import Source

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
    from pathlib import Path

    from service.adapters.sources.git.repository import Clone
    from service.domain.building.spec import Merge
    from service.domain.measuring.lint.touched_lines import Lines
    from service.domain.project.manifest_key import ManifestKey
    from service.domain.sources.allowed import AllowedSources
    from service.domain.sources.workspace import Workspace

FETCH_SECONDS: Final = 1200.0  # the first fetch of a large project over a slow line
TEXT_BYTES: Final = 1 << 20  # far more than any hand-written project file

_COMMIT: Final = re.compile(r"[0-9a-f]{40}")
_CHANGE: Final = re.compile(r"refs/changes/[0-9]{2}/[0-9]{1,10}/[0-9]{1,10}")
# git's own rules for a ref name, without characters that form a refspec or an option.
_PART: Final = r"(?![-.])[^\x00-\x20\x7f~^:?*\[\\/]+(?<![.])(?<!\.lock)"
_BRANCH: Final = re.compile(rf"(?=.{{1,250}}\Z)(?!.*\.\.)(?!.*@\{{)refs/heads/{_PART}(/{_PART})*")
_PROJECT: Final = re.compile(
    r"(?=.{1,200}\Z)(?!.*(^|/)\.{1,2}(/|\Z))(?!-)[\w.+@~-]+(/(?!-)[\w.+@~-]+)*", re.ASCII
)
_LOG_FIELDS: Final = 5  # ID, parents, time, author and subject
_LAST_SECOND: Final = 253_402_300_799  # of the year 9999
_DELETED: Final = b"000000"  # the mode of the missing side
_LINK, _SUBMODULE = b"120000", b"160000"
_NO_FILES: Final = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"  # the empty tree, which git knows anywhere
_PATHS_BYTES: Final = 1 << 20  # of paths that a command names; Linux allows twice that
# With --text, a patch set cannot call its sources binary.
_CHANGED_LINES: Final = (
    *("-r", "--patch", "--unified=0", "--text", "--find-renames", "--no-color"),
    *("--no-ext-diff", "--no-textconv", "--src-prefix=a/", "--dst-prefix=b/"),
)
_UNUSUAL: Final = re.compile(r"[^A-Za-z0-9._-]+")


class GitSource(Source):
    """Bare mirrors below a directory, one per project, created on first use.

    Any number of processes may share the directory.

    Args:
        root: the directory, which belongs to this program.
        remotes: returns the URL or path to fetch a project from; the operator chooses it, not an event.
        allowed: the sources of submodules and other repositories, besides the project's own server.
        clone: the user's clone of the project, on a developer's machine.
        submodules: the directory of their mirrors; by default below ``root``.
        fetch_seconds: limit for a fetch.
    """

    def __init__(
        self,
        root: Path,
        remotes: Callable[[str], str],
        *,
        allowed: AllowedSources = NOTHING,
        clone: Clone | None = None,
        submodules: Path | None = None,
        fetch_seconds: float = FETCH_SECONDS,
    ) -> None:
        self._mirrors = root / "mirrors"
        self._worktrees = root / "worktrees"
        self._remotes = remotes
        self._clone = clone
        self._submodules = Submodules(submodules or root / "submodules", allowed, fetch_seconds)
        self._manifests = Manifests(self._submodules, allowed)
        self._fetch_seconds = fetch_seconds
        for directory in (self._mirrors, self._worktrees):
            directory.mkdir(parents=True, exist_ok=True)
        self._remove_stale_worktrees()

    @override
    def fetch(self, project: str, *refs: str) -> None:
        mirror = self._path_of(project)
        mark_used(mirror)
        wanted = [ref for ref in map(_checked, refs) if not self._has_commit(mirror, ref)]
        if not wanted:
            return
        remote = self._remotes(project)
        if not remote:
            raise Transient(f"there is no address to fetch {project} from: BENCHGATE_GIT_URL is not set")
        if remote.startswith("-"):
            raise NotFound(f"the remote of {project} cannot be fetched from: {remote!r}")
        with locked(mirror, self._fetch_seconds) as lock:
            if not (mirror / "HEAD").exists():
                create(mirror)
            specs = [f"+{ref}:{_kept_as(ref)}" for ref in wanted]
            options = ("--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance")
            arguments = ("fetch", *options, "--end-of-options", remote, *specs)
            fetched = run_locked(mirror, arguments, lock, seconds=self._fetch_seconds)
            fetched.checked(f"fetch of {project}")
            # Without it, packs accumulate; a failure does no harm.
            with suppress(Transient):
                run_git(
                    mirror, ("gc", "--auto", "--quiet"), until=Until(self._fetch_seconds), inherit=(lock,)
                )

    @override
    def head(self, project: str, branch: str) -> str:
        return self._resolve(project, f"refs/heads/{branch}", "commit")

    @override
    def tree(self, project: str, revision: str) -> str:
        return self._resolve(project, revision, "tree")

    @override
    def parent(self, project: str, revision: str) -> str | None:
        commit = self._resolve(project, revision, "commit")
        answer = self._ask(project, "rev-list", "--parents", "--max-count=1", "--end-of-options", commit)
        ids = answer.line().split()
        return ids[1] if len(ids) > 1 else None

    @override
    def message(self, project: str, revision: str) -> str:
        commit = self._resolve(project, revision, "commit")
        options = ("--max-count=1", "--format=%P%x00%B", "--encoding=UTF-8", "--no-show-signature")
        answer = self._ask(project, "log", *options, "--end-of-options", commit)
        parents, _, text = answer.output.partition(b"\0")
        return "" if len(parents.split()) > 1 else text.decode(errors="replace").rstrip("\n")

    @override
    def line(self, project: str, branch: str, most: int) -> Sequence[BranchCommit]:
        tip = self._resolve(project, f"refs/heads/{branch}", "commit")
        fields = ("--format=%H%x00%P%x00%ct%x00%an%x00%s", "-z", "--no-show-signature", "--no-mailmap")
        which = ("--first-parent", f"--max-count={most}", "--end-of-options", tip)
        texts = self._ask(project, "log", *fields, *which).output.decode(errors="replace").split("\0")
        rows = zip(*(texts[place::_LOG_FIELDS] for place in range(_LOG_FIELDS)), strict=False)
        return [
            BranchCommit(revision, tuple(parents.split()), _moment(at), author, subject)
            for revision, parents, at, author, subject in rows
        ]

    @override
    def merge(self, project: str, merge: Merge) -> str | None:
        commits = [merge.onto, merge.commit, *([merge.since] if merge.since else [])]
        return merging.merge(
            self._path_of(project), *(self._resolve(project, each, "commit") for each in commits)
        )

    @override
    def is_merged(self, project: str, revision: str, branch: str) -> bool:
        commit = self._resolve(project, revision, "commit")
        tip = self._resolve(project, f"refs/heads/{branch}", "commit")
        arguments = ("merge-base", "--is-ancestor", commit, tip)
        return run_git(self._path_of(project), arguments).code == 0

    @override
    def read(self, project: str, revision: str, path: str) -> str | None:
        tree = self._resolve(project, revision, "tree")
        if "\0" in path or not {"", ".", ".."}.isdisjoint(path.split("/")):
            return None  # no file of a tree can have this name
        answer = self._ask(project, "ls-tree", "-z", "--long", "--end-of-options", tree, path)
        entry, _, name = answer.output.rstrip(b"\0").partition(b"\t")
        if name != path.encode() or not entry.startswith(b"100"):
            return None  # a symbolic link, a directory, a submodule
        _, _, blob, size = entry.decode().split()
        if int(size) > TEXT_BYTES:
            raise BadInput(f"larger than {TEXT_BYTES >> 20} MiB", path)
        content = self._ask(project, "cat-file", "blob", blob).output
        try:
            return content.decode()
        except UnicodeDecodeError:
            raise BadInput("not UTF-8 text", path) from None

    @override
    def changed_paths(self, project: str, base: str, patch: str) -> Sequence[str]:
        trees = [self._resolve(project, revision, "tree") for revision in (base, patch)]
        options = ("-r", "-z", "--raw", "--no-renames", "--no-ext-diff", "--ignore-submodules=none")
        answer = self._ask(project, "diff-tree", *options, "--end-of-options", *trees)
        paths = [path.decode(errors="replace") for path in _changed(answer.output)]
        return with_other_names(paths, self._links(project, trees[1])) if paths else paths

    def _links(self, project: str, tree: str) -> Mapping[str, str]:
        """Read the symbolic links of a tree; of one with too many files, none."""
        try:
            listed = self._ask(project, "ls-tree", "-r", "-z", "--full-tree", tree).output.split(b"\0")
        except BadInput:
            return {}
        links = [entry.partition(b"\t") for entry in listed if entry.startswith(_LINK)]
        if not links:
            return {}
        wanted = b"".join(entry.split()[2] + b"\n" for entry, _, _ in links)
        read = run_git(self._path_of(project), ("cat-file", "--batch"), given=wanted)
        answer = BytesIO(read.checked(f"git cat-file in {project}").output)
        found = {}
        for _, _, path in links:
            content = answer.read(int(answer.readline().split()[2]))
            answer.read(1)  # the end of its line
            found[path.decode(errors="replace")] = content.decode(errors="replace")
        return found

    @override
    def changed_lines(self, project: str, base: str | None, patch: str, endings: Collection[str]) -> Lines:
        old = _NO_FILES if base is None else self._resolve(project, base, "tree")
        trees = ("--end-of-options", old, self._resolve(project, patch, "tree"))
        listed = self._ask(project, "diff-tree", "-r", "-z", "--raw", "--no-renames", *trees).output
        paths = [path for path in map(os.fsdecode, _regular_files(listed)) if path.endswith(tuple(endings))]
        if sum(len(os.fsencode(path)) + 1 for path in paths) > _PATHS_BYTES:
            raise BadInput(f"{len(paths)} such files differ, whose names are too long together")
        if not paths:
            return {}
        return lines_in(self._ask(project, "diff-tree", *_CHANGED_LINES, *trees, "--", *paths).output)

    @override
    def workspace(self, project: str, branch: str, wanted: ManifestKey) -> Workspace:
        name = "" if self._clone else project  # that of a clone is one of this machine
        return self._manifests.workspace(wanted, name, self._origin_of(project), branch)

    @override
    @contextmanager
    def checkout(
        self,
        project: str,
        revision: str,
        workspace: Workspace | None = None,
        *,
        whole: bool = True,
        watch: Callable[[], None] = unwatched,
    ) -> Iterator[Path]:
        commit = self._resolve(project, revision, "commit")
        mirror = self._path_of(project)
        with self._worktree_directory() as directory:
            place = directory / "src"
            own = Repository(mirror, commit, self._origin_of(project), self._clone)
            try:
                if workspace is not None:
                    name = workspace.name if self._clone else project
                    self._submodules.lay_out(place, own, name, workspace, watch)
                else:
                    own = replace(own, marked=check_out(mirror, commit, place, project, watch))
                    if whole:
                        self._submodules.fill(place, own, project, watch)
            except BadInput as error:  # git wrote too much about them
                raise Incomplete("sources", str(error)) from None
            yield place

    def _origin_of(self, project: str) -> str:
        """Return the base of the relative addresses of other repositories."""
        return (self._clone and self._clone.origin) or self._remotes(project)

    def _path_of(self, project: str) -> Path:
        if not _PROJECT.fullmatch(project):
            raise NotFound(f"not the name of a project: {project[:200]!r}")
        digest = hashlib.sha256(project.encode()).hexdigest()[:16]
        return self._mirrors.absolute() / f"{digest}-{_UNUSUAL.sub('_', project)[:60]}.git"

    def _has_commit(self, mirror: Path, ref: str) -> bool:
        return bool(_COMMIT.fullmatch(ref)) and has_commit(mirror, ref)

    def _resolve(self, project: str, revision: str, kind: str) -> str:
        mirror = self._path_of(project)
        name = _kept_as(_checked(revision)) if not _COMMIT.fullmatch(revision) else revision
        if mirror.exists():
            arguments = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{{kind}}}")
            answer = run_git(mirror, arguments)
            if answer.code == 0:
                return answer.line()
        raise NotFound(f"the mirror of {project} has no revision {revision}")

    def _ask(self, project: str, *arguments: str) -> Answer:
        return run_git(self._path_of(project), arguments).checked(f"git {arguments[0]} in {project}")

    @contextmanager
    def _worktree_directory(self) -> Iterator[Path]:
        """Create a directory that is locked while this process lives and uses it."""
        directory = self._worktrees.absolute() / f"{os.getpid()}-{secrets.token_hex(6)}"
        with locked(self._worktrees / "all", LOCAL_SECONDS):
            descriptor = make_locked(directory)
        try:
            yield directory
        finally:
            try:
                remove_tree(directory)
            finally:
                os.close(descriptor)

    def _remove_stale_worktrees(self) -> None:
        """Remove directories of killed processes."""
        with locked(self._worktrees / "all", LOCAL_SECONDS):
            for directory, descriptor in take_unlocked(self._worktrees):
                try:
                    remove_tree(directory)
                finally:
                    os.close(descriptor)


def mirrors_by_instance(
    root: Path, remotes: Mapping[str, Callable[[str], str]], allowed: AllowedSources = NOTHING
) -> Mapping[str, GitSource]:
    """Return the mirrors of each review server: two servers may have different projects of one name.

    They share the mirrors of submodules, which are found by their whole address.
    """
    submodules = root / "submodules"
    return {
        name: GitSource(root / "instances" / name, remote, allowed=allowed, submodules=submodules)
        for name, remote in remotes.items()
    }


def _moment(seconds: str) -> datetime:
    """Read a committer's time; one outside the calendar becomes its first or last second, none the first."""
    return datetime.fromtimestamp(min(max(int(seconds or 0), 0), _LAST_SECOND), UTC)


def _regular_files(listed: bytes) -> Iterator[bytes]:
    """Yield the paths of a raw diff that are regular files, or were one before they were deleted."""
    fields = iter(listed.split(b"\0"))
    for entry, path in zip(fields, fields, strict=False):
        before, after = entry.split(b" ", 2)[:2]
        if (before if after == _DELETED else after).removeprefix(b":").startswith(b"100"):
            yield path


def _changed(listed: bytes) -> Iterator[bytes]:
    """Yield the paths of a raw diff, with a slash after those of submodules; a symbolic link is both."""
    fields = iter(listed.split(b"\0"))
    for entry, path in zip(fields, fields, strict=False):
        modes = {mode.removeprefix(b":") for mode in entry.split(b" ", 2)[:2]} - {_DELETED}
        if modes != {_SUBMODULE}:
            yield path
        if not modes.isdisjoint({_SUBMODULE, _LINK}):
            yield path + b"/"


def _checked(ref: str) -> str:
    if _COMMIT.fullmatch(ref) or _CHANGE.fullmatch(ref) or _BRANCH.fullmatch(ref):
        return ref
    raise NotFound(f"neither refs/heads/…, refs/changes/… nor 40 hexadecimal digits: {ref[:200]!r}")


def _kept_as(ref: str) -> str:
    """Return the mirror's ref for a fetched ref, which protects the commits from garbage collection.

    The names are flat, because a remote may replace ``rel`` by ``rel/1``, and git cannot store both.
    """
    if _COMMIT.fullmatch(ref):
        return f"refs/benchgate/commits/{ref}"
    return f"refs/benchgate/refs/{hashlib.sha256(ref.encode()).hexdigest()}"
