"""Forms of a change's page, as the browser of a signed-in person sends them."""

from __future__ import annotations

import re
from contextlib import contextmanager
from html import unescape
from typing import TYPE_CHECKING

import httpx

from service.domain.access.caller import LOCAL_EMAIL, Role
from service.ports.access import NewSession
from service.web.access.address import Address

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.e2e.conftest import RunningSite

_FORM = re.compile(r'<form method="post" action="([^"]+)".*?</form>', re.DOTALL)
_HIDDEN = re.compile(r'<input type="hidden" name="([^"]+)" value="([^"]*)">')


@contextmanager
def signed_in(running: RunningSite, name: str) -> Iterator[httpx.Client]:
    """The browser of the user of this machine; the session claims a name."""
    session = NewSession(subject="local", name=name, email=LOCAL_EMAIL, role=Role.REVIEWER)
    cookie = Address(running.site.base_url).session_cookie
    headers = {"Cookie": f"{cookie}={running.plane.sessions.open(session)}", "Origin": running.site.base_url}
    with httpx.Client(base_url=running.site.base_url, headers=headers, timeout=60) as client:
        yield client


def form_of(browser: httpx.Client, change: int, action: str) -> tuple[str, dict[str, str]]:
    """The address and the hidden fields of the page's first form for an action."""
    page = browser.get(f"/changes/{change}").raise_for_status().text
    for found in _FORM.finditer(page):
        fields = {name: unescape(value) for name, value in _HIDDEN.findall(found[0])}
        if fields["action"] == action:
            return found[1], fields
    raise AssertionError(f"no form for {action}")
