"""Check the directories of BENCHGATE_MOUNTS on this machine, and digest their files."""

from __future__ import annotations

import hashlib
import os
import re
import stat
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qsl, unquote, urlsplit

from service.domain.machines.mounts import SETTING, MachineMount, require_allowed
from service.domain.values.errors import BadInput
from service.domain.values.text import plain

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

_DIGEST_BYTES: Final = 16  # only the operator can change the files, so nobody looks for two equal digests
# SQLAlchemy takes any password; for others, some characters end the host, or make the address unreadable.
_CREDENTIALS: Final = re.compile(r"^(postgres[\w+]*://)[^:/]*(?::[^@]*)?@")
_SOCKET_SCHEMES: Final = frozenset({"redis+socket", "socket", "unix"})


def read_mounts(entries: Iterable[str], refused: Mapping[str, str]) -> tuple[MachineMount, ...]:
    """Read the entries of the setting, as :func:`read_mount` does; their order makes no difference."""
    return tuple(
        read_mount(entry, refused) for entry in sorted({str(PurePosixPath(each)) for each in entries})
    )


def read_mount(entry: str, refused: Mapping[str, str]) -> MachineMount:
    """Check a directory of the setting, and digest the names, modes, sizes and times of the files below it.

    ``refused`` gives the reason for each directory that cannot be shown.

    Raises:
        BadInput: it cannot be shown; the message names the setting, the path and the reason.
    """
    path = str(PurePosixPath(entry))
    if not path.startswith("/"):
        raise BadInput(f"{plain(entry)!r} is not an absolute path", SETTING)
    require_allowed(path, refused)
    try:
        real = os.path.realpath(path, strict=True)
        if real != path:
            require_allowed(real, refused)
            # Mounted under the other name, its files would not find each other by the real one.
            raise BadInput(f"{plain(entry)} leads to {plain(real)}: list that directory", SETTING)
        if not Path(real).is_dir():
            raise BadInput(f"{plain(entry)} is not a directory", SETTING)
        if not real.isprintable():  # the path is stored and shown, and a database takes no lone surrogates
            raise BadInput(f"{plain(entry)} has control characters, or is not UTF-8: rename it", SETTING)
        return _identified(real)
    except OSError as error:
        # It may be deep in a large tool chain.
        raise BadInput(
            f"{plain(_named(error) or entry)} cannot be read: {error.strerror}", SETTING
        ) from error
    except ValueError as error:
        raise BadInput(f"{plain(entry)} cannot be read: {error}", SETTING) from error


def paths_of_address(url: str) -> Iterator[str]:
    """Yield the sockets, keys and certificates of this machine that the address of a server names."""
    try:
        address = urlsplit(_CREDENTIALS.sub(r"\1", url))
    except ValueError:
        return  # nothing can connect by it
    if address.scheme in _SOCKET_SCHEMES:
        yield unquote(address.path)
    host = unquote(address.netloc.rpartition("@")[2])
    values = [host, *(value for _, value in parse_qsl(address.query))]
    for value in values:
        yield from (part for part in value.split(",") if part.startswith("/"))


def _named(error: OSError) -> str:
    return error.filename if isinstance(error.filename, str) else ""


def _identified(top: str) -> MachineMount:
    """Digest names, modes, sizes and times of the files below a directory without opening any of them.

    Inodes and the times of directories are left out: they differ between machines with the same packages.
    """
    digest, files = hashlib.blake2b(digest_size=_DIGEST_BYTES), 0
    for path, status in _entries(top):
        facts: tuple[object, ...] = (os.fsencode(path[len(top) :]), status.st_mode)
        if stat.S_ISLNK(status.st_mode):
            facts += (bytes(Path(path).readlink()),)
        elif stat.S_ISREG(status.st_mode):
            facts += (status.st_size, status.st_mtime_ns)
        elif stat.S_ISSOCK(status.st_mode) or stat.S_ISFIFO(status.st_mode):
            # Programs can write to both, although the mount is read-only.
            raise BadInput(
                f"{plain(top)} has a socket or pipe, by which programs could reach others of this machine: "
                f"{plain(path)}",
                SETTING,
            )
        digest.update(repr(facts).encode())
        files += not stat.S_ISDIR(status.st_mode)
    return MachineMount(top, digest.hexdigest(), files)


def _entries(top: str) -> Iterator[tuple[str, os.stat_result]]:
    """Yield everything below a directory that programs can find, sorted by name; follow no link."""
    left = [top]
    while left:
        directory = left.pop()
        # Programs have the rights of this process, and cannot open what is in such a directory.
        if directory != top and not os.access(directory, os.X_OK):
            continue
        with os.scandir(directory) as found:
            entries = sorted(found, key=lambda each: each.name)
        for entry in entries:
            status = entry.stat(follow_symlinks=False)
            yield entry.path, status
            if stat.S_ISDIR(status.st_mode):
                left.append(entry.path)
