"""A tab of the browser: its clock, and whether the reader sees it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from playwright.sync_api import Page

_TURN: Final = """state => {
    Object.defineProperty(document, "hidden", { value: state === "hidden", configurable: true });
    document.dispatchEvent(new Event("visibilitychange"));
}"""
# A page plans its next request once it has handled the last answer, which takes time on no clock here.
_NOTE_WAITS: Final = """
window.waits = [];
const later = window.setTimeout;
window.setTimeout = (run, wait) => { window.waits.push(wait / 1000); return later(run, wait); };
"""


def stop_clock(page: Page) -> None:
    """Let time pass only by ``page.clock.run_for``; call it before the page is opened."""
    page.clock.install(time=0)
    page.clock.pause_at(60)
    page.add_init_script(_NOTE_WAITS)


def waits(page: Page) -> list[float]:
    """Return the seconds for which the page waited or is waiting, in order."""
    return [float(wait) for wait in page.evaluate("waits")]


def turn(page: Page, state: str) -> None:
    """Hide or show the page, as its browser does when the reader changes the tab."""
    page.evaluate(_TURN, state)
