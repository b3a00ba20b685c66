"""Counts of builds that are posted on bugs."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from typing_extensions import override

from service.domain.review.links import Links
from service.domain.values.errors import Forbidden, Permanent, Refused, Transient
from service.ports.failures.bugs import Bug
from service.steps.failures.read_bugs import post_counts
from tests.support.failures.notes import DAY, MemoryBugNotes
from tests.support.failures.tracker import FakeBugTracker

LINKS = Links("https://ci.example.com")


def bug(key: str) -> Bug:
    return Bug(title="It hangs", state="Open", is_closed=False, url=f"https://bugs.example.com/browse/{key}")


@dataclass
class BrokenTracker(FakeBugTracker):
    """A tracker that raises an error for some bugs, before or after it added the comment."""

    faults: dict[str, Exception] = field(default_factory=dict)
    is_after: bool = False

    @override
    def post_count(self, bug: str, text: str) -> None:
        key = bug.rpartition("/")[2]
        if key in self.faults and not self.is_after:
            raise self.faults[key]
        super().post_count(bug, text)
        if key in self.faults:
            raise self.faults[key]


@pytest.fixture
def notes() -> MemoryBugNotes:
    """Two bugs; their known failures matched two builds and one."""
    made = MemoryBugNotes(bugs={"MB-1", "MB-2"}, matched={"MB-1": {1, 2}, "MB-2": {3}})
    for key in sorted(made.bugs):
        made.note_bug(key, bug(key))
    return made


@pytest.fixture
def tracker() -> BrokenTracker:
    return BrokenTracker(bugs={key: bug(key) for key in ("MB-1", "MB-2")})


def test_each_count_is_posted_once(notes: MemoryBugNotes, tracker: BrokenTracker) -> None:
    assert [post_counts(tracker, notes, LINKS) for _ in range(2)] == [2, 0]
    begin, end = "Benchgate: known failures of this bug matched", "until now."
    link = "https://ci.example.com/failures/1"
    assert tracker.comments == [
        ("MB-1", f"{begin} 2 failed builds {end}\n{link}"),
        ("MB-2", f"{begin} one failed build {end}\n{link}"),
    ]


def test_a_comment_is_not_repeated_after_a_lost_response(
    notes: MemoryBugNotes, tracker: BrokenTracker
) -> None:
    """The same as a process that is killed between the comment and the note about it."""
    tracker.faults, tracker.is_after = {"MB-1": Transient("lost")}, True
    with pytest.raises(Transient):
        post_counts(tracker, notes, LINKS)
    notes.matched["MB-1"].add(9)  # a new match must not make it another comment on the same day
    tracker.faults.clear()
    assert post_counts(tracker, notes, LINKS) == 2
    assert [key for key, _ in tracker.comments] == ["MB-1", "MB-2"]
    notes.now += DAY + 1
    for key in ("MB-1", "MB-2"):
        notes.note_bug(key, bug(key))
    assert post_counts(tracker, notes, LINKS) == 1
    assert "3 failed builds" in tracker.comments[-1][1]


@pytest.mark.parametrize("fault", [Forbidden("no"), Permanent("locked")])
def test_a_bug_that_takes_no_comment_stops_no_other_one_and_fails_each_round(
    notes: MemoryBugNotes, tracker: BrokenTracker, fault: Exception
) -> None:
    tracker.faults = {"MB-1": fault}
    for _ in range(2):
        with pytest.raises(type(fault)):
            post_counts(tracker, notes, LINKS)
    assert [key for key, _ in tracker.comments] == ["MB-2"]


@pytest.mark.parametrize("fault", [Transient("away"), Refused("the token expired")])
def test_an_unreachable_tracker_is_asked_once_a_round(
    notes: MemoryBugNotes, tracker: BrokenTracker, fault: Exception
) -> None:
    tracker.faults = {"MB-1": fault}
    with pytest.raises(type(fault)):
        post_counts(tracker, notes, LINKS)
    assert tracker.comments == []
