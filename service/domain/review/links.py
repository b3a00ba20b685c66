"""Build the URLs of the pages that messages link to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from service.domain.values.identity import ChangeAddress

if TYPE_CHECKING:
    from service.domain.values.identity import BuildName, ChangeKey


class Links:
    """Builds URLs of pages.

    Args:
        base_url: where the pages are served.
        has_several: there are several review servers, so a change's number alone is ambiguous.
    """

    def __init__(self, base_url: str, *, has_several: bool = False) -> None:
        self._base = base_url.rstrip("/")
        self._has_several = has_several

    def change(self, key: ChangeKey) -> str:
        """Return the URL of a change's page."""
        address = ChangeAddress(key.number, key.instance if self._has_several else None)
        return f"{self._base}/changes/{address}"

    def override_form(self, key: ChangeKey, patch_set: int, known: str = "") -> str:
        """Return the URL of the override form; ``known`` preselects a job's failures to become known."""
        query = f"?known={known}" if known else ""
        return f"{self.change(key)}/{patch_set}{query}#actions"

    def run(self, run_id: int) -> str:
        """Return the URL of a run's page."""
        return f"{self._base}/runs/{run_id}"

    def decision(self, run_id: int, number: int) -> str:
        """Return the URL of a decision on its run's page; it also marks Benchgate's message about it."""
        return f"{self.run(run_id)}#v{number}"

    def reply(self, change: ChangeKey, comment_id: int) -> str:
        """Return the URL of a comment on its change's page; it also marks Benchgate's reply to it."""
        return f"{self.change(change)}#m{comment_id}"

    def known(self, known_id: int) -> str:
        """Return the URL of a known failure's page."""
        return f"{self._base}/failures/{known_id}"

    @property
    def trends(self) -> str:
        """The URL of the page of trends."""
        return f"{self._base}/trends"

    @property
    def regressions(self) -> str:
        """The URL of the lists of regressions."""
        return f"{self._base}/regressions"

    def regression(self, regression_id: int) -> str:
        """Return the URL of a regression's page."""
        return f"{self.regressions}/{regression_id}"

    def build(self, name: BuildName) -> str:
        """Return the URL of a build's page."""
        return f"{self._base}/job/{name}/"
