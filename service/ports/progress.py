"""Progress reports to a person."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """A display of how far a long piece of work is."""

    def say(self, text: str, done: float | None = None) -> None:
        """Show what is being done now; ``done`` is its share of the whole if that is known."""
