"""Answers of a bug tracker, and counts posted there, in memory."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from typing_extensions import override

from service.ports.failures.bugs import BugCount, BugNotes

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from service.ports.failures.bugs import Bug

HOUR: Final = 3600.0
DAY: Final = 24 * HOUR
WEEK: Final = 7 * DAY


@dataclass
class MemoryBugNotes(BugNotes):
    """``bugs`` are those of confirmed known failures, and ``matched`` are the builds of each."""

    now: float = 0.0
    bugs: set[str] = field(default_factory=set)
    matched: dict[str, set[int]] = field(default_factory=dict)
    asked: dict[str, float] = field(default_factory=dict)
    noted: dict[str, tuple[float, Bug | None]] = field(default_factory=dict)
    counts: dict[str, tuple[int, float | None]] = field(default_factory=dict)

    @override
    def due_bugs(self, most: int) -> Sequence[str]:
        due = [bug for bug in self.bugs if bug not in self.asked or self.asked[bug] < self.now - HOUR]
        return sorted(due, key=lambda bug: (self.asked.get(bug, float("-inf")), bug))[:most]

    @override
    def note_bug(self, bug: str, found: Bug | None) -> None:
        self.asked[bug], self.noted[bug] = self.now, (self.now, found)

    @override
    def postpone_bug(self, bug: str, seconds: float) -> None:
        self.asked[bug] = self.now - HOUR + seconds

    @override
    def due_counts(self, most: int) -> Sequence[BugCount]:
        builds: dict[str, set[int]] = {}
        for bug, url in self._addresses():
            if self.matched.get(bug):
                builds.setdefault(url, set()).update(self.matched[bug])
        for url, found in builds.items():
            stored, posted_at = self.counts.get(url, (0, 0.0))
            is_new = url not in self.counts
            if is_new or (posted_at is not None and posted_at < self.now - DAY and stored != len(found)):
                self.counts[url] = len(found), None
        return [
            BugCount(url=url, builds=self.counts[url][0], known_id=1)
            for url in builds
            if self.counts[url][1] is None
        ][:most]

    @override
    def note_posted(self, count: BugCount) -> None:
        if self.counts[count.url] == (count.builds, None):
            self.counts[count.url] = count.builds, self.now

    def noted_bug(self, bug: str) -> Bug | None:
        """Return a bug as the tracker described it within the last week."""
        at, found = self.noted.get(bug, (self.now, None))
        return found if at > self.now - WEEK else None

    def _addresses(self) -> Iterable[tuple[str, str]]:
        for bug, (at, found) in self.noted.items():
            if found is not None and at > self.now - DAY:
                yield bug, found.url
