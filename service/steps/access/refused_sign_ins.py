"""Record refused sign-ins in the audit log, rate-limited because nothing removes an entry."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from service.domain.access.audit import AuditKind

if TYPE_CHECKING:
    from collections.abc import Callable

    from service.ports.store import Store

_MOST: Final = 10  # in a minute: enough to see an attack and its target
_WINDOW_SECONDS: Final = 60.0


@dataclass(slots=True)
class _Minute:
    """The refusals of a minute."""

    begun_at: float = float("-inf")
    recorded: int = 0
    omitted: int = 0


class RefusedSignIns:
    """Record the refusals of one process; people whom the provider named have their own limit.

    Anybody can make the provider refuse a guessed code; this must not keep the others out of the log.

    Args:
        store: keeps the audit log.
        clock: counts seconds.
    """

    def __init__(self, store: Store, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._store = store
        self._clock = clock
        self._lock = threading.Lock()
        self._minutes = {is_known: _Minute() for is_known in (True, False)}

    def record(self, person: str, address: str, reason: str) -> None:
        """Record a refusal, or count it for the next entry.

        ``person`` is the subject at the identity provider, empty if it is not known; ``address`` is the
        browser's; ``reason`` is the sentence that the person read.
        """
        with self._lock:
            minute = self._minutes[bool(person)]
            if self._clock() - minute.begun_at >= _WINDOW_SECONDS:
                minute.begun_at, minute.recorded = self._clock(), 0
            if minute.recorded == _MOST:
                minute.omitted += 1
                return
            minute.recorded += 1
            omitted, minute.omitted = minute.omitted, 0
        details = {"reason": reason, **({"further refusals not recorded": str(omitted)} if omitted else {})}
        with self._store.transaction() as tx:
            tx.audit.record_act(AuditKind.SIGN_IN_REFUSED, person, address, details)
