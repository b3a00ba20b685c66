"""Show progress on stderr: on a terminal, one line with the current activity; elsewhere, a line per stage."""

from __future__ import annotations

from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn


class TerminalProgress:
    """The Progress port on stderr; use it as a context manager."""

    def __init__(self) -> None:
        self._console = console = Console(stderr=True)
        self._bar = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=24),
            TimeElapsedColumn(),
            console=console,
            transient=True,
        )
        self._is_live = console.is_terminal and not console.is_dumb_terminal
        self._task = self._bar.add_task("starting", total=None)
        self._stage = ""

    def __enter__(self) -> Self:
        if self._is_live:
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._is_live:
            self._bar.stop()

    def say(self, text: str, done: float | None = None) -> None:
        """Show the current activity, with a bar if the fraction done is known.

        Where no line can be rewritten, an activity without a fraction is a stage, and gets a line.
        """
        self._bar.update(
            self._task, description=text, total=None if done is None else 1.0, completed=done or 0.0
        )
        if not self._is_live and done is None and text != self._stage:
            self._stage = text
            self.note(text)

    def note(self, text: str) -> None:
        """Print a line above the current activity, also if stderr is not a terminal."""
        self._console.print(text, markup=False, highlight=False, soft_wrap=True)
