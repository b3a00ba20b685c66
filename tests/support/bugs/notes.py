"""Answers of a bug tracker in memory."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from typing_extensions import override

from service.ports.failures.bugs import BugNotes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from service.ports.failures.bugs import Bug

HOUR: Final = 3600.0
WEEK: Final = 7 * 24 * HOUR


@dataclass
class MemoryBugNotes(BugNotes):
    """``bugs`` are those of confirmed known failures."""

    now: float = 0.0
    bugs: set[str] = field(default_factory=set)
    asked: dict[str, float] = field(default_factory=dict)
    noted: dict[str, tuple[float, Bug | None]] = field(default_factory=dict)

    @override
    def due_bugs(self, most: int) -> Sequence[str]:
        due = [bug for bug in self.bugs if bug not in self.asked or self.asked[bug] < self.now - HOUR]
        return sorted(due, key=lambda bug: (self.asked.get(bug, float("-inf")), bug))[:most]

    @override
    def note_bug(self, bug: str, found: Bug | None) -> None:
        self.asked[bug], self.noted[bug] = self.now, (self.now, found)

    @override
    def postpone_bug(self, bug: str) -> None:
        self.asked[bug] = self.now

    @override
    def noted_bug(self, bug: str) -> Bug | None:
        at, found = self.noted.get(bug, (self.now, None))
        return found if at > self.now - WEEK else None
