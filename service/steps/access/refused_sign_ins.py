"""The record of refused sign-ins in the audit log, a few in a minute, because nothing removes an entry."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Final

from service.domain.access.audit import AuditKind

if TYPE_CHECKING:
    from collections.abc import Callable

    from service.ports.store import Store

_MOST: Final = 10  # in a minute: enough to see an attack, and who is its target
_WINDOW_SECONDS: Final = 60.0


class RefusedSignIns:
    """The recorder of one process.

    Args:
        store: keeps the audit log.
        clock: counts seconds.
    """

    def __init__(self, store: Store, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._store = store
        self._clock = clock
        self._lock = threading.Lock()
        self._begun_at = float("-inf")
        self._recorded = 0
        self._omitted = 0

    def record(self, person: str, address: str, reason: str) -> None:
        """Record a refusal, or count it for the next entry.

        Args:
            person: the subject at the identity provider; empty if it is not known.
            address: of the browser.
            reason: the sentence that the person read.
        """
        with self._lock:
            if self._clock() - self._begun_at >= _WINDOW_SECONDS:
                self._begun_at, self._recorded = self._clock(), 0
            if self._recorded == _MOST:
                self._omitted += 1
                return
            self._recorded += 1
            omitted, self._omitted = self._omitted, 0
        details = {"reason": reason, **({"refused before, not recorded": str(omitted)} if omitted else {})}
        with self._store.transaction() as tx:
            tx.record_act(AuditKind.SIGN_IN_REFUSED, person, address, details)
