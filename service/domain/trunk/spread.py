"""Find slow-downs that are spread over several commits.

A commit that is 0.2 % slower is the same as its parent to every rule; twenty of them are not. An anchor
compares distant commits that were chosen without a look at results. Its slow-down is news as far as no single
commit between them explains it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

WITHIN_DAYS: Final = 30
AGAIN: Final = 5  # runs that measure an anchor again, including those that ended early
LEAST: Final = 0.02  # ln(slow-down): the default of vote_at
FLOOR: Final = 0.01  # what the lower end of its interval must exceed


@dataclass(frozen=True, slots=True)
class SlowerAnchor:
    """A slower result of an anchor; ``begin`` and ``end`` are the first runs on its merged commits.

    Their numbers have the order in which Benchgate learned of the commits. ``worsening`` is the natural
    logarithm of the slow-down, and ``low`` the lower end of its interval. ``tries`` runs measured it again.
    """

    run_id: int
    build_id: int
    series_id: int
    worsening: float
    low: float
    begin: int
    end: int
    tries: int = 0


@dataclass(frozen=True, slots=True)
class KnownStep:
    """A slow-down or speed-up of a listed range of commits, or of one commit: ``begin`` is ``end`` then."""

    series_id: int
    worsening: float
    begin: int
    end: int

    def is_inside(self, anchor: SlowerAnchor) -> bool:
        """Return whether the anchor's later commit has the step, and its earlier one does not."""
        is_later = anchor.begin < self.begin if self.begin == self.end else anchor.begin <= self.begin
        return is_later and self.end <= anchor.end

    def contains(self, other: KnownStep) -> bool:
        """Return whether the change of a listed range already has the other step."""
        if self.begin == self.end or self == other:
            return False
        is_later = self.begin < other.begin if other.begin == other.end else self.begin <= other.begin
        return is_later and other.end <= self.end

    def overlaps(self, anchor: SlowerAnchor) -> bool:
        """Return whether the step has commits of the anchor's range, perhaps beside others."""
        return self.begin < anchor.end and self.end > anchor.begin


def unexplained(anchors: Iterable[SlowerAnchor], known: Iterable[KnownStep]) -> Sequence[SlowerAnchor]:
    """Return the anchors whose slow-down no known step explains, the shortest ranges first.

    A range that shares commits with a listed one, and does not contain it, is left out.
    """
    steps = list(known)
    found = []
    for anchor in anchors:
        own = [each for each in steps if each.series_id == anchor.series_id]
        inside = [each for each in own if each.is_inside(anchor)]
        if any(each.overlaps(anchor) for each in own if each not in inside):
            continue
        outermost = (each for each in inside if not any(other.contains(each) for other in inside))
        explained = sum(each.worsening for each in outermost)
        if anchor.worsening - explained >= LEAST and anchor.low - explained >= FLOOR:
            found.append(anchor)
    return sorted(found, key=lambda each: (each.end - each.begin, each.run_id, each.series_id))
