"""Run the demo on a real Gerrit: people push and submit, and Benchgate gets the events as usual."""

from __future__ import annotations

import json
import shlex
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from service.adapters.review.gerrit.connection import GerritConnection
from service.adapters.review.gerrit.reading import change_number
from service.adapters.system.json_client import Password
from service.domain.values.errors import Permanent, Transient
from service.domain.values.identity import ChangeKey
from tools.demo.backend import Backend, Uploaded
from tools.demo.gerrit_server import REVIEWERS, running_gerrit
from tools.demo.news import News
from tools.demo.repository import BRANCH, PROJECT, DemoRepository
from tools.demo.scenario import Author, change_id

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    import httpx

    from service.ports.review.server import ReviewServer
    from tools.demo.gerrit_server import Account, GerritServer
    from tools.demo.scenario import Upload

PUSHED_TO: Final = f"refs/for/{BRANCH}"
OVERRIDE: Final = "override DEMO-1 slower on purpose"
MAKE_KNOWN: Final = "override DEMO-1 known-failure the answer comes late on a busy machine"
_POLL_SECONDS: Final = 2.0  # between two requests for messages, so that they do not disturb measurements


@contextmanager
def on_gerrit(home: Path, native: Path) -> Iterator[Backend]:
    """Run a new Gerrit, with ``native`` in its project, and with reviewers who may override.

    Raises:
        Unfit: Gerrit cannot be started; the message has the reason.
    """
    path = home.absolute() / "repository"
    repository = DemoRepository(path)
    repository.create(native, REVIEWERS)
    with running_gerrit(home.absolute() / "gerrit", path) as server:
        yield Backend(server.settings, lambda plane, _: GerritSite(repository, server, plane.server))


class GerritSite:
    """A real Gerrit: alice uploads for all authors, bob reviews, and Gerrit numbers the changes.

    Args:
        repository: the demo's repository, with the project's branch.
        server: the running Gerrit.
        review: Benchgate's adapter for this Gerrit.
        transport: a replacement of the network for bob's requests.
    """

    def __init__(
        self,
        repository: DemoRepository,
        server: GerritServer,
        review: ReviewServer,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self._repository = repository
        self._server = server
        self._review = review
        bob = Password(server.bob.user, server.bob.password)
        self._bob = GerritConnection(server.url, bob, transport=transport)
        self._news = News(review)
        self._next_poll = 0.0

    def upload(self, upload: Upload) -> Uploaded:
        """Push the upload for review."""
        alice = self._server.alice
        commit = self._repository.propose(upload, Author(alice.name, alice.email))
        self._repository.push(commit, self._server.git_url(alice), PUSHED_TO)
        number = change_number(self._bob.get(f"changes/{triplet(upload)}"))
        if number is None:
            raise Permanent(f"Gerrit sends no number of {change_id(upload.change)}")
        key = ChangeKey(self._review.instance, number)
        self._news.follow(key)
        return Uploaded(number, self._review.change(key).current.number, commit)

    def merge(self, uploaded: Uploaded) -> None:
        """Review and submit as bob; the commit does not change, because its parent is the branch's tip."""
        path = f"changes/{uploaded.change}"
        review = f"{path}/revisions/{uploaded.commit.revision}/review"
        self._bob.post(review, {"labels": {"Code-Review": 2}})
        self._bob.post(f"{path}/submit", {})
        self._repository.merge(uploaded.commit)

    def news(self) -> Sequence[str]:
        """Return Benchgate's messages since the last call; no lines if that was a moment ago."""
        now = time.monotonic()
        if now < self._next_poll:
            return []
        self._next_poll = now + _POLL_SECONDS
        with suppress(Transient):  # the next call returns the messages
            return self._news.fresh()
        return []

    def how_to_answer(self, failing: Uploaded | None, slower: Uploaded | None) -> Sequence[str]:
        """Show how to make the failure of a test known as bob, or else how to override a slower benchmark."""
        bob, url = self._server.bob, self._server.url
        if failing:
            what = f"{bob.name} may make the failure of {failing.name} known"
            command = commenting(url, bob, failing, MAKE_KNOWN)
        elif slower:
            what = f"{bob.name} may override the −1 of {slower.name}"
            command = commenting(url, bob, slower, OVERRIDE)
        else:
            return []
        return [f"- {what}; this command does so in his name:", command]


def triplet(upload: Upload) -> str:
    """Make the REST name of a change of unknown number."""
    return "~".join(quote(part, safe="") for part in (PROJECT, BRANCH, change_id(upload.change)))


def commenting(url: str, person: Account, uploaded: Uploaded, comment: str) -> str:
    """Make the shell command that posts a comment as that person."""
    words = ["curl", "-fsS", "-o", "/dev/null", "--noproxy", "*", "-u", f"{person.user}:{person.password}"]
    words += ["-H", "Content-Type: application/json", "-d", json.dumps({"message": comment})]
    path = f"changes/{uploaded.change}/revisions/{uploaded.commit.revision}/review"
    return shlex.join([*words, f"{url}/a/{path}"])
