"""Recent answers of the review server, so that each page need not ask it again."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from service.domain.errors import BenchgateError

if TYPE_CHECKING:
    from collections.abc import Callable

Q = TypeVar("Q")
A = TypeVar("A")
_SECONDS: Final = 60.0  # pages may offer by an older group; a command itself is checked anew when it runs
_SECONDS_OF_FAILURE: Final = 15.0  # a server that does not answer must not hold up each page
_MOST: Final = 10_000  # answers; far more than people act in a minute


class RecentAnswers(Generic[Q, A]):
    """The answers to questions of the last minute, and the failures of the last seconds.

    Args:
        ask: asks the review server.
        clock: never goes back.
    """

    def __init__(self, ask: Callable[[Q], A], clock: Callable[[], float] = time.monotonic) -> None:
        self._ask = ask
        self._clock = clock
        self._lock = threading.Lock()
        self._known: dict[Q, tuple[float, A | BenchgateError]] = {}

    def get(self, question: Q) -> A:
        """Return the answer; raises as the review server does."""
        with self._lock:
            known = self._known.get(question)
        if known is None or self._clock() >= known[0]:
            known = self._ask_anew(question)  # without the lock, because it may take seconds
            with self._lock:
                if len(self._known) >= _MOST:
                    self._known.clear()
                self._known[question] = known
        answer = known[1]
        if isinstance(answer, BenchgateError):
            raise answer.with_traceback(None)
        return answer

    def _ask_anew(self, question: Q) -> tuple[float, A | BenchgateError]:
        try:
            return self._clock() + _SECONDS, self._ask(question)
        except BenchgateError as error:
            return self._clock() + _SECONDS_OF_FAILURE, error
