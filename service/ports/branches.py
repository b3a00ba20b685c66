"""Branches, the runs on their merged commits, and their anchors, as steps read them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from service.domain.trunk.anchors import AnchorTries
from service.domain.trunk.spread import KnownStep, SlowerAnchor
from service.domain.trunk.undecided import UndecidedResult
from service.domain.verdict.calibration.schedule import BranchKey


class Branches(Protocol):
    """Branches of the review servers, and the runs on their merged commits."""

    def followed(self, instance: str) -> Sequence[tuple[str, str]]:
        """Return project and name of each branch that a run of the last 30 days checked or measured."""

    def measured(
        self, instance: str, project: str, branch: str, revisions: Collection[str]
    ) -> frozenset[str]:
        """Return those of these commits of a branch that have a run as merged commits, in any state."""

    def unfinished(self, instance: str, project: str, branch: str) -> int:
        """Count the runs on merged commits of a branch that have not ended."""

    def anchors(self, key: BranchKey) -> MeasuredAnchors:
        """Return the anchors of a branch in a pool."""

    def is_measuring(self, pool: str) -> bool:
        """Return whether a run for any machine of an idle pool has not ended there."""

    def undecided(self, key: BranchKey) -> Sequence[UndecidedResult]:
        """Return undecided results that look slower, of commits that were merged lately, in a pool.

        More pairs or their relinked programs may decide them. Those that are decided soonest come first, a
        hundred at most. Commits of private changes are left out, and those that had enough tries.
        """

    def slow_ranges(self, key: BranchKey) -> SlowRanges:
        """Return the slower results of a pool's recent anchors of a branch, and what may explain them."""


@dataclass(frozen=True, slots=True)
class SlowRanges:
    """Slower results of anchors, and the known steps of their series."""

    anchors: tuple[SlowerAnchor, ...] = ()
    known: tuple[KnownStep, ...] = ()


@dataclass(frozen=True, slots=True)
class MeasuredAnchors:
    """The anchors of a branch that a pool measured or tried to, by base and patch.

    ``since`` are the seconds since the last one began; None: there is none.
    """

    tries: Mapping[tuple[str, str], AnchorTries]
    since: float | None
