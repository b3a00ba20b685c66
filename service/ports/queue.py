"""The queue of hints."""

from __future__ import annotations

from typing import Protocol


class Queue(Protocol):
    """Sends hints to workers. Raises Transient."""

    def send(self, task: str, entity: int, pool: str) -> None:
        """Hint at an entity; ``pool`` is ``control`` or a pool of machines."""
