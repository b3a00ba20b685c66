"""Reports to the person who runs the tool: progress, and what makes the tool give up."""

from __future__ import annotations

import sys


def say(what: str) -> None:
    """A line on standard error."""
    print(f"gerrit-dev: {what}", file=sys.stderr, flush=True)


class CannotServe(Exception):
    """No server can be brought up or taken down as asked; the message is for the person who asked."""
