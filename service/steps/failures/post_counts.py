"""The counts of builds that the known failures of a bug matched, posted as comments on the bug."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from service.domain.values.errors import Forbidden, Permanent
from service.domain.wording.overrides import bug_comment

if TYPE_CHECKING:
    from service.domain.review.links import Links
    from service.ports.failures.bugs import BugNotes, BugTracker

_COUNTS: Final = 10  # at once, each up to a minute; the next round posts the others


def post_counts(tracker: BugTracker, notes: BugNotes, links: Links) -> int:
    """Post some of the counts that are due, each once, and return how many are posted now.

    A crash, or a lost response, leaves a count that the next round posts; the tracker's comments show then
    that it was posted already. A bug that takes no comment stops no other one.

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
