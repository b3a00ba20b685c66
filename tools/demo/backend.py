"""Interface between the demo and its review server: the console's, or a real Gerrit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from service.cli.services.child_processes import Site
    from service.wiring.control import Control
    from tools.demo.history.recording import Recording
    from tools.demo.repository import Commit
    from tools.demo.scenario import Upload


@dataclass(frozen=True, slots=True)
class Uploaded:
    """An upload with the review server's numbers, which may differ from those in the scenario."""

    change: int
    patch_set: int
    commit: Commit

    @property
    def name(self) -> str:
        """The upload's name in a sentence."""
        change = f"change {self.change}"
        return change if self.patch_set == 1 else f"patch set {self.patch_set} of {change}"


class ReviewSite(Protocol):
    """A review server with the people of the scenarios."""

    def upload(self, upload: Upload) -> Uploaded:
        """Push an upload for review, as its author."""

    def merge(self, uploaded: Uploaded) -> None:
        """Submit an upload, as a reviewer."""

    def news(self) -> Sequence[str]:
        """Return the messages that Benchgate posted since the last call, oldest first.

        Each begins with ``Change N:`` and has no control characters.
        """

    def how_to_answer(self, failing: Uploaded | None, slower: Uploaded | None) -> Sequence[str]:
        """Show how to answer the −1 for a test, or else for slower benchmarks; no lines without a −1."""


@dataclass(frozen=True, slots=True)
class Backend:
    """A running review server.

    ``settings`` are its BENCHGATE_ variables, and ``connect`` connects it to a running site with its control
    plane. ``load``, if not
    None, loads the recorded history into a site before its parts run, and returns the recording.
    """

    settings: Mapping[str, str]
    connect: Callable[[Control, Site], ReviewSite]
    load: Callable[[Control, Site], Recording] | None = None
