"""Name the paths in a server's directory, and keep its record."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tools.gerrit_dev.reporting import CannotServe


@dataclass(frozen=True, slots=True)
class Place:
    """The directory of one server."""

    directory: Path

    @property
    def site(self) -> Path:
        """Gerrit's own directory, which Gerrit calls its site."""
        return self.directory / "site"

    @property
    def keys(self) -> Path:
        """The directory of the accounts' private SSH keys."""
        return self.directory / "keys"

    @property
    def known_hosts(self) -> Path:
        """The file with the server's SSH keys."""
        return self.directory / "known_hosts"

    @property
    def log(self) -> Path:
        """The file with the server's output."""
        return self.directory / "gerrit.log"

    @property
    def pid_file(self) -> Path:
        """The file with the server's process ID, until the server is stopped."""
        return self.directory / "gerrit.pid"

    @property
    def lock(self) -> Path:
        """The lock file, locked while the server is started or stopped."""
        return self.directory / "lock"

    @property
    def record(self) -> Path:
        """The file with the output of `up`, which also marks a directory of this tool."""
        return self.directory / "gerrit-dev.json"

    def read(self) -> dict[str, Any]:
        """Read the record; empty if the directory does not belong to this tool."""
        try:
            record: dict[str, Any] = json.loads(self.record.read_bytes())
        except FileNotFoundError:
            return {}
        return record

    def write(self, record: dict[str, Any]) -> None:
        """Replace the record."""
        new = self.record.with_suffix(".new")
        new.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
        new.replace(self.record)

    def wipe(self) -> None:
        """Delete the directory and its content."""
        shutil.rmtree(self.directory)


def place_at(path: str) -> Place:
    """Return the server's directory by its absolute path, which also identifies its process."""
    return Place(Path(path).resolve())


def make_place(path: str) -> Place:
    """Return a directory of this tool; create it if it is missing.

    Raises:
        CannotServe: the directory contains other files.
    """
    place = place_at(path)
    place.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    others = [entry.name for entry in place.directory.iterdir() if entry != place.lock]
    if others and not place.record.exists():
        raise CannotServe(f"{place.directory} contains other files ({others[0]}); choose a new directory")
    if not others:
        place.write({})
    return place
