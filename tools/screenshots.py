"""`python -m tools.screenshots DIR`: take a picture of every page in each look, to look at before a release.

The pages, and what they show, are those of tests/browser/test_every_page.py.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import TYPE_CHECKING

from service.domain.access.caller import Role
from tests.browser.task_site import LOOKS, PAGES, TaskSite, task_site
from tests.support.chromium import chromium
from tests.support.postgres import running_server

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser


def write_screenshots(browser: Browser, site: TaskSite, folder: Path) -> Iterator[Path]:
    """Write a picture of each page in each look into a folder; yield each file."""
    context = site.sign_in(browser, Role.OPERATOR)
    page = context.new_page()
    for path in PAGES:
        page.goto(site.address_of(path))
        if page.locator("#chart").count():
            page.locator("#chart[data-state=drawn]").wait_for()
        for width, scheme in LOOKS:
            page.set_viewport_size({"width": width, "height": 844})
            page.emulate_media(color_scheme=scheme)
            name = re.sub(r"\W+", "-", path).strip("-") or "changes"
            file = folder / f"{name}-{width}-{scheme}.png"
            page.screenshot(path=file, full_page=True)
            yield file
    context.close()


def main() -> None:
    """Fill a throw-away database, and write the pictures into the folder that the command names."""
    parser = argparse.ArgumentParser(prog="python -m tools.screenshots", description="Picture every page.")
    parser.add_argument(
        "folder", type=Path, metavar="DIR", help="where the pictures go; it is made if needed"
    )
    folder = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    with (
        running_server() as server,
        server.database() as database,
        task_site(database) as site,
        chromium() as browser,
    ):
        for path in write_screenshots(browser, site, folder):
            print(path)


if __name__ == "__main__":
    main()
