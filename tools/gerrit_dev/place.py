"""Says what lies where in the directory of a server, and which directories are ours."""

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
        """What Gerrit calls its site."""
        return self.directory / "site"

    @property
    def keys(self) -> Path:
        """A private SSH key for each account."""
        return self.directory / "keys"

    @property
    def known_hosts(self) -> Path:
        """The server's SSH keys."""
        return self.directory / "known_hosts"

    @property
    def log(self) -> Path:
        """What the server prints."""
        return self.directory / "gerrit.log"

    @property
    def pid_file(self) -> Path:
        """The process of the server, as long as it is to run."""
        return self.directory / "gerrit.pid"

    @property
    def lock(self) -> Path:
        """Held while a server is brought up or taken down."""
        return self.directory / "lock"

    @property
    def record(self) -> Path:
        """What `up` said about the server; also the mark of a directory that is ours."""
        return self.directory / "gerrit-dev.json"

    def read(self) -> dict[str, Any]:
        """The record; empty for a directory that is not ours."""
        try:
            found: dict[str, Any] = json.loads(self.record.read_bytes())
        except FileNotFoundError:
            return {}
        return found

    def write(self, record: dict[str, Any]) -> None:
        """Replace the record."""
        new = self.record.with_suffix(".new")
        new.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
        new.replace(self.record)

    def wipe(self) -> None:
        """Remove the directory with everything in it."""
        shutil.rmtree(self.directory)


def place_at(path: str) -> Place:
    """The server's directory by its absolute name, under which its process is recognised."""
    return Place(Path(path).resolve())


def made_place(path: str) -> Place:
    """A directory that is ours, made if there is none.

    Raises:
        CannotServe: something else is in it.
    """
    place = place_at(path)
    place.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    others = [entry.name for entry in place.directory.iterdir() if entry != place.lock]
    if others and not place.record.exists():
        raise CannotServe(f"{place.directory} holds other things ({others[0]}); name a new directory")
    if not others:
        place.write({})
    return place
