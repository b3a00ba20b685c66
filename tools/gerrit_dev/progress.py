"""Tells the person who waits what is being done; standard output is for the answer alone."""

from __future__ import annotations

import sys


def say(what: str) -> None:
    """A line on standard error."""
    print(f"gerrit-dev: {what}", file=sys.stderr, flush=True)
