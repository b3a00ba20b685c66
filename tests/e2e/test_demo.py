"""`make demo ONCE=1` with real C++ suites, and its failing test alone."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from contextlib import closing, suppress
from html import unescape
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import pytest

from service.cli.services.start_site import running_site
from service.cli.services.up import announced
from service.domain.values.errors import NotFound
from service.domain.values.identity import ChangeKey
from tests.support.access.page_forms import form_of
from tools.demo.__main__ import refused
from tools.demo.console import ConsoleSite, console_settings
from tools.demo.place import plane_of
from tools.demo.repository import DemoRepository
from tools.demo.runner import Runner
from tools.demo.scenario import AGAIN, SCENARIOS

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parents[2]
SETTINGS = {"BENCHGATE_INSTANCE": "demo", "BENCHGATE_WAITS_FOR_QUIET": "false"}


@pytest.mark.nightly
@pytest.mark.e2e
@pytest.mark.timeout(3000)
def test_each_speed_up_gets_a_plus_one_and_each_revert_a_minus_one(
    tmp_path: Path,
) -> None:
    home = tmp_path / "demo"
    argv = [sys.executable, "-m", "tools.demo", "--once", "--port", "0", "--home", str(home)]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("BENCHGATE_")}
    done = subprocess.run(argv, env=environment, capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert "audit.appended" not in done.stdout + done.stderr
    votes = [upload.vote for uploads in SCENARIOS.values() for upload in uploads]
    assert [int(vote) for vote in re.findall(r"Verified([+-]1)", done.stdout)] == votes
    assert re.search(
        r"faster; best: TaskStatsBench/LogQTime items/s ×\d+ \[×\d+, ×\d+\], \S+ \S+ → \S+ \S+, \d+ pairs on",
        done.stdout,
    )
    assert re.search(r"slower; worst: TaskStatsBench/LogQTime items/s −99\.\d %", done.stdout)
    assert f"benchgate up --home {home}" in done.stderr
    assert re.search(r"to act on its pages, open http://127\.0\.0\.1:\d+/sign-in\?secret=\S{43}", done.stderr)
    left = [
        entry.name
        for entry in Path("/proc").iterdir()
        if entry.name.isdigit() and str(home).encode() in _environment(entry)
    ]
    assert left == []


@pytest.mark.e2e
@pytest.mark.timeout(300)
def test_the_printed_link_makes_the_failure_known_so_that_the_next_one_does_not_count(
    tmp_path: Path,
) -> None:
    repository = DemoRepository(tmp_path / "repository")
    repository.create(ROOT / "native")
    settings = {**console_settings(tmp_path / "repository"), **SETTINGS}
    with (
        running_site(tmp_path / "var", 0, ("perf",), lambda _: None, settings) as (site, supervisor),
        closing(plane_of(site)) as plane,
        announced(site, lambda _: None),
    ):
        review_site, again = ConsoleSite(repository, plane, site), ChangeKey("demo", AGAIN.change)

        def run(is_over: Callable[[], bool]) -> None:
            supervisor.run(lambda: is_over() or has_message())

        def has_message() -> bool:
            with suppress(NotFound):  # it is not uploaded yet
                return bool(plane.server.messages(again))
            return False

        uploads = SCENARIOS["replica"]
        runner = Runner(review_site, plane.server, plane.reading, run, threading.Event(), lambda _: None)
        voted = runner.votes_on(uploads)
        assert [vote for _, vote in voted] == [-1]
        failing, slower = refused(uploads, voted)
        [line] = review_site.how_to_answer(failing, slower)
        _make_known(site.base_url, line.rpartition(" ")[2])
        runner.watch(failing)
        assert plane.server.change(again).votes == {"Verified": {plane.server.account: AGAIN.vote}}
        assert "known failure DEMO-1" in plane.server.messages(again)[-1].shown


def _make_known(base_url: str, link: str) -> None:
    """Sign in by the link, and send the form to which it leads, with a bug and a reason."""
    headers = {"Origin": base_url}
    with httpx.Client(base_url=base_url, headers=headers, timeout=60, follow_redirects=True) as browser:
        asked = browser.get(link).raise_for_status().text
        fields = {
            name: unescape(value)
            for name, value in re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)">', asked)
        }
        page = browser.post("/sign-in/local", data=fields).raise_for_status()
        assert 'name="known" value="yes" checked' in page.text
        path, hidden = form_of(browser, SCENARIOS["replica"][0].change, "override")
        typed = {"bug": "DEMO-1", "reason": "the answer comes late on a busy machine", "known": "yes"}
        browser.post(path, data={**hidden, **typed}).raise_for_status()


def _environment(process: Path) -> bytes:
    try:
        return (process / "environ").read_bytes() + (process / "cmdline").read_bytes()
    except OSError:
        return b""
