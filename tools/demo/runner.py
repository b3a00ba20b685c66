"""Run the scenarios: upload and merge changes, and wait for Benchgate's votes."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

import click

from service.domain.values.errors import Permanent
from service.domain.values.identity import ChangeAddress, ChangeKey, RunKind
from tools.demo.scenario import AGAIN

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Iterable, Sequence

    from service.ports.reading import Reading
    from service.ports.review.server import ReviewServer
    from tools.demo.backend import ReviewSite, Uploaded
    from tools.demo.scenario import Upload

_PATIENCE: Final = 20 * 60.0  # seconds for one vote; two minutes on two idle cores


class Runner:
    """A run of the demo.

    Args:
        site: the review site.
        server: Benchgate's adapter for the review server.
        reading: Benchgate's stored results.
        run: keeps Benchgate running until a condition is true.
        stop: set when the user ends the demo.
        report: shows a line to the user.
    """

    def __init__(
        self,
        site: ReviewSite,
        server: ReviewServer,
        reading: Reading,
        run: Callable[[Callable[[], bool]], None],
        stop: threading.Event,
        report: Callable[[str], None],
    ) -> None:
        self._site = site
        self._server = server
        self._reading = reading
        self._run = run
        self._stop = stop
        self._report = report

    def votes_on(self, uploads: Iterable[Upload]) -> list[tuple[Uploaded, int | None]]:
        """Upload the changes in order, and return each with its vote.

        Raises:
            Permanent: a vote or a measurement did not come in time.
        """
        voted: list[tuple[Uploaded, int | None]] = []
        merged: Uploaded | None = None
        for upload in uploads:
            if self._stop.is_set():
                return voted
            uploaded = self._upload(upload)
            vote = self._wait_for_vote(uploaded)
            voted.append((uploaded, vote))
            # Gerrit may require a +1 for a merge.
            if upload.is_merged and vote == 1 and not self._stop.is_set():
                self._site.merge(uploaded)
                self._report(f"{uploaded.name} is merged; Benchgate measures its branch for the trend")
                merged = uploaded
        if merged is not None:
            change = merged.change
            self._wait(lambda: self._is_branch_measured(change), "measurement of the branch")
        return voted

    def watch(self, failing: Uploaded | None = None) -> None:
        """Show Benchgate's messages until the user ends the demo.

        As soon as somebody turned the −1 of ``failing``, upload a change in which the same test fails.
        """
        followed = [failing] if failing else []

        def is_over() -> bool:
            news = self._show_news()
            if any(_is_about(each, news) and self._vote(each) == 1 for each in followed):
                followed.clear()
                self._upload(AGAIN)
            return self._stop.is_set()

        self._run(is_over)

    def _upload(self, upload: Upload) -> Uploaded:
        uploaded = self._site.upload(upload)
        self._report(f"{uploaded.name} is uploaded: {upload.text.splitlines()[0]}")
        return uploaded

    def _wait_for_vote(self, uploaded: Uploaded) -> int | None:
        self._wait(lambda: _is_about(uploaded, self._show_news()), f"vote on {uploaded.name}")
        return self._vote(uploaded)

    def _vote(self, uploaded: Uploaded) -> int | None:
        change = self._server.change(ChangeKey(self._server.instance, uploaded.change))
        votes = (by_account.get(self._server.account) for by_account in change.votes.values())
        return next((vote for vote in votes if vote is not None), None)

    def _show_news(self) -> Sequence[str]:
        news = self._site.news()
        for text in news:
            click.echo(text)
            click.echo()
        return news

    def _is_branch_measured(self, change: int) -> bool:
        runs = self._reading.patch_set(ChangeAddress(change), 1).runs
        return any(run.kind == RunKind.POST_SUBMIT and run.finished_at is not None for run in runs)

    def _wait(self, is_there: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + _PATIENCE
        self._run(lambda: self._stop.is_set() or is_there() or time.monotonic() > deadline)
        if time.monotonic() > deadline:
            raise Permanent(f"no {what} within {_PATIENCE / 60:.0f} minutes; see the logs below --home")


def _is_about(uploaded: Uploaded, news: Sequence[str]) -> bool:
    return any(text.startswith(f"Change {uploaded.change}:") for text in news)
