"""Reading the bugs of known failures."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from typing_extensions import override

from service.domain.values.errors import Forbidden, Permanent, Refused, Transient
from service.ports.failures.bugs import Bug
from service.steps.failures.read_bugs import read_bugs
from tests.support.failures.notes import HOUR, MemoryBugNotes
from tests.support.failures.tracker import FakeBugTracker

ROUND = 300.0  # seconds between the rounds of the schedule
OPEN = Bug(title="It hangs", state="Open", is_closed=False, url="https://bugs.example.com/browse/MB-1")


@dataclass
class BrokenTracker(FakeBugTracker):
    """A tracker that raises an error for some bugs."""

    faults: dict[str, Exception] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    @override
    def look(self, bug: str) -> Bug | None:
        self.asked.append(bug)
        if bug in self.faults:
            raise self.faults[bug]
        return super().look(bug)


def test_the_answers_are_stored() -> None:
    notes = MemoryBugNotes(bugs={"MB-1", "MB-2"})
    assert read_bugs(FakeBugTracker(bugs={"MB-1": OPEN}), notes) == 2
    assert (notes.noted_bug("MB-1"), notes.noted_bug("MB-2")) == (OPEN, None)
    assert notes.due_bugs(9) == []


def test_without_a_tracker_nothing_is_read() -> None:
    notes = MemoryBugNotes(bugs={"MB-1"})
    assert read_bugs(None, notes) == 0
    assert notes.due_bugs(9) == ["MB-1"]


@pytest.mark.parametrize("fault", [Forbidden("no"), Permanent("no title")])
def test_a_bug_that_cannot_be_read_keeps_its_answer_and_stops_no_other(fault: Exception) -> None:
    notes = MemoryBugNotes(bugs={"MB-1", "MB-2"})
    notes.note_bug("MB-1", OPEN)
    notes.now += HOUR + 1
    tracker = BrokenTracker(bugs={"MB-2": OPEN}, faults={"MB-1": fault})
    assert read_bugs(tracker, notes) == 1
    assert (notes.noted_bug("MB-1"), notes.noted_bug("MB-2")) == (OPEN, OPEN)
    assert notes.due_bugs(9) == []


@pytest.mark.parametrize("fault", [Transient("away"), Refused("the token expired")])
def test_an_unreachable_tracker_is_asked_once_a_round_about_another_bug_each(fault: Exception) -> None:
    notes = MemoryBugNotes(bugs={"MB-1", "MB-2"})
    tracker = BrokenTracker(bugs={"MB-2": OPEN}, faults={"MB-1": fault})
    with pytest.raises(type(fault)):
        read_bugs(tracker, notes)
    assert tracker.asked == ["MB-1"]
    assert read_bugs(tracker, notes) == 1
    assert tracker.asked == ["MB-1", "MB-2"]


def test_each_round_fails_until_the_only_bug_can_be_read() -> None:
    """A round that asks nothing would end the failure that pages show."""
    notes = MemoryBugNotes(bugs={"MB-1"})
    tracker = BrokenTracker(bugs={"MB-1": OPEN}, faults={"MB-1": Transient("away")})
    for _ in range(3):
        with pytest.raises(Transient):
            read_bugs(tracker, notes)
        notes.now += ROUND
    tracker.faults.clear()
    assert read_bugs(tracker, notes) == 1
