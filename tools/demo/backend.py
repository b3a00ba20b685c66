"""Where the stories are played: what differs between one review server and another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from service.wiring.control import Control
    from tools.demo.repository import Commit
    from tools.demo.scenario import Upload


@dataclass(frozen=True, slots=True)
class Uploaded:
    """An upload as the review server numbers it, which need not be as the story does."""

    change: int
    patch_set: int
    commit: Commit

    @property
    def name(self) -> str:
        """What to call it in a sentence."""
        change = f"change {self.change}"
        return change if self.patch_set == 1 else f"patch set {self.patch_set} of {change}"


class ReviewSite(Protocol):
    """A review server with the people of the stories."""

    def upload(self, upload: Upload) -> Uploaded:
        """Its author pushes it for review."""

    def merge(self, uploaded: Uploaded) -> None:
        """A reviewer submits it."""

    def news(self) -> Sequence[str]:
        """What the service has posted since the last call, oldest first.

        Each begins with ``Change N:`` and is harmless on a terminal.
        """

    def invitation(self, slower: Uploaded | None) -> Sequence[str]:
        """Lines that tell what a person can try now; ``slower`` is an open change with a −1."""


@dataclass(frozen=True, slots=True)
class Backend:
    """A review server that is there: its BENCHGATE_ variables for a site, and the stage once that runs."""

    settings: Mapping[str, str]
    stage: Callable[[Control], ReviewSite]
