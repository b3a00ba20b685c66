"""A headless Chromium."""

from __future__ import annotations

import shutil
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from playwright.sync_api import sync_playwright

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser

# The first has no window, and takes half of the time.
_PROGRAMS: Final = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
_QUIET: Final = [
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--disable-gpu",
]


@contextmanager
def chromium() -> Iterator[Browser]:
    """Start the system's Chromium."""
    program = next(filter(None, map(shutil.which, _PROGRAMS)), None)
    if program is None:
        raise FileNotFoundError("Chromium is missing: apt install chromium")
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=program, chromium_sandbox=False, args=_QUIET)
        try:
            yield launched
        finally:
            launched.close()
