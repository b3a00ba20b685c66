"""Read the bugs of known failures from the tracker, and post there how often they stopped a change."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from service.domain.values.errors import Forbidden, Permanent, Transient
from service.domain.wording.overrides import bug_comment

if TYPE_CHECKING:
    from service.domain.review.links import Links
    from service.ports.failures.bugs import BugNotes, BugTracker

_BUGS: Final = 20  # at once; a slow tracker occupies a worker for some minutes at most
_LATER: Final = 3600.0  # seconds
# The next round begins in five minutes. It must ask again, or it would end the failure that pages show; but
# the bugs that are due come first.
_SOON: Final = 240.0


def read_bugs(tracker: BugTracker | None, notes: BugNotes) -> int:
    """Read the bugs that are due, and return the number of answers; 0 without a tracker.

    An unreadable bug keeps its last answer and stops no other one.

    Raises:
        Transient: the tracker does not answer, or rejects the account. The next round asks for the other
            bugs first.
    """
    if tracker is None:
        return 0
    answers = 0
    for bug in notes.due_bugs(_BUGS):
        try:
            found = tracker.look(bug)
        except (Forbidden, Permanent):
            notes.postpone_bug(bug, _LATER)
        except Transient:
            notes.postpone_bug(bug, _SOON)
            raise
        else:
            notes.note_bug(bug, found)
            answers += 1
    return answers


_COUNTS: Final = 10  # at once, each up to a minute; the next round posts the others


def post_counts(tracker: BugTracker, notes: BugNotes, links: Links) -> int:
    """Post some of the counts that are due, each once, and return how many are posted now.

    After a crash or a lost response, the next round tries again; the tracker's comments show then whether
    the count was posted. A bug that takes no comment stops no other one.

    Raises:
        Transient: the tracker does not answer, or takes no comment from this account.
        Permanent: the tracker rejects a comment.
    """
    posted = 0
    rejection: Forbidden | Permanent | None = None
    for count in notes.due_counts(_COUNTS):
        try:
            tracker.post_count(count.url, bug_comment(count.builds, links.known(count.known_id)))
        except (Forbidden, Permanent) as error:
            rejection = error
            continue
        notes.note_posted(count)
        posted += 1
    if rejection is not None:
        raise rejection
    return posted
