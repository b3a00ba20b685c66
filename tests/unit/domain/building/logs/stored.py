"""A log in memory, in parts as they are stored."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from service.domain.building.logs.stored_log import LogPart, StoredLog
from service.domain.values.errors import NotFound

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass
class StoredBytes:
    """Artifacts by their keys; ``opened`` has the key of each that was read."""

    found: dict[str, bytes] = field(default_factory=dict)
    opened: list[str] = field(default_factory=list)

    def log(self, *chunks: bytes, end: bytes = b"", is_growing: bool = False) -> StoredLog:
        """Store a log; a chunk of the form ``gap:1000`` is one of as many bytes."""
        parts: list[LogPart] = []
        place = line = 0
        for number, chunk in enumerate((*chunks, end)):
            if chunk.startswith(b"gap:"):
                place += int(chunk[4:])
                continue
            key = "" if number == len(chunks) else f"chunk {number}"
            self.found[key] = chunk
            if chunk:
                parts.append(LogPart(place, line, len(chunk), key, b"" if key else chunk))
            place += len(chunk)
            line += chunk.count(b"\n")
        return StoredLog("1", tuple(parts), is_growing)

    def stream(self, key: str, size: int = 1000) -> Iterator[bytes]:
        """Stream an artifact as a store does."""
        if key not in self.found:
            raise NotFound(f"artifact {key} does not exist")
        self.opened.append(key)
        data = self.found[key]
        for start in range(0, len(data), size):
            yield data[start : start + size]
