"""People and programs as viewers: the review server says what their account sees, and its answers are kept.

Benchgate asks about what is not public only. If the review server does not answer, a viewer sees what is
public, and the server is left alone for a while, so that no page waits for it again.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Final, Generic, TypeVar

import structlog

from service.domain.access.caller import Anonymous
from service.domain.errors import Permanent, Transient
from service.ports.reading import Viewer

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from service.domain.access.caller import Caller
    from service.domain.gerrit.change import Account
    from service.domain.identity import ChangeKey
    from service.ports.reviewing import Permissions

_LOG = structlog.get_logger(__name__)
KEPT_SECONDS: Final = 60.0  # a page and those that follow it; rights that are taken away end as soon
SILENT_SECONDS: Final = 15.0  # a server that did not answer is asked again after them
_MOST: Final = 20_000  # answers in memory, about 5 MB
KeyT = TypeVar("KeyT")
ValueT = TypeVar("ValueT")


class Viewers:
    """The viewers that callers are. Safe to use from several threads.

    Args:
        servers: the review servers by instance.
        clock: monotonic seconds.
    """

    def __init__(
        self, servers: Mapping[str, Permissions], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._servers = servers
        self._accounts: _Answers[tuple[str, str], Account | None] = _Answers(clock)
        self._visible: _Answers[tuple[str, ChangeKey], bool] = _Answers(clock)
        self._silent: _Answers[str, bool] = _Answers(clock)

    def of(self, caller: Caller) -> Viewer | None:
        """Return the viewer that a caller is; None if they see what is public only.

        They are linked to an account by a verified address, and a program by that of its token's creator.
        """
        if isinstance(caller, Anonymous) or not caller.email:
            return None
        return _AccountViewer(self, caller.email)

    def sees(self, email: str, changes: Collection[ChangeKey]) -> frozenset[ChangeKey]:
        """Return which changes the person with an address sees."""
        known = {key: self._visible.find((email, key)) for key in changes}
        unknown = [key for key, answer in known.items() if answer is None]
        for instance in sorted({key.instance for key in unknown}):
            asked = [key for key in unknown if key.instance == instance]
            known |= self._ask(instance, email, asked)
        return frozenset(key for key, answer in known.items() if answer)

    def _ask(self, instance: str, email: str, asked: Collection[ChangeKey]) -> Mapping[ChangeKey, bool]:
        """Ask a server; the result is empty if it is not served any more, or does not answer."""
        server = self._servers.get(instance)
        if server is None or self._silent.find(instance):
            return {}
        try:
            account = self._account(server, instance, email)
            seen = server.visible(account.id, {key.number for key in asked}) if account else frozenset()
        except (Transient, Permanent) as error:
            _LOG.warning("visibility.not_asked", instance=instance, changes=len(asked), error=str(error))
            self._silent.keep({instance: True}, SILENT_SECONDS)
            return {}
        answers = {key: key.number in seen for key in asked}
        self._visible.keep({(email, key): answer for key, answer in answers.items()}, KEPT_SECONDS)
        return answers

    def _account(self, server: Permissions, instance: str, email: str) -> Account | None:
        known = self._accounts.find((instance, email))
        if known is not None:
            return known
        account = server.account_of(email)
        if account is not None:
            self._accounts.keep({(instance, email): account}, KEPT_SECONDS)
        return account


@dataclass(frozen=True, slots=True)
class _AccountViewer(Viewer):
    """A person or program whose account on the review servers has this address."""

    viewers: Viewers
    email: str

    def sees(self, changes: Collection[ChangeKey]) -> frozenset[ChangeKey]:
        return self.viewers.sees(self.email, changes)


class _Answers(Generic[KeyT, ValueT]):
    """Answers that are kept for a while."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._lock = Lock()
        self._kept: dict[KeyT, tuple[float, ValueT]] = {}

    def find(self, key: KeyT) -> ValueT | None:
        """Return an answer; None if there is none any more."""
        with self._lock:
            ends, answer = self._kept.get(key, (0.0, None))
        return answer if self._clock() < ends else None

    def keep(self, answers: Mapping[KeyT, ValueT], seconds: float) -> None:
        """Keep answers; if they become too many, the old ones go, and then all."""
        now = self._clock()
        with self._lock:
            if len(self._kept) + len(answers) > _MOST:
                self._kept = {key: kept for key, kept in self._kept.items() if kept[0] > now}
            if len(self._kept) + len(answers) > _MOST:
                self._kept.clear()
            self._kept |= {key: (now + seconds, answer) for key, answer in answers.items()}
