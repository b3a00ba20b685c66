"""Plays the stories on a stage: people upload and merge, and wait for what the service says to it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

import click

from service.domain.errors import Permanent
from service.domain.identity import ChangeKey, RunKind

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Iterable, Sequence

    from service.ports.reading import Reading
    from service.ports.reviewing import ReviewServer
    from tools.demo.backend import ReviewSite, Uploaded
    from tools.demo.scenario import Upload

_PATIENCE: Final = 20 * 60.0  # seconds for one vote; two minutes on two idle cores


class Runner:
    """One performance.

    Args:
        stage: where it is.
        server: the review server, as the service sees it.
        reading: what the service has stored.
        run: keeps the service going until something holds.
        stop: set when the person ends it.
        say: tells the person what happens.
    """

    def __init__(
        self,
        stage: ReviewSite,
        server: ReviewServer,
        reading: Reading,
        run: Callable[[Callable[[], bool]], None],
        stop: threading.Event,
        say: Callable[[str], None],
    ) -> None:
        self._stage = stage
        self._server = server
        self._reading = reading
        self._run = run
        self._stop = stop
        self._say = say

    def votes_on(self, uploads: Iterable[Upload]) -> list[tuple[Uploaded, int | None]]:
        """What was uploaded, in order, each with the vote that it got.

        Raises:
            Permanent: something did not come in time.
        """
        voted: list[tuple[Uploaded, int | None]] = []
        merged: Uploaded | None = None
        for upload in uploads:
            if self._stop.is_set():
                return voted
            uploaded = self._stage.upload(upload)
            vote = self._vote_on(uploaded)
            voted.append((uploaded, vote))
            # What has no +1 cannot be merged, on a Gerrit that is set up so.
            if upload.is_merged and vote == 1 and not self._stop.is_set():
                self._stage.merge(uploaded)
                self._say(f"{uploaded.name} is merged; its branch is measured, for the trend")
                merged = uploaded
        if merged is not None:
            change = merged.change
            self._wait(lambda: self._is_branch_measured(change), "the branch's measurement")
        return voted

    def watch(self) -> None:
        """Show what the service says until the person ends it."""

        def is_over() -> bool:
            self._show_news()
            return self._stop.is_set()

        self._run(is_over)

    def _vote_on(self, uploaded: Uploaded) -> int | None:
        self._say(f"{uploaded.name} is uploaded: {uploaded.commit.upload.text.splitlines()[0]}")
        opening = f"Change {uploaded.change}:"
        self._wait(
            lambda: any(text.startswith(opening) for text in self._show_news()),
            f"the vote on {uploaded.name}",
        )
        change = self._server.change(ChangeKey(self._server.instance, uploaded.change))
        found = (by_account.get(self._server.account) for by_account in change.votes.values())
        return next((vote for vote in found if vote is not None), None)

    def _show_news(self) -> Sequence[str]:
        news = self._stage.news()
        for text in news:
            click.echo(text)
            click.echo()
        return news

    def _is_branch_measured(self, change: int) -> bool:
        runs = self._reading.patch_set(change, 1).runs
        return any(run.kind == RunKind.POST_SUBMIT and run.finished_at is not None for run in runs)

    def _wait(self, is_there: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + _PATIENCE
        self._run(lambda: self._stop.is_set() or is_there() or time.monotonic() > deadline)
        if time.monotonic() > deadline:
            raise Permanent(f"{what} did not come in {_PATIENCE / 60:.0f} minutes; see the logs below --home")
