"""Where the pages are that messages link to."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from service.domain.identity import BuildName


class Links:
    """Where the pages of changes, runs and builds are, as messages link to them."""

    def __init__(self, base_url: str) -> None:
        self._base = base_url.rstrip("/")

    def run(self, run_id: int) -> str:
        """The page of a run."""
        return f"{self._base}/runs/{run_id}"

    def decision(self, run_id: int, number: int) -> str:
        """A decision on the page of its run: the mark by which a posted message is known as ours."""
        return f"{self.run(run_id)}#v{number}"

    def reply(self, change: int, comment_id: int) -> str:
        """What was said on a change, on its page: the mark of a reply."""
        return f"{self._base}/changes/{change}#m{comment_id}"

    def build(self, name: BuildName) -> str:
        """The page of a build."""
        return f"{self._base}/job/{name}/"
