"""A headless Chromium that must not contact another host."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.browser.task_site import task_site
from tests.support.chromium import chromium
from tests.support.reading.sample_project import sample_project
from tests.support.web import build_app, serving

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Dialog, Page

    from tests.browser.task_site import TaskSite
    from tests.support.postgres import Server


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    with serving(build_app(sample_project(), logs={"log": b"compiled\n"})) as address:
        yield address


@pytest.fixture(scope="module")
def tasks(server: Server) -> Iterator[TaskSite]:
    """Pages from PostgreSQL."""
    with server.database() as database, task_site(database) as site:
        yield site


@pytest.fixture(scope="module")  # Playwright's loop would otherwise run on under every later test
def browser() -> Iterator[Browser]:
    with chromium() as launched:
        yield launched


@pytest.fixture
def page(browser: Browser, site: str) -> Iterator[Page]:
    """A page that fails its test when anything opens a dialog, breaks a script or asks another host."""
    context = browser.new_context(base_url=site, viewport={"width": 1280, "height": 900})
    faults: list[str] = []

    def refuse(dialog: Dialog) -> None:
        faults.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    opened = context.new_page()
    opened.on("dialog", refuse)
    opened.on("pageerror", lambda error: faults.append(f"error: {error}"))
    opened.on("console", lambda message: faults.append(message.text) if message.type == "error" else None)
    opened.on(
        "request",
        lambda request: (
            None if request.url.startswith((site, "data:", "blob:")) else faults.append(request.url)
        ),
    )
    yield opened
    context.close()
    assert faults == []
