"""People and programs as viewers: the review server says what their account sees.

Benchgate asks only about what is not public. If the review server does not answer, a viewer sees what is
public, and what recent answers cover. For anything else they get an error instead of "not found".
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import structlog

from service.adapters.system.circuit_breaker import SILENT_SECONDS
from service.domain.access.caller import Anonymous
from service.domain.values.errors import Permanent, Transient
from service.domain.values.identity import ChangeKey
from service.domain.wording.refusals import SIGHT_UNKNOWN
from service.ports.reading import Viewer

if TYPE_CHECKING:
    from collections.abc import Collection

    from service.adapters.access.recent_answers import RecentAnswers
    from service.domain.access.caller import Caller

_LOG = structlog.get_logger(__name__)


class Viewers:
    """The viewers that callers are. Safe to use from several threads.

    Args:
        answers: of the review servers.
    """

    def __init__(self, answers: RecentAnswers) -> None:
        self._answers = answers

    def of(self, caller: Caller) -> Viewer | None:
        """Return the viewer that a caller is; None if they see what is public only.

        They are linked to an account by a verified address, and a program by that of its token's creator.
        """
        if isinstance(caller, Anonymous) or not caller.email:
            return None
        return _AccountViewer(self._answers, caller.email)


@dataclass(frozen=True, slots=True)
class _AccountViewer(Viewer):
    """A person or program with this e-mail address on the review servers."""

    answers: RecentAnswers
    email: str
    unanswered: set[str] = field(default_factory=set)  # the review servers that did not say what it sees

    def sees(self, changes: Collection[ChangeKey]) -> frozenset[ChangeKey]:
        return frozenset(
            ChangeKey(instance, number)
            for instance in sorted({key.instance for key in changes})
            for number in self._seen(instance, {key.number for key in changes if key.instance == instance})
        )

    def require_answers(self, instance: str | None = None) -> None:
        silent = self.unanswered if instance is None else self.unanswered & {instance}
        if silent or self.answers.failure(instance):
            raise Transient(SIGHT_UNKNOWN, SILENT_SECONDS)

    def _seen(self, instance: str, numbers: Collection[int]) -> frozenset[int]:
        try:
            account = self.answers.account_of(instance, self.email)
            sight = self.answers.sight(instance, account.id, numbers) if account else {}
        except (Transient, Permanent) as error:
            _LOG.info("visibility.not_asked", instance=instance, changes=len(numbers), error=str(error))
            if isinstance(error, Transient):
                self.unanswered.add(instance)
            return frozenset()
        if None in sight.values():
            self.unanswered.add(instance)
        return frozenset(number for number, is_seen in sight.items() if is_seen)
