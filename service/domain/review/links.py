"""The addresses of the pages that messages link to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from service.domain.values.identity import ChangeAddress

if TYPE_CHECKING:
    from service.domain.values.identity import BuildName, ChangeKey


class Links:
    """The addresses of the pages of changes, runs, builds and known failures.

    Args:
        base_url: address of the pages.
        has_several: Benchgate serves several review servers, which may have equal numbers of changes.
    """

    def __init__(self, base_url: str, *, has_several: bool = False) -> None:
        self._base = base_url.rstrip("/")
        self._has_several = has_several

    def change(self, key: ChangeKey) -> str:
        """Make the address of a change's page."""
        address = ChangeAddress(key.number, key.instance if self._has_several else None)
        return f"{self._base}/changes/{address}"

    def override_form(self, key: ChangeKey, patch_set: int, known: str = "") -> str:
        """Make the address of the form that overrides; ``known`` is the job whose failures become known."""
        query = f"?known={known}" if known else ""
        return f"{self.change(key)}/{patch_set}{query}#actions"

    def run(self, run_id: int) -> str:
        """Make the address of a run's page."""
        return f"{self._base}/runs/{run_id}"

    def decision(self, run_id: int, number: int) -> str:
        """Make the address of a decision on its run's page; it also marks Benchgate's message about it."""
        return f"{self.run(run_id)}#v{number}"

    def reply(self, change: ChangeKey, comment_id: int) -> str:
        """Make the address of a comment on its change's page; it also marks Benchgate's reply to it."""
        return f"{self.change(change)}#m{comment_id}"

    def known(self, known_id: int) -> str:
        """Make the address of a known failure's page."""
        return f"{self._base}/failures/{known_id}"

    def build(self, name: BuildName) -> str:
        """Make the address of a build's page."""
        return f"{self._base}/job/{name}/"
