"""Show a status line for each part on stderr: updated on a terminal, else printed on each change."""

from __future__ import annotations

from typing import Self

from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from service.adapters.embedded.children import ChildState, ChildStatus

_STYLE = {
    ChildState.READY: "green",
    ChildState.STARTING: "yellow",
    ChildState.RESTARTING: "bold yellow",
    ChildState.FAILED: "bold red",
    ChildState.STOPPED: "dim",
}


class StatusLines:
    """Show statuses as they change; use it as a context manager."""

    def __init__(self) -> None:
        self._console = Console(stderr=True, highlight=False)
        self._statuses: dict[str, ChildStatus] = {}
        self._live = Live(console=self._console, auto_refresh=False, transient=False)

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._console.is_terminal:
            self._live.stop()

    def __call__(self, status: ChildStatus) -> None:
        """Show a new status of a part."""
        self._statuses[status.name] = status
        if self._console.is_terminal:
            self._live.update(self._table(), refresh=True)
        else:
            parts = (f"{status.name:<9} {status.state:<10}", *_numbers(status), status.note)
            self._console.print(Text(" ".join(filter(None, parts)).rstrip()), soft_wrap=True)

    def say(self, text: str) -> None:
        """Print a line above the statuses."""
        self._console.print(Text(text), soft_wrap=True)

    def _table(self) -> Table:
        table = Table.grid(padding=(0, 2))
        for status in self._statuses.values():
            state = Text(status.state, style=_STYLE[status.state])
            table.add_row(status.name, state, *_numbers(status), Text(status.note))
        return table


def _numbers(status: ChildStatus) -> tuple[str, str]:
    return (
        f"pid {status.pid}" if status.pid else "",
        f"restarted {status.restarts}×" if status.restarts else "",
    )
