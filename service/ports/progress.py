"""Progress, reported to a person."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """Tells a person how far a long piece of work is."""

    def say(self, text: str, done: float | None = None) -> None:
        """What is being done now; ``done`` is a share of the whole where it is known."""
