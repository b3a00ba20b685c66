"""Follow the links that the demo prints at its end."""

from __future__ import annotations

import re
from urllib.parse import parse_qs, urlsplit

from service.web.access.attempt_cookie import return_path
from tools.demo.backend import Uploaded
from tools.demo.next_steps import next_steps
from tools.demo.repository import Commit
from tools.demo.scenario import SCENARIOS

BASE = "http://127.0.0.1:8080"
SECRET = "GYi_MaqF-sTP98KqiYXIPbljAmVIjKb0cFjDY21z79o"
FAILING, SLOWER = (
    Uploaded(upload.change, upload.patch_set, Commit(upload, "1" * 40, "2" * 40))
    for upload in (SCENARIOS["replica"][0], SCENARIOS["executor"][1])
)


def links(*, failing: Uploaded | None = None, slower: Uploaded | None = None) -> list[str]:
    """The link of each line."""
    lines = list(next_steps(BASE, SECRET, failing, slower))
    found = [re.findall(r"http\S+$", line) for line in lines]
    assert all(len(each) == 1 for each in found), lines
    return [link for (link,) in found]


def form_behind(link: str) -> str:
    """The page to which a link leads after signing in with the secret."""
    parts = urlsplit(link)
    query = parse_qs(parts.query, strict_parsing=True)
    assert (parts.path, query["secret"]) == ("/sign-in", [SECRET])
    return return_path(query["return"][0])


def test_the_first_link_signs_in_and_opens_the_form_that_makes_the_failure_known() -> None:
    found = links(failing=FAILING, slower=SLOWER)
    assert form_behind(found[0]) == "/changes/69/1?known=replica-tests#actions"
    assert found[1:] == [
        f"{BASE}/",
        f"{BASE}/regressions",
        f"{BASE}/trends?q=TaskStatsBench%2FLogQTime",
    ]


def test_without_a_failing_test_the_slower_change_can_be_overridden() -> None:
    found = links(slower=SLOWER)
    assert form_behind(found[0]) == "/changes/62/1#actions"
    assert len(found) == 3


def test_without_a_minus_one_there_are_pages_to_look_at() -> None:
    assert links() == [f"{BASE}/regressions", f"{BASE}/trends?q=TaskStatsBench%2FLogQTime"]
