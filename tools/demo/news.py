"""Show the messages that Benchgate posted on the demo's changes, as text for a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from service.domain.values.text import plain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from service.domain.review.change import Change, PostedMessage
    from service.domain.values.identity import ChangeKey
    from service.ports.review.server import ReviewServer

_LINE: Final = 16 << 10  # no message is longer


class News:
    """The messages of Benchgate's account on changes, each shown once."""

    def __init__(self, server: ReviewServer) -> None:
        self._server = server
        self._changes: set[ChangeKey] = set()
        self._seen: set[tuple[ChangeKey, str]] = set()

    def follow(self, key: ChangeKey) -> None:
        """Show the messages on a change from now on."""
        self._changes.add(key)

    def fresh(self) -> Sequence[str]:
        """Return the messages since the last call, oldest first; raises like the review server."""
        fresh = [(key, message) for key in self._changes for message in self._posted_on(key)]
        fresh.sort(key=lambda pair: pair[1].written)
        texts = [rendered(self._server.change(key), message) for key, message in fresh]
        self._seen.update((key, message.id) for key, message in fresh)
        return texts

    def _posted_on(self, key: ChangeKey) -> list[PostedMessage]:
        account = self._server.account
        return [
            message
            for message in self._server.messages(key)
            if message.author.account == account and (key, message.id) not in self._seen
        ]


def rendered(change: Change, message: PostedMessage) -> str:
    """Format a message with its context, without control characters."""
    place = f"{plain(change.project)} ({plain(change.branch)})"
    lines = [
        f"Change {change.key.number}: {plain(change.subject)}",
        f"{place} · {plain(message.author.shown)} · {message.written:%Y-%m-%d %H:%M:%S} UTC",
        "",
        *map(_harmless, message.shown.splitlines()),
    ]
    return "\n".join(lines)


def _harmless(line: str) -> str:
    indent = len(line) - len(line.lstrip(" "))
    return " " * indent + plain(line, _LINE)
