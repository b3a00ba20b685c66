"""The addresses of the pages that messages link to."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from service.domain.identity import BuildName


class Links:
    """The addresses of the pages of changes, runs and builds."""

    def __init__(self, base_url: str) -> None:
        self._base = base_url.rstrip("/")

    def run(self, run_id: int) -> str:
        """Make the address of a run's page."""
        return f"{self._base}/runs/{run_id}"

    def decision(self, run_id: int, number: int) -> str:
        """Make the address of a decision on its run's page; it also marks Benchgate's message about it."""
        return f"{self.run(run_id)}#v{number}"

    def reply(self, change: int, comment_id: int) -> str:
        """Make the address of a comment on its change's page; it also marks Benchgate's reply to it."""
        return f"{self._base}/changes/{change}#m{comment_id}"

    def build(self, name: BuildName) -> str:
        """Make the address of a build's page."""
        return f"{self._base}/job/{name}/"
