"""Show progress on stderr: on a terminal, one line with the current activity; everywhere, notes."""

from __future__ import annotations

from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn


class TerminalProgress:
    """The Progress port on stderr; use it as a context manager."""

    def __init__(self) -> None:
        console = Console(stderr=True)
        self._bar = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=24),
            TimeElapsedColumn(),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self._task = self._bar.add_task("starting", total=None)

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def say(self, text: str, done: float | None = None) -> None:
        """Show the current activity, with a bar if the fraction done is known."""
        self._bar.update(
            self._task, description=text, total=None if done is None else 1.0, completed=done or 0.0
        )

    def note(self, text: str) -> None:
        """Print a line above the current activity, also if stderr is not a terminal."""
        self._bar.console.print(text, markup=False, highlight=False, soft_wrap=True)
