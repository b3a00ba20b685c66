"""Put other repositories into a checkout, from mirrors that all checkouts of this machine share."""

from __future__ import annotations

import hashlib
import re
import stat
from collections import deque
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from service.adapters.sources.git.bare import check_out, create, has_commit, run_locked
from service.adapters.sources.git.command import TOO_LARGE, TransferLimits, Until, run_git, unwatched
from service.adapters.sources.git.lfs import LfsObjects
from service.adapters.sources.git.moved import MOST as MOST_MOVES
from service.adapters.sources.git.moved import moved_to
from service.adapters.sources.git.placing import put_file, require_free
from service.adapters.sources.git.repository import Clone, Repository, tree_entries
from service.adapters.system.eviction import mark_used
from service.adapters.system.locking import locked
from service.domain.sources.submodules import (
    DEEPEST,
    FILE,
    MOST,
    Submodule,
    address_to_fetch,
    own_prefix,
    read_entries,
    redacted,
    server_of,
    submodules_of,
)
from service.domain.values.errors import BadInput, ForeignSource, Incomplete, NotFound, Transient
from service.domain.values.text import plain

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable
    from pathlib import Path

    from service.adapters.sources.git.command import Answer
    from service.domain.sources.allowed import AllowedSources
    from service.domain.sources.workspace import Workspace

FILE_BYTES: Final = 4 << 30  # of a pack; the largest projects have about 1 GiB in one revision
_LIST_BYTES: Final = 1 << 20  # of a .gitmodules, far more than any real one
_UNUSUAL: Final = re.compile(r"[^A-Za-z0-9._-]+")
# The answer of a server that gives single commits, and lacks this one; most others say that they give none.
# A patch set must not fill the disk with the history of all repositories of a foreign host.
_LACKING: Final = re.compile("not our ref")
# git has no credentials for the server. GitHub asks for some if there is no such repository.
_ASKS: Final = re.compile("could not read Username")
NO_ACCESS: Final = "there is no such repository, or this machine has no access to it"
_NOT_THERE: Final = "no branch or tag there has this commit: push it first"
_COMMIT_MODE: Final = b"160000"
_FETCH: Final = ("fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance")
# A server that gives no single commit gives its branches and tags, with their history.
_ALL: Final = ("+refs/heads/*:refs/benchgate/heads/*", "+refs/tags/*:refs/benchgate/tags/*")


class Submodules:
    """Mirrors of submodules and of the projects of a manifest, one for each address, created on first use.

    A mirror has single commits without their history. No program of a patch set runs while the files are
    put into the checkout, so nobody changes it meanwhile.

    Args:
        root: the directory of the mirrors.
        allowed: the sources besides the project's own server.
        fetch_seconds: limit for a fetch.
    """

    def __init__(self, root: Path, allowed: AllowedSources, fetch_seconds: float) -> None:
        self._root = root
        self._allowed = allowed
        self._objects = LfsObjects(root / "lfs", allowed, fetch_seconds)
        self._fetch_seconds = fetch_seconds

    def fill(
        self, place: Path, project: Repository, name: str, watch: Callable[[], None] = unwatched
    ) -> None:
        """Put all submodules of a project, and theirs, into its checkout, and the content of LFS files.

        Args:
            place: the checkout of the project alone.
            project: what is checked out there.
            name: of the project; its address may end with it.
            watch: called several times a second; may raise to end the work.

        Raises:
            Incomplete: a submodule or LFS file cannot be had; says which one, and what to do.
            Transient: git or a server does not answer.
        """
        self._fill(place, [project], own_prefix(project.url, name), watch=watch)

    def lay_out(
        self,
        place: Path,
        project: Repository,
        name: str,
        workspace: Workspace,
        watch: Callable[[], None] = unwatched,
    ) -> None:
        """Check out a project with all other repositories of its workspace, and put its files in place.

        Args:
            place: a directory that is missing.
            project: what is checked out in the workspace's folder.
            name: of the project; its address may end with it.
            workspace: the others.
            watch: as for :meth:`fill`.

        Raises:
            Incomplete: a part cannot be had or put in its place; says which one, and what to do.
            Transient: git or a server does not answer.
        """
        own = own_prefix(project.url, name)
        parts = {each.path: each for each in workspace.others}
        laid: list[Repository] = []
        place.mkdir()
        # An outer one before those that are nested in it.
        for path in sorted((*parts, workspace.folder), key=lambda path: path.split("/")):
            if path in parts:
                repository = self.provide(parts[path].fetched(own), own, watch=watch)
                repository = replace(repository, has_submodules=parts[path].has_submodules)
            else:
                repository = replace(project, folder=path)
            require_free(place, path, f"project {plain(path)}")
            marked = check_out(repository.mirror, repository.commit, place / path, plain(path) or name, watch)
            laid.append(replace(repository, marked=marked))
        self._fill(place, laid, own, frozenset((*parts, workspace.folder)), watch=watch)
        for file in workspace.files:
            put_file(place, file)

    def _fill(
        self,
        place: Path,
        repositories: Iterable[Repository],
        own: str,
        taken: Collection[str] = (),
        *,
        watch: Callable[[], None],
    ) -> None:
        """Put all submodules in place, unless the manifest has a repository for the place."""
        waiting, count = deque(repositories), 0
        while waiting:
            outer = waiting.popleft()
            self._objects.fill(place, outer, own, watch)
            for each in _listed(outer) if outer.has_submodules else ():
                if each.path in taken:
                    continue
                count += 1
                if count > MOST:
                    raise each.missing(f"there are more than {MOST} submodules")
                if outer.depth == DEEPEST:
                    raise each.missing(f"submodules are nested deeper than {DEEPEST} levels")
                inner = self.provide(each, own, outer, watch)
                _require_empty(place, each)
                what = f"the submodule {plain(each.path)}"
                marked = check_out(inner.mirror, inner.commit, place / each.path, what, watch)
                # Build files look for it to learn whether somebody has updated the submodules.
                above = "../" * (each.path.count("/") + 1)
                (place / each.path / ".git").write_text(f"gitdir: {above}.git/modules/{each.path}\n", "utf-8")
                waiting.append(replace(inner, marked=marked))

    def provide(
        self,
        each: Submodule,
        own: str,
        outer: Repository | None = None,
        watch: Callable[[], None] = unwatched,
    ) -> Repository:
        """Fetch the commit of a repository unless its mirror has it.

        Args:
            each: the commit; ``outer`` has it as a submodule.
            own: what the addresses of the project's own server begin with.
            outer: None for a repository of its own.
            watch: as for :meth:`fill`.

        Raises:
            Incomplete: it cannot be had.
            Transient: git or the server does not answer.
        """
        clone = _clone_of(each, outer)
        mirror = self._path_of(each.url)
        depth = 0 if outer is None else outer.depth + 1
        found = Repository(mirror, each.commit, each.url, clone, folder=each.path, depth=depth)
        if clone is not None:
            for directory in clone.directories:
                if has_commit(directory, each.commit):
                    with suppress(Transient):  # a partial clone lacks files
                        self._fetch(each, mirror, str(directory), is_own=True, watch=watch)
                        return found
        url = each.url
        for _ in range(MOST_MOVES + 1):
            try:
                url = address_to_fetch(url, own, self._allowed)
            except BadInput as error:
                moved = "" if url == each.url else f"it moved to {plain(url)}; "
                advice = "" if clone is None else ", or run `git submodule update --init --recursive`"
                is_foreign = isinstance(error, ForeignSource)
                raise each.missing(f"{moved}{error.what}{advice}", is_foreign=is_foreign) from None
            if not (url := self._fetch(each, mirror, url, is_own=url.startswith(own), watch=watch)):
                return found
        raise each.missing(f"its server redirects more than {MOST_MOVES} times")

    def _fetch(
        self, each: Submodule, mirror: Path, url: str, *, is_own: bool, watch: Callable[[], None]
    ) -> str:
        """Fetch a commit unless the mirror has it; return another address to try if the repository moved."""
        mirror.parent.mkdir(parents=True, exist_ok=True)
        mark_used(mirror)
        if has_commit(mirror, each.commit):
            return ""
        with locked(mirror, self._fetch_seconds, watch) as lock:
            if not (mirror / "HEAD").exists():
                create(mirror)

            def fetch(*arguments: str) -> Answer:
                words, limits = (*_FETCH, *arguments), limits_of(url)
                seconds = self._fetch_seconds
                answer = run_locked(mirror, words, lock, seconds=seconds, limits=limits, watch=watch)
                if answer.code and TOO_LARGE.search(answer.errors):
                    raise each.missing(f"it has more than {FILE_BYTES >> 30} GiB")
                return answer

            kept = f"refs/benchgate/commits/{each.commit}"
            answer = fetch("--depth=1", "--end-of-options", url, f"+{each.commit}:{kept}")
            if elsewhere := moved_to(url, answer):
                return elsewhere
            if answer.code and not is_own and _LACKING.search(answer.errors):
                raise each.missing(_NOT_THERE)
            if answer.code:
                whole = ("--unshallow",) if (mirror / "shallow").exists() else ()
                _require(each, mirror, fetch(*whole, "--prune", "--end-of-options", url, *_ALL))
                # A branch may be written anew, and git deletes commits that no ref has.
                run_locked(mirror, ("update-ref", kept, each.commit), lock).checked("git update-ref")
            # Without it, packs accumulate; a failure does no harm.
            with suppress(Transient):
                run_git(
                    mirror, ("gc", "--auto", "--quiet"), until=Until(self._fetch_seconds), inherit=(lock,)
                )
        return ""

    def _path_of(self, url: str) -> Path:
        name = redacted(url).rstrip("/")
        digest = hashlib.sha256(name.encode()).hexdigest()[:16]
        return self._root.absolute() / f"{digest}-{_UNUSUAL.sub('_', name.rpartition('/')[2])[:60]}.git"


def _require(each: Submodule, mirror: Path, answer: Answer) -> None:
    """Raise the error of a fetch of all branches and tags, or Incomplete if none of them has the commit."""
    if asks_for_user(answer):
        raise each.missing(NO_ACCESS)
    try:
        answer.checked(f"fetch of the {each.what} {plain(each.path)} from {plain(redacted(each.url))}")
    except NotFound:
        raise each.missing("there is no such repository") from None
    if not has_commit(mirror, each.commit):
        raise each.missing(_NOT_THERE)


def asks_for_user(answer: Answer) -> bool:
    """Return whether a server wants credentials that git does not have; another attempt would not help."""
    return bool(answer.code and _ASKS.search(answer.errors))


def _listed(outer: Repository) -> tuple[Submodule, ...]:
    """List the submodules of a revision."""
    where = f"submodules of {plain(outer.folder)}" if outer.folder else "submodules"
    files = tree_entries(outer, FILE)
    if FILE not in files:
        return ()
    mode, blob, size = files[FILE]
    if not mode.startswith(b"100") or int(size) > _LIST_BYTES:
        raise Incomplete(where, f"{FILE} is not a regular file of at most {_LIST_BYTES >> 20} MiB")
    answer = run_git(outer.mirror, ("config", "--no-includes", "--list", "-z", "--blob", blob))
    if answer.code:
        raise Incomplete(where, f"git cannot read {FILE}: {plain(answer.errors)}")
    entries = read_entries(answer.output)
    if len(entries) > MOST:
        raise Incomplete(where, f"{FILE} has more than {MOST} entries")
    links = tree_entries(outer, *(each.path for each in entries)) if entries else {}
    commits = {path: commit for path, (mode, commit, _) in links.items() if mode == _COMMIT_MODE}
    return submodules_of(entries, commits, outer.url, outer.folder)


def _clone_of(each: Submodule, outer: Repository | None) -> Clone | None:
    """Return where git keeps a submodule of the user's clone, or None without a clone."""
    if outer is None or outer.clone is None:
        return None
    directories = tuple(own / "modules" / each.name for own in outer.clone.directories)
    return Clone(directories, each.url)


def _require_empty(place: Path, each: Submodule) -> None:
    """Raise unless the checkout has an empty directory for a submodule, below directories only.

    git creates it there. A link on the way would lead out of the checkout.
    """
    at = place
    for part in each.path.split("/"):
        at /= part
        try:
            is_directory = stat.S_ISDIR(at.lstat().st_mode)
        except FileNotFoundError:
            is_directory = False  # the revision names it twice, and git created something else
        if not is_directory:
            raise each.missing("a file or link is in the way")
    if any(at.iterdir()):
        raise each.missing("other files are in its directory")


def limits_of(url: str) -> TransferLimits:
    """Return the limits of a fetch from an address: it uses the protocol that was checked."""
    server = server_of(url)
    protocol = server.partition("://")[0].lower() if "://" in server else "ssh" if ":" in server else "file"
    return TransferLimits(protocol, FILE_BYTES)
