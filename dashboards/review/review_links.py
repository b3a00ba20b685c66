"""The addresses of the review server's pages."""

from __future__ import annotations

from urllib.parse import quote


class ReviewLinks:
    """The addresses of changes and commits on the review server.

    Args:
        base_url: the server's address; without one, as for the console, all addresses are empty.
    """

    def __init__(self, base_url: str) -> None:
        self._base = base_url.rstrip("/")

    def patch_set(self, project: str, change: int, patch_set: int | None) -> str:
        """Make the address of a patch set of a change; of the whole change if it is None."""
        number = str(change) if patch_set is None else f"{change}/{patch_set}"
        return f"{self._base}/c/{quote(project)}/+/{number}" if self._base else ""

    def commit(self, revision: str) -> str:
        """Make the address that leads to the change of a commit."""
        return f"{self._base}/q/{quote(revision, safe='')}" if self._base else ""
