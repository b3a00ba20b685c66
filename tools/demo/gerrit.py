"""The stories on a real Gerrit: people push and submit, and the service hears of it as it would anywhere."""

from __future__ import annotations

import json
import shlex
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from service.adapters.console.rendering import shown
from service.adapters.gerrit.connection import Connection, Password
from service.adapters.gerrit.reading import number_in
from service.domain.errors import Permanent, Transient
from service.domain.identity import ChangeKey
from tools.demo.backend import Backend, Uploaded
from tools.demo.gerrit_server import REVIEWERS, running_gerrit
from tools.demo.repository import BRANCH, PROJECT, DemoRepository
from tools.demo.scenario import Author, change_id

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    import httpx

    from service.domain.gerrit.change import Change, PostedMessage
    from service.ports.reviewing import ReviewServer
    from tools.demo.gerrit_server import Account, GerritServer
    from tools.demo.scenario import Upload

PUSHED_TO: Final = f"refs/for/{BRANCH}"
OVERRIDE: Final = "override DEMO-1 known"
_LOOK_SECONDS: Final = 2.0  # between two looks at the messages: what is measured meanwhile is not to notice


@contextmanager
def on_gerrit(home: Path, native: Path) -> Iterator[Backend]:
    """A Gerrit of its own, whose project begins with ``native`` and lets its reviewers override.

    Raises:
        Unfit: it cannot be started; says why.
    """
    path = home.absolute() / "repository"
    repository = DemoRepository(path)
    repository.create(native, REVIEWERS)
    with running_gerrit(home.absolute() / "gerrit", path) as server:
        yield Backend(server.settings, lambda plane: GerritSite(repository, server, plane.server))


class GerritSite:
    """Alice uploads for all authors, bob reviews; changes have the numbers that Gerrit gives them.

    Args:
        repository: its branch is the project's.
        server: the Gerrit.
        review: the same, as the service sees it.
        transport: what carries bob's requests, in place of the network.
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
        self._bob = Connection(server.url, bob, transport=transport)
        self._changes: set[ChangeKey] = set()
        self._seen: set[str] = set()
        self._next_look = 0.0

    def upload(self, upload: Upload) -> Uploaded:
        """Push it for review."""
        alice = self._server.alice
        commit = self._repository.propose(upload, Author(alice.name, alice.email))
        self._repository.push(commit, self._server.git_url(alice), PUSHED_TO)
        number = number_in(self._bob.get(f"changes/{triplet(upload)}"))
        if number is None:
            raise Permanent(f"Gerrit shows no number of {change_id(upload.change)}")
        key = ChangeKey(self._review.instance, number)
        self._changes.add(key)
        return Uploaded(number, self._review.change(key).current.number, commit)

    def merge(self, uploaded: Uploaded) -> None:
        """Bob reviews the code and submits; the commit stays the same, since it is on the branch's tip."""
        path = f"changes/{uploaded.change}"
        review = f"{path}/revisions/{uploaded.commit.revision}/review"
        self._bob.post(review, {"labels": {"Code-Review": 2}})
        self._bob.post(f"{path}/submit", {})
        self._repository.merge(uploaded.commit)

    def news(self) -> Sequence[str]:
        """What the service has posted since the last look; nothing if that was a moment ago."""
        now = time.monotonic()
        if now < self._next_look:
            return []
        self._next_look = now + _LOOK_SECONDS
        with suppress(Transient):  # the next look makes up for it
            return self._fresh()
        return []

    def invitation(self, slower: Uploaded | None) -> Sequence[str]:
        """Where the server is, and how to be bob."""
        url = self._server.url
        lines = [f"Gerrit is at {url} (REST, git and SSH; its pages are not part of it)"]
        if slower is not None:
            bob = self._server.bob
            lines += [
                f"{bob.name} may override the −1 on {slower.name}; this says it in his name:",
                overriding(url, bob, slower),
            ]
        return lines

    def _fresh(self) -> list[str]:
        found = [(key, message) for key in self._changes for message in self._posted_on(key)]
        found.sort(key=lambda each: each[1].written)
        told = [rendered(self._review.change(key), message) for key, message in found]
        self._seen.update(message.id for _, message in found)
        return told

    def _posted_on(self, key: ChangeKey) -> list[PostedMessage]:
        messages = self._review.messages(key)
        account = self._review.account
        return [each for each in messages if each.author.account == account and each.id not in self._seen]


def triplet(upload: Upload) -> str:
    """How REST names a change whose number is not known yet."""
    return "~".join(quote(part, safe="") for part in (PROJECT, BRANCH, change_id(upload.change)))


def overriding(url: str, person: Account, uploaded: Uploaded) -> str:
    """The line for a shell that posts the override as that person."""
    words = ["curl", "-fsS", "-o", "/dev/null", "--noproxy", "*", "-u", f"{person.user}:{person.password}"]
    words += ["-H", "Content-Type: application/json", "-d", json.dumps({"message": OVERRIDE})]
    path = f"changes/{uploaded.change}/revisions/{uploaded.commit.revision}/review"
    return shlex.join([*words, f"{url}/a/{path}"])


def rendered(change: Change, message: PostedMessage) -> str:
    """A message as the console review server shows it."""
    place = (change.key.number, change.subject, change.project, change.branch)
    return shown(*place, message.author.shown, message.written, message.text)
