"""Run the demo on the console review server: each action feeds the event that it would cause on Gerrit."""

from __future__ import annotations

import time
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import quote, urlencode

from service.adapters.access.sign_in_secret import read_secret
from service.cli.operating.replay import feed
from service.domain.review.links import Links
from service.domain.values.identity import ChangeKey
from tools.demo.backend import Backend, Uploaded
from tools.demo.events import change_merged, patchset_created
from tools.demo.history.load import dated, load_history
from tools.demo.history.recording import read_recording
from tools.demo.news import News
from tools.demo.repository import DemoRepository
from tools.demo.scenario import TESTS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from service.cli.services.child_processes import Site
    from service.wiring.control import Control
    from tools.demo.history.recording import Recording
    from tools.demo.scenario import Upload


@contextmanager
def on_console(home: Path, native: Path) -> Iterator[Backend]:
    """Prepare the console review server, with ``native`` and the history that led to it in its repository."""
    path = home.absolute() / "repository"
    repository = DemoRepository(path)
    history = tuple(dated(datetime.now(UTC)))
    commits = repository.create(native, history=history)

    def load(plane: Control, site: Site) -> Recording:
        recording = read_recording()
        merged = [(commit, moment) for commit, (_, moment) in zip(commits, history, strict=True)]
        load_history(plane, site, merged, recording)
        repository.end_history()
        return recording

    yield Backend(console_settings(path), partial(ConsoleSite, repository), load)


def console_settings(repository: Path) -> Mapping[str, str]:
    """Return the variables for the console review server with one repository."""
    return {
        "BENCHGATE_GIT_URL": str(repository),
        "BENCHGATE_GIT_URLS": "{}",
        # The user may have configured Gerrits of their own; a demo must not post there.
        "BENCHGATE_GERRITS": "{}",
        "BENCHGATE_GERRIT_URL": "",
        "BENCHGATE_GERRIT_SSH_HOST": "",
    }


class ConsoleSite:
    """The console review server; its changes have the numbers of the scenarios."""

    def __init__(self, repository: DemoRepository, plane: Control, site: Site) -> None:
        self._repository = repository
        self._plane = plane
        self._site = site
        self._news = News(plane.server)

    def upload(self, upload: Upload) -> Uploaded:
        """Commit the upload, and feed the event of a push."""
        commit = self._repository.propose(upload)
        instance = self._plane.server.instance
        feed(self._plane, instance, patchset_created(commit, int(time.time())))
        self._news.follow(ChangeKey(instance, upload.change))
        return Uploaded(upload.change, upload.patch_set, commit)

    def merge(self, uploaded: Uploaded) -> None:
        """Move the branch, and feed the event of a submit."""
        self._repository.merge(uploaded.commit)
        feed(self._plane, self._plane.server.instance, change_merged(uploaded.commit, int(time.time())))

    def news(self) -> Sequence[str]:
        """Return the messages since the last call."""
        return self._news.fresh()

    def how_to_answer(self, failing: Uploaded | None, slower: Uploaded | None) -> Sequence[str]:
        """Link to the form of the change; the link also signs in."""
        if failing:
            what = f"make the failure of {failing.name} known, by a bug such as DEMO-1 and a reason"
            form = _form(failing, TESTS)
        elif slower:
            what = f"override the −1 of {slower.name}, or accept its slower benchmarks"
            form = _form(slower)
        else:
            return []
        query = urlencode({"secret": read_secret(self._site.home), "return": form}, quote_via=quote)
        return [f"- {what}: {self._site.base_url}/sign-in?{query}"]


def _form(uploaded: Uploaded, known: str = "") -> str:
    return Links("").override_form(ChangeKey("demo", uploaded.change), uploaded.patch_set, known)
