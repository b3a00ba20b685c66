"""Remember for how long other CIs report revisions that Benchgate does not know."""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

    from service.domain.runs.external import ReportedRevision

UNSEEN_SECONDS: Final = 900.0  # Gerrit may be out for a while; senders do not repeat what gets 404
_FORGOTTEN_SECONDS: Final = 600.0  # after the last report: then Gerrit may have it
_MOST: Final = 1000


class UnseenRevisions:
    """Revisions without a run, which Benchgate may be about to see, or Gerrit does not have."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._lock = Lock()
        self._reported: OrderedDict[ReportedRevision, tuple[float, float]] = OrderedDict()

    def is_overdue(self, target: ReportedRevision) -> bool:
        """Note a report of an unknown revision; return whether it has been unknown for too long."""
        now = self._clock()
        with self._lock:
            first, last = self._reported.pop(target, (now, now))
            if now - last > _FORGOTTEN_SECONDS:
                first = now
            self._reported[target] = first, now
            if len(self._reported) > _MOST:
                self._reported.popitem(last=False)
        return now - first >= UNSEEN_SECONDS
