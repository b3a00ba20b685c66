"""List what a newcomer can do on the pages as soon as the votes are there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from urllib.parse import quote, urlencode

from service.domain.review.links import Links
from service.domain.values.identity import ChangeKey
from tools.demo.scenario import TESTS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tools.demo.backend import Uploaded

_BENCHMARK: Final = "TaskStatsBench/LogQTime"  # one commit of the history made it slower, another repaired it
_PATHS: Final = Links("")


def next_steps(
    base_url: str, secret: str, failing: Uploaded | None, slower: Uploaded | None
) -> Iterator[str]:
    """Yield at most four lines, each with a link; a form's link also signs in.

    Args:
        base_url: the address of the pages.
        secret: with which the user of this machine signs in.
        failing: an open change in which a test fails.
        slower: an open change with slower benchmarks.
    """

    def signing_in(path: str) -> str:
        return f"{base_url}/sign-in?{urlencode({'secret': secret, 'return': path}, quote_via=quote)}"

    if failing:
        form = signing_in(_form(failing, TESTS))
        yield f"- make the failure of {failing.name} known, by a bug such as DEMO-1 and a reason: {form}"
        yield f"- then look at the next change: the same test fails there, and does not count: {base_url}/"
    elif slower:
        form = signing_in(_form(slower))
        yield f"- override the −1 of {slower.name}, or accept its slower benchmarks: {form}"
    yield f"- see what became slower on the branch, since when, and by whose change: {base_url}/regressions"
    yield f"- see a benchmark over sixty commits: {base_url}/trends?{urlencode({'q': _BENCHMARK})}"


def _form(uploaded: Uploaded, known: str = "") -> str:
    return _PATHS.override_form(ChangeKey("demo", uploaded.change), uploaded.patch_set, known)
