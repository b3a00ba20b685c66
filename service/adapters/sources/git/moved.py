"""Find where a repository moved: git follows no redirect, so that each new address can be checked."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import httpx

from service.domain.sources.submodules import redacted

if TYPE_CHECKING:
    from service.adapters.sources.git.command import Answer

MOST: Final = 3  # a name that was changed, and the form with `.git`
_REDIRECT: Final = re.compile(r"returned error: 30[12378]\b")
_REFS: Final = "/info/refs"
_TIMEOUT: Final = httpx.Timeout(30.0, connect=10.0)


def moved_to(url: str, answer: Answer) -> str:
    """Return where a server redirected git's fetch from ``url``; empty if it does not now."""
    if not answer.code or not _REDIRECT.search(answer.errors):
        return ""
    query = {"service": "git-upload-pack"}
    try:
        with httpx.stream(
            "GET", redacted(url) + _REFS, params=query, follow_redirects=False, timeout=_TIMEOUT
        ) as response:
            target = str(response.url.join(response.headers.get("Location", "")))
    except (httpx.HTTPError, httpx.InvalidURL):
        return ""
    found, is_there, _ = target.partition(_REFS)
    is_web = found.startswith(("https://", "http://"))
    return found if is_web and is_there and found != redacted(url) else ""
