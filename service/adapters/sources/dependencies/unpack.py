"""Unpack one downloaded file; runs by itself inside a sandbox, because the host parses no archive.

Reads ``/in/file`` and writes ``/out/tree``, within bounds that hold while it writes. Arguments: the most
entries, levels and bytes, and the name for a file that is no archive. Exit code 3: the last line of the
output says what is wrong with the archive; 4: with the disk.
"""

from __future__ import annotations

import errno
import os
import shutil
import stat
import sys
import tarfile
import zipfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Final

# Without a sandbox, the runner names the directories.
IN: Final = Path(os.environ.get("BENCHGATE_IN", "/in"))
OUT: Final = Path(os.environ.get("BENCHGATE_OUT", "/out"))
REFUSED: Final = 3
DISK: Final = 4
_OF_THE_DISK: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.ENOMEM, errno.EROFS})
_CHUNK: Final = 1 << 20
_LONGEST_TARGET: Final = 4096  # bytes; Linux allows no longer one
# One time for all files, so that make runs no rule because one was unpacked before another. Not 0: to Ninja,
# such a file is missing.
_TIME: Final = 1_000_000_000


class RefusedError(Exception):
    """An archive has something that is not unpacked."""


@dataclass
class Unpacking:
    """A directory that is filled within bounds.

    Symbolic links are created last, so that no file is written through one.
    """

    root: Path
    entries: int
    levels: int
    size: int
    links: dict[Path, str] = field(default_factory=dict)
    folders: set[Path] = field(default_factory=set)

    def place(self, name: str) -> Path:
        """Count an entry, create the directory above it, and return its path below the root."""
        parts = [part for part in name.split("/") if part not in {"", "."}]
        if name.startswith("/") or ".." in parts or "\0" in name:
            raise RefusedError(f"{name!r} is not below its directory")
        self._count()
        if len(parts) > self.levels:
            raise RefusedError("it has too many directories in each other")
        path = self.root
        for part in parts[:-1]:
            path /= part
            if path not in self.folders:
                self._count()  # an archive need not list its directories
                self._create(path)
        return self.root.joinpath(*parts)

    def add_directory(self, name: str) -> None:
        """Create a directory."""
        self._create(self.place(name))

    def _count(self) -> None:
        self.entries -= 1
        if self.entries < 0:
            raise RefusedError("it has too many entries")

    def _create(self, folder: Path) -> None:
        folder.mkdir(exist_ok=True)
        self.folders.add(folder)

    def add_file(self, name: str, mode: int, source: IO[bytes]) -> None:
        """Write a regular file; a later one of the same name replaces it, as tar does."""
        path = self.place(name)
        path.unlink(missing_ok=True)
        with path.open("xb") as file:
            while chunk := source.read(min(_CHUNK, self.size + 1)):
                self.size -= len(chunk)
                if self.size < 0:
                    raise RefusedError("it has too many bytes")
                file.write(chunk)
        path.chmod(0o755 if mode & 0o111 else 0o644)
        os.utime(path, (_TIME, _TIME))

    def add_hard_link(self, name: str, target: str) -> None:
        """Give an unpacked regular file a second name."""
        source = self.place(target)
        if not source.is_file():
            raise RefusedError(f"{name!r} is a hard link to none of its files")
        self.place(name).hardlink_to(source)

    def add_link(self, name: str, target: str) -> None:
        """Remember a symbolic link."""
        if target.startswith("/"):
            raise RefusedError(f"the symbolic link {name!r} leads out of it")
        self.links[self.place(name)] = target

    def finish(self, tree: Path) -> None:
        """Move the files to ``tree``, and create the symbolic links.

        A single top directory is left out, as CMake does.
        """
        found = list(self.root.iterdir())
        root = found[0] if len(found) == 1 and found[0].is_dir() else self.root
        if not all(path.is_relative_to(root) and path != root for path in self.links):
            root = self.root
        root.rename(tree)
        created = {tree / path.relative_to(root): target for path, target in self.links.items()}
        for path, target in created.items():
            path.symlink_to(target)
        inside = os.path.realpath(tree)
        for path in created:
            # Unlike Path.resolve, it accepts a loop, which leads nowhere.
            if not Path(os.path.realpath(path)).is_relative_to(inside):
                raise RefusedError(f"the symbolic link {str(path.relative_to(tree))!r} leads out of it")


def is_tar(source: Path) -> bool:
    """Return whether a file is a tar archive with an entry: zeros look like an empty one."""
    if not tarfile.is_tarfile(source):
        return False
    with tarfile.open(source) as archive:
        return archive.next() is not None


def unpack_tar(source: Path, into: Unpacking) -> None:
    """Unpack a tar archive of any compression that Python knows."""
    with tarfile.open(source) as archive:
        for member in archive:
            if member.isdir():
                into.add_directory(member.name)
            elif member.issym():
                into.add_link(member.name, member.linkname)
            elif member.islnk():
                into.add_hard_link(member.name, member.linkname)
            elif member.isreg() and (content := archive.extractfile(member)):
                # A sparse file has holes of any declared length.
                if member.size > into.size:
                    raise RefusedError("it has too many bytes")
                into.add_file(member.name, member.mode, content)
            else:
                raise RefusedError(f"{member.name!r} is neither a file, a directory nor a link")


def unpack_zip(source: Path, into: Unpacking) -> None:
    """Unpack a zip archive."""
    with zipfile.ZipFile(source) as archive:
        for member in archive.infolist():
            mode = member.external_attr >> 16
            if member.is_dir():
                into.add_directory(member.filename)
                continue
            if stat.S_IFMT(mode) not in {0, stat.S_IFREG, stat.S_IFLNK}:
                raise RefusedError(f"{member.filename!r} is neither a file, a directory nor a link")
            with archive.open(member) as content:
                if stat.S_ISLNK(mode):
                    into.add_link(member.filename, os.fsdecode(content.read(_LONGEST_TARGET)))
                else:
                    into.add_file(member.filename, mode, content)


def unpack(source: Path, into: Unpacking, name: str, tree: Path) -> None:
    """Unpack a file to ``tree``, or keep it there under a name if it is no archive.

    Raises:
        RefusedError: the archive is damaged, too large, or has an entry that leads out of it.
    """
    into.root.mkdir()
    try:
        if is_tar(source):
            unpack_tar(source, into)
        elif zipfile.is_zipfile(source):
            unpack_zip(source, into)
        else:
            with source.open("rb") as file:
                into.add_file(name, 0o644, file)
        into.finish(tree)
    except (RefusedError, OSError):
        raise
    # Readers of damaged archives raise errors of many kinds.
    except Exception as error:
        raise RefusedError(f"it is damaged: {error}") from error
    finally:
        shutil.rmtree(into.root, ignore_errors=True)


def main(entries: str, levels: str, size: str, name: str) -> int:
    """Unpack, and print what is wrong."""
    into = Unpacking(OUT / "files", int(entries), int(levels), int(size))
    try:
        unpack(IN / "file", into, name, OUT / "tree")
    except RefusedError as error:
        print(ascii(str(error))[1:-1], file=sys.stderr)  # noqa: T201 - the caller reads it
        return REFUSED
    except OSError as error:
        print(error.strerror or error, file=sys.stderr)  # noqa: T201 - as above
        return DISK if error.errno in _OF_THE_DISK else REFUSED
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
