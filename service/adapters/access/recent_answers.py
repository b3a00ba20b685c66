"""Recent answers of the review servers about accounts, so that few pages wait for one.

A thread that waits for the answer to another one's question counts like the one that asks.
"""

from __future__ import annotations

import time
from concurrent.futures import Future
from threading import Lock, Semaphore
from typing import TYPE_CHECKING, Final, Generic, TypeAlias, TypeVar

from typing_extensions import override

from service.adapters.system.circuit_breaker import MOST_WAITING, SILENT_SECONDS, CircuitBreaker
from service.domain.values.errors import Permanent, Transient
from service.ports.review.server import AccountRights

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from service.domain.review.change import Account
    from service.ports.review.server import Permissions

KEPT_SECONDS: Final = 60.0  # a page and those that follow it; rights that are taken away end as soon
_MOST: Final = 20_000  # answers of one kind in memory, about 5 MB
QuestionT = TypeVar("QuestionT")
AnswerT = TypeVar("AnswerT")
_Failure: TypeAlias = Transient | Permanent


class RecentAnswers(AccountRights):
    """The answers of the last minute about accounts and their rights. Safe to use from several threads.

    All methods raise Transient if the server does not answer now, and Permanent as the server does.

    Args:
        servers: the review servers by instance, with short timeouts.
        clock: monotonic seconds.
        waiting: admits the threads that wait until they may ask a server; None: they share it with no others.
    """

    def __init__(
        self,
        servers: Mapping[str, Permissions],
        clock: Callable[[], float] = time.monotonic,
        waiting: Semaphore | None = None,
    ) -> None:
        waiting = waiting or Semaphore(MOST_WAITING)
        self._servers = {
            name: _Server(server, CircuitBreaker(f"the review server {name}", waiting, clock=clock), clock)
            for name, server in servers.items()
        }

    @override
    def account_of(self, instance: str, email: str) -> Account | None:
        """Return the only active account with this preferred e-mail address; None if there is no such one."""
        return _value(self._server(instance).accounts.get([email])[email])

    @override
    def is_member(self, instance: str, account: str, group: str) -> bool:
        """Return whether an account is in a group; raises Permanent if the group cannot be read."""
        question = (account, group)
        return _value(self._server(instance).members.get([question])[question])

    def visible(self, instance: str, account: str, numbers: Collection[int]) -> frozenset[int]:
        """Return which changes an account is known to see; without an answer, a change is not among them."""
        return frozenset(
            number for number, answer in self.sight(instance, account, numbers).items() if answer
        )

    def sight(self, instance: str, account: str, numbers: Collection[int]) -> Mapping[int, bool | None]:
        """Return whether an account sees each change; None: the server does not answer now."""
        answers = self._server(instance).visible.get([(account, number) for number in numbers])
        return {
            number: None if isinstance(answer, Transient) else answer is True
            for (_, number), answer in answers.items()
        }

    def failure(self, instance: str | None = None) -> str:
        """Return the reason why a server (None: any) is not asked now; empty if there is none."""
        servers = (server for name, server in self._servers.items() if instance in {None, name})
        return next(filter(None, (server.breaker.failure for server in servers)), "")

    def _server(self, instance: str) -> _Server:
        if instance not in self._servers:
            raise Permanent(f"the review server {instance} is not configured")
        return self._servers[instance]


class _Server:
    """The answers of one review server."""

    def __init__(self, server: Permissions, breaker: CircuitBreaker, clock: Callable[[], float]) -> None:
        def accounts(emails: Collection[str]) -> Mapping[str, Account | None]:
            return {email: server.account_of(email) for email in emails}

        def members(questions: Collection[tuple[str, str]]) -> Mapping[tuple[str, str], bool]:
            return {question: server.is_member(*question) for question in questions}

        def visible(questions: Collection[tuple[str, int]]) -> Mapping[tuple[str, int], bool]:
            (account,) = {account for account, _ in questions}
            seen = server.visible(account, {number for _, number in questions})
            return {question: question[1] in seen for question in questions}

        self.breaker = breaker
        self.accounts = _Answers(breaker, accounts, clock)
        self.members = _Answers(breaker, members, clock)
        self.visible = _Answers(breaker, visible, clock)


class _Answers(Generic[QuestionT, AnswerT]):
    """The answers to one kind of questions.

    Args:
        breaker: for the calls to the server.
        ask: asks the server several questions at once.
        clock: monotonic seconds.
    """

    def __init__(
        self,
        breaker: CircuitBreaker,
        ask: Callable[[Collection[QuestionT]], Mapping[QuestionT, AnswerT]],
        clock: Callable[[], float],
    ) -> None:
        self._breaker = breaker
        self._ask = ask
        self._clock = clock
        self._lock = Lock()
        self._kept: dict[QuestionT, tuple[float, AnswerT | _Failure]] = {}
        self._asked: dict[frozenset[QuestionT], Future[Mapping[QuestionT, AnswerT | _Failure]]] = {}

    def get(self, questions: Collection[QuestionT]) -> Mapping[QuestionT, AnswerT | _Failure]:
        """Return an answer, or the reason why there is none, to each question."""
        with self._lock:
            known = self._find(questions)
        missing = frozenset(questions).difference(known)
        if not missing:
            return known
        try:
            return {**known, **self._breaker.run(lambda: self._ask_once(missing))}
        except Transient as error:
            failure = Transient(str(error), error.retry_after)
            return {**known, **dict.fromkeys(missing, failure)}

    def _ask_once(self, questions: frozenset[QuestionT]) -> Mapping[QuestionT, AnswerT | _Failure]:
        """Ask, or wait for the thread that asks the same."""
        with self._lock:
            known = self._find(questions)  # another thread may have asked meanwhile
            missing = questions.difference(known)
            if not missing:
                return known
            asked = self._asked.get(missing)
            is_first = asked is None
            if asked is None:
                asked = self._asked[missing] = Future()
        if is_first:
            self._answer(missing, asked)
        return {**known, **asked.result()}

    def _answer(
        self, questions: frozenset[QuestionT], asked: Future[Mapping[QuestionT, AnswerT | _Failure]]
    ) -> None:
        answers: Mapping[QuestionT, AnswerT | _Failure] = {}
        seconds = KEPT_SECONDS
        try:
            answers = self._ask(questions)
        except Permanent as error:
            answers, seconds = dict.fromkeys(questions, error), SILENT_SECONDS
        except BaseException as error:  # noqa: BLE001 - the threads that wait get it
            asked.set_exception(error)
        with self._lock:
            self._keep(answers, seconds)
            del self._asked[questions]
        if not asked.done():
            asked.set_result(answers)

    def _find(self, questions: Collection[QuestionT]) -> dict[QuestionT, AnswerT | _Failure]:
        now = self._clock()
        found = ((question, self._kept.get(question)) for question in questions)
        return {question: kept[1] for question, kept in found if kept is not None and now < kept[0]}

    def _keep(self, answers: Mapping[QuestionT, AnswerT | _Failure], seconds: float) -> None:
        """Keep answers; if they become too many, the old ones go, and then all."""
        now = self._clock()
        if len(self._kept) + len(answers) > _MOST:
            self._kept = {question: kept for question, kept in self._kept.items() if kept[0] > now}
        if len(self._kept) + len(answers) > _MOST:
            self._kept.clear()
        self._kept |= {question: (now + seconds, answer) for question, answer in answers.items()}


def _value(answer: AnswerT | _Failure) -> AnswerT:
    """Return an answer, or raise a new error like the kept one, which several threads may have."""
    if isinstance(answer, Transient):
        raise Transient(str(answer), answer.retry_after)
    if isinstance(answer, Permanent):
        raise Permanent(str(answer))
    return answer
