"""Cache dependencies in a directory of the machine, each under a key of its content."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from contextlib import contextmanager
from importlib import resources
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Final

from typing_extensions import override

from service.adapters.sources.dependencies.download import MOST_BYTES as DOWNLOAD_BYTES
from service.adapters.sources.dependencies.download import download, write_bounded
from service.adapters.sources.git.pinned import check_out_pinned
from service.adapters.system.eviction import mark_used
from service.domain.building.sandbox_command import Command, Limits, Mount, StoppedBy
from service.domain.project.dependencies import CMAKE_FILE, cmake_file
from service.domain.values.errors import BadInput, Permanent, Transient
from service.domain.values.identity import digest_of
from service.domain.values.text import plain
from service.ports.sources import Dependencies

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from service.domain.project.dependencies import Dependency
    from service.domain.sources.allowed import AllowedSources
    from service.ports.building import Artifacts, Sandbox, Scratch

# Bounds of one dependency.
MOST_ENTRIES: Final = 300_000  # the largest collections of libraries have a third of this
MOST_LEVELS: Final = 100
MOST_BYTES: Final = 4 << 30
_RULES: Final = 1  # of unpacking; another number unpacks everything again
_UNPACK: Final = resources.files("service.adapters.sources.dependencies").joinpath("unpack.py").read_text()
_REFUSED, _DISK = 3, 4  # exit codes of unpack.py
_MEMORY: Final = 2 << 30  # of unpacking; the decompressor of the strongest xz needs half of it
_TOO_LARGE: Final = frozenset({StoppedBy.MEMORY, StoppedBy.WALL, StoppedBy.DISK})
_UNUSUAL: Final = re.compile(r"[^A-Za-z0-9._+-]+")


class CachedDependencies(Dependencies):
    """Dependencies below ``root``, which all machines of a host may share.

    An entry is written in scratch space and renamed when it is complete, so a killed process leaves nothing.
    Entries are evicted by their last use; an operator may remove ``root`` while no build runs.

    Args:
        root: the directory, on the file system of ``scratch``.
        allowed: the sources that the operator allows.
        scratch: room for downloads and for unpacking.
        sandbox: archives are unpacked in it.
        downloads: downloaded files, which machines share: what one has, no other downloads. They are apart
            from the artifacts of builds, because a project file can name any digest.
    """

    def __init__(
        self, root: Path, allowed: AllowedSources, scratch: Scratch, sandbox: Sandbox, downloads: Artifacts
    ) -> None:
        self._entries = root.absolute() / "entries"
        self._sets = root.absolute() / "sets"
        self._allowed = allowed
        self._scratch = scratch
        self._sandbox = sandbox
        self._downloads = downloads

    @override
    def provide(self, wanted: Mapping[str, Dependency], watch: Callable[[], None]) -> Path:
        # What was fetched before must still be allowed.
        for name, dependency in wanted.items():
            with _named(name):
                self._allowed.require(dependency.source)
        keys = {name: _key_of(name, dependency) for name, dependency in wanted.items()}
        place = self._sets / digest_of({"set": keys})
        for used in (place, *(self._entries / key for key in keys.values())):
            mark_used(used)
        if place.exists():
            return place
        try:
            for name, dependency in wanted.items():
                entry = self._entries / keys[name]
                if not entry.exists():
                    with _named(name):
                        self._make(name, dependency, entry, watch)
            with self._scratch.directory() as directory:
                whole = directory / "set"
                whole.mkdir()
                for name, key in keys.items():
                    _copy(self._entries / key, whole / name)
                (whole / CMAKE_FILE).write_text(cmake_file(wanted))
                _keep(whole, place)
        except OSError as error:
            raise Transient(f"the dependencies cannot be stored: {error}") from error
        return place

    def _make(self, name: str, dependency: Dependency, entry: Path, watch: Callable[[], None]) -> None:
        with self._scratch.directory() as directory:
            if dependency.url and dependency.sha256 and dependency.is_file(name):
                tree = directory / "file"
                self._download(dependency.url, dependency.sha256, tree, watch)
            elif dependency.url and dependency.sha256:
                tree = self._unpacked(dependency.url, dependency.sha256, directory, watch)
            else:
                tree = check_out_pinned(
                    dependency.git or "",
                    dependency.commit or "",
                    directory,
                    watch,
                    most_entries=MOST_ENTRIES,
                    most_bytes=MOST_BYTES,
                )
            _keep(tree, entry)

    def _download(self, url: str, sha256: str, into: Path, watch: Callable[[], None]) -> None:
        """Write the file with this digest: the copy that machines share, or else a download."""
        downloads = self._downloads.watched(watch)
        try:
            write_bounded(downloads.stream(sha256), url, sha256, into, watch, DOWNLOAD_BYTES)
        except (Permanent, BadInput):  # there is none, or it is damaged and is replaced
            into.unlink(missing_ok=True)
            download(url, sha256, into, self._allowed, watch)
            downloads.put_file(into)

    def _unpacked(self, url: str, sha256: str, directory: Path, watch: Callable[[], None]) -> Path:
        source, out = directory / "in", directory / "out"
        source.mkdir()
        out.mkdir()
        self._download(url, sha256, source / "file", watch)
        log = BytesIO()
        command = Command(
            (*_python(), "-c", _UNPACK, *map(str, (MOST_ENTRIES, MOST_LEVELS, MOST_BYTES)), _file_name(url)),
            (*_python_mounts(), Mount(source, "/in"), Mount(out, "/out", writable=True)),
            limits=Limits(1800.0, _MEMORY, processes=16, file_bytes=MOST_BYTES, log_bytes=1 << 20),
        )
        done = self._sandbox.run(command, log=log, watch=watch)
        tree = out / "tree"
        # An archive may have taken over the program that unpacked it; all that follows is done on the host.
        if done.is_success and (tree.is_symlink() or not tree.is_dir()):
            raise BadInput("the archive cannot be used: it is unpacked to no directory", plain(url))
        if done.is_success:
            return tree
        said = plain((log.getvalue().decode(errors="replace").splitlines() or [""])[-1]) or done.end
        if done.exit_code == _REFUSED or done.stopped_by in _TOO_LARGE:
            raise BadInput(f"the archive cannot be used: {said}", plain(url))
        raise Transient(f"{plain(url)} cannot be unpacked: {said}")


@contextmanager
def _named(name: str) -> Iterator[None]:
    """Name the dependency in each BadInput."""
    try:
        yield
    except BadInput as error:
        raise BadInput(str(error), f"dependency {name}") from error


def _key_of(name: str, dependency: Dependency) -> str:
    """Return the cache key: everything that the files in an entry depend on.

    A commit counts with its repository: nobody can store another repository's files under a forged SHA-1.
    """
    if dependency.is_file(name):
        return digest_of({"file": dependency.sha256, "whole": True})
    if dependency.url:
        return digest_of({"file": dependency.sha256, "name": _file_name(dependency.url), "rules": _RULES})
    return digest_of({"git": dependency.git, "commit": dependency.commit, "rules": _RULES})


def _file_name(url: str) -> str:
    """Return the last part of a URL as the name of a file."""
    name = url.partition("?")[0].rpartition("/")[2]
    return _UNUSUAL.sub("_", name).lstrip(".-")[:100] or "file"


def _python() -> tuple[str, ...]:
    """Return this interpreter without anything that is installed beside it."""
    return str(Path(sys.executable).resolve()), "-I", "-S"


def _python_mounts() -> tuple[Mount, ...]:
    base = Path(sys.base_prefix).resolve()
    return () if base.is_relative_to("/usr") else (Mount(base, str(base)),)


def _copy(entry: Path, place: Path) -> None:
    """Copy a tree by hard links, which takes no room; symbolic links stay as they are."""
    _run("/bin/cp", "-al", "--", str(entry), str(place))


def _keep(tree: Path, place: Path) -> None:
    """Move a complete tree to its place, unless another process did it first."""
    # Builds see it read-only anyway; without a sandbox, this keeps programs from writing by accident.
    _run("/bin/chmod", "-R", "a+rX,a-w", "--", str(tree))
    if tree.is_dir():
        tree.chmod(0o755)  # a directory that is moved must be writable
    place.parent.mkdir(parents=True, exist_ok=True)
    mark_used(tree)  # an archive may have set another time
    os.sync()  # the place must never have empty files after a loss of power
    try:
        tree.rename(place)
    except OSError:
        if not place.is_dir():
            raise


def _run(*argv: str) -> None:
    """Run a program of the system that follows no symbolic link in a tree."""
    done = subprocess.run(argv, check=False, capture_output=True, text=True)  # noqa: S603 - fixed programs
    if done.returncode != 0:
        raise Transient(f"the dependencies cannot be stored: {plain(done.stderr)}")
