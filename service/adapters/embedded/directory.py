"""Keep a server's files in a private directory that one process locks at a time."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import secrets
import stat
from contextlib import suppress
from pathlib import Path
from typing import Final

from service.adapters.system.locking import try_lock
from service.domain.values.errors import Unfit

# The kernel accepts 107 bytes; a server also creates temporary files with longer names.
SOCKET_PATH_BYTES: Final = 100
# Other characters would need quoting, in a different way in each server's settings and each client's URL.
PLAIN_PATH: Final = re.compile(r"[A-Za-z0-9_./+-]+")
PRIVATE: Final = 0o700
SHORT: Final = Path("/tmp")  # noqa: S108 - every file of it is checked


class Directory:
    """The directory of one server's data, passwords and socket.

    Args:
        path: created if it is missing, and then readable only by its owner. An existing directory keeps its
            mode; everything that is created below it is private.
    """

    def __init__(self, path: Path) -> None:
        self.path = path.resolve()
        self._lock: int | None = None

    def hold(self) -> None:
        """Lock the directory for this process, until :meth:`release` or the end of the process.

        Raises:
            Unfit: another process holds the lock.
        """
        if self._lock is not None:
            return
        self.path.mkdir(mode=PRIVATE, parents=True, exist_ok=True)
        lock = os.open(self.path / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        if not try_lock(lock):
            holder = os.pread(lock, 32, 0).decode(errors="replace").strip() or "unknown"
            os.close(lock)
            raise Unfit(
                f"{self.path} is in use by a running Benchgate (process {holder}); "
                "stop it, or choose another data directory"
            )
        os.ftruncate(lock, 0)
        os.pwrite(lock, f"{os.getpid()}\n".encode(), 0)
        self._lock = lock

    def release(self) -> None:
        """Release the lock, and remove the socket directory if it is elsewhere."""
        if self._lock is None:
            return
        outside = self.socket_directory
        if not outside.is_relative_to(self.path):
            # If it is not empty, a process still listens there.
            with suppress(OSError):
                outside.rmdir()
        os.close(self._lock)
        self._lock = None

    @property
    def socket_directory(self) -> Path:
        """The socket's directory: below this one, or elsewhere if that path is too long or needs quoting."""
        named = Path(os.environ.get("XDG_RUNTIME_DIR") or SHORT)
        runtime = named if named.is_dir() and os.access(named, os.W_OK) else SHORT
        name = f"benchgate-{os.geteuid()}-{hashlib.sha256(os.fsencode(self.path)).hexdigest()[:16]}"
        return next(filter(_is_usable, (self.path / "socket", runtime / name)), SHORT / name)

    def make_socket_directory(self) -> Path:
        """Create the socket's directory. Raises Unfit if another user owns it."""
        return make_private(self.socket_directory)

    def secret(self, name: str) -> str:
        """Read the password with this name, or create a random one."""
        path = make_private(self.path / "passwords") / name
        with suppress(FileNotFoundError):
            return path.read_text().strip()
        value = secrets.token_hex(24)
        unfinished = path.with_name(f"{name}.new")
        unfinished.unlink(missing_ok=True)
        descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(f"{value}\n")
            file.flush()
            os.fsync(file.fileno())
        unfinished.rename(path)
        return value


def make_private(path: Path) -> Path:
    """Create a directory that only its owner can enter; make an existing one private.

    Raises:
        Unfit: the path is not a directory, or another user owns it and could replace the socket.
    """
    with suppress(FileExistsError):
        path.mkdir(mode=PRIVATE)
    found = path.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
        raise Unfit(
            f"{path} is not a directory of user {os.geteuid()} "
            f"(it belongs to user {found.st_uid}); remove it, or choose another data directory"
        )
    if stat.S_IMODE(found.st_mode) != PRIVATE:
        path.chmod(PRIVATE)
    return path


def find_package(name: str) -> Path:
    """Find the directory of an installed package without importing it.

    The packages with servers create directories and raise warnings on import.

    Raises:
        Unfit: the package is not installed.
    """
    found = importlib.util.find_spec(name)
    if found is None or not found.submodule_search_locations:
        raise Unfit(
            f"the Python package {name} is not installed; install it, or configure an external server"
        )
    return Path(found.submodule_search_locations[0])


def _is_usable(directory: Path) -> bool:
    """Return whether a path is short enough, and free of unusual characters, for a socket directory."""
    longest = len(os.fsencode(directory / ".s.PGSQL.5432"))
    return longest <= SOCKET_PATH_BYTES and PLAIN_PATH.fullmatch(str(directory)) is not None
