"""The text of a message on a change, for a terminal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from service.domain.text import plain

if TYPE_CHECKING:
    from datetime import datetime

_LINE: Final = 16 << 10  # no message is longer


@dataclass(frozen=True, slots=True)
class ChangeTitle:
    """The change that a message is on, as a reader recognises it."""

    number: int
    subject: str
    project: str
    branch: str


def shown(title: ChangeTitle, author: str, written: datetime, text: str) -> str:
    """Format a message with its context, without control characters; ``written`` is in UTC."""
    place = f"{plain(title.project)} ({plain(title.branch)})"
    lines = [
        f"Change {title.number}: {plain(title.subject)}",
        f"{place} · {plain(author)} · {written:%Y-%m-%d %H:%M:%S} UTC",
        "",
        *map(_harmless, text.splitlines()),
    ]
    return "\n".join(lines)


def _harmless(line: str) -> str:
    indent = len(line) - len(line.lstrip(" "))
    return " " * indent + plain(line, _LINE)
