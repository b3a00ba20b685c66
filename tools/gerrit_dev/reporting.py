"""Report progress and errors to the user of the tool."""

from __future__ import annotations

import sys


def report(message: str) -> None:
    """Print a line on standard error."""
    print(f"gerrit-dev: {message}", file=sys.stderr, flush=True)


class CannotServe(Exception):
    """The server cannot be started or stopped as requested; the message is for the user."""
