"""Recent answers of the review servers about accounts: few pages wait for one, and never many at once.

The web server has some 40 threads. Review servers that hang hold up AT_ONCE of them each, and at most
MOST_WAITING more; all others go on without an answer.
"""

from __future__ import annotations

import time
from concurrent.futures import Future
from contextlib import contextmanager
from threading import Condition, Lock, Semaphore
from typing import TYPE_CHECKING, Final, Generic, TypeAlias, TypeVar

import structlog

from service.domain.errors import Permanent, Transient

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping

    from service.domain.gerrit.change import Account
    from service.ports.reviewing import Permissions

_LOG = structlog.get_logger(__name__)
KEPT_SECONDS: Final = 60.0  # a page and those that follow it; rights that are taken away end as soon
SILENT_SECONDS: Final = 15.0  # a server that did not answer is asked again after them
AT_ONCE: Final = 4  # threads that ask one server or wait for it; a tenth of those of the web server
MOST_WAITING: Final = 12  # threads that wait for a place among them, at all servers together
WAITING_SECONDS: Final = 5.0  # as long as a server may take for an answer; a failure ends the waiting
_MOST: Final = 20_000  # answers of one kind in memory, about 5 MB
QuestionT = TypeVar("QuestionT")
AnswerT = TypeVar("AnswerT")
_Failure: TypeAlias = Transient | Permanent


class RecentAnswers:
    """The answers of the last minute about accounts and their rights. Safe to use from several threads.

    All methods raise Transient if the server does not answer now, and Permanent as the server does.

    Args:
        servers: the review servers by instance, with short timeouts.
        clock: monotonic seconds.
    """

    def __init__(
        self, servers: Mapping[str, Permissions], clock: Callable[[], float] = time.monotonic
    ) -> None:
        waiting = Semaphore(MOST_WAITING)
        self._servers = {
            name: _Server(server, _Queue(name, clock, waiting), clock) for name, server in servers.items()
        }

    def account_of(self, instance: str, email: str) -> Account | None:
        """Return the only active account with this preferred e-mail address; None if there is no such one."""
        return _value(self._server(instance).accounts.get([email])[email])

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

    def failure(self) -> str:
        """Return the reason why a server is not asked now; empty if each is."""
        return next(filter(None, (server.queue.failure for server in self._servers.values())), "")

    def _server(self, instance: str) -> _Server:
        if instance not in self._servers:
            raise Permanent(f"the review server {instance} is not configured")
        return self._servers[instance]


class _Server:
    """The answers of one review server."""

    def __init__(self, server: Permissions, queue: _Queue, clock: Callable[[], float]) -> None:
        def accounts(emails: Collection[str]) -> Mapping[str, Account | None]:
            return {email: server.account_of(email) for email in emails}

        def members(questions: Collection[tuple[str, str]]) -> Mapping[tuple[str, str], bool]:
            return {question: server.is_member(*question) for question in questions}

        def visible(questions: Collection[tuple[str, int]]) -> Mapping[tuple[str, int], bool]:
            (account,) = {account for account, _ in questions}
            seen = server.visible(account, {number for _, number in questions})
            return {question: question[1] in seen for question in questions}

        self.queue = queue
        self.accounts = _Answers(queue, accounts, clock)
        self.members = _Answers(queue, members, clock)
        self.visible = _Answers(queue, visible, clock)


class _Queue:
    """The threads that ask one review server: a few, and a single one after it did not answer.

    Args:
        instance: of the server.
        clock: monotonic seconds.
        waiting: the threads that may wait for a place, at all servers together.
    """

    def __init__(self, instance: str, clock: Callable[[], float], waiting: Semaphore) -> None:
        self._instance = instance
        self._clock = clock
        self._seats = waiting
        self._changed = Condition()
        self._waiting = 0
        self._failure = ""
        self._silent_until = 0.0

    @property
    def failure(self) -> str:
        """The reason why the server is not asked now, or empty."""
        with self._changed:
            return self._failure if self._clock() < self._silent_until else ""

    @contextmanager
    def place(self) -> Iterator[str]:
        """Take a place; the value is empty, or the reason why there is none."""
        refusal = self._enter()
        try:
            yield refusal
        finally:
            if not refusal:
                with self._changed:
                    self._waiting -= 1
                    self._changed.notify()

    def record(self, failure: str) -> None:
        """Record the end of a question: the reason why there was no answer, or empty."""
        with self._changed:
            self._failure = failure
            self._silent_until = self._clock() + SILENT_SECONDS
            self._changed.notify_all()
        if failure:
            _LOG.warning("review_server.no_answer", instance=self._instance, error=failure)

    def _enter(self) -> str:
        with self._changed:
            self._wait_for_place()
            if self._failure and (self._waiting or self._clock() < self._silent_until):
                return self._failure
            if self._waiting >= AT_ONCE:
                return f"too many pages wait for the review server {self._instance}"
            self._waiting += 1
            return ""

    def _wait_for_place(self) -> None:
        """Wait while the server works and all places are taken, unless too many threads wait already."""
        if self._failure or self._waiting < AT_ONCE or not self._seats.acquire(blocking=False):
            return
        try:
            self._changed.wait_for(lambda: self._failure or self._waiting < AT_ONCE, WAITING_SECONDS)
        finally:
            self._seats.release()


class _Answers(Generic[QuestionT, AnswerT]):
    """The answers to one kind of questions.

    Args:
        queue: of the server.
        ask: asks the server several questions at once.
        clock: monotonic seconds.
    """

    def __init__(
        self,
        queue: _Queue,
        ask: Callable[[Collection[QuestionT]], Mapping[QuestionT, AnswerT]],
        clock: Callable[[], float],
    ) -> None:
        self._queue = queue
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
        with self._queue.place() as refusal:
            if refusal:
                return {**known, **dict.fromkeys(missing, Transient(refusal))}
            return {**known, **self._wait(missing)}

    def _wait(self, questions: frozenset[QuestionT]) -> Mapping[QuestionT, AnswerT | _Failure]:
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
        failure, seconds = "the question was not asked", KEPT_SECONDS
        try:
            answers, failure = self._ask(questions), ""
        except Permanent as error:
            answers, failure, seconds = dict.fromkeys(questions, error), "", SILENT_SECONDS
        except Transient as error:
            failure = str(error)
        finally:
            self._queue.record(failure)
            with self._lock:
                self._keep(answers, seconds)
                del self._asked[questions]
            asked.set_result(answers or dict.fromkeys(questions, Transient(failure)))

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
        raise Transient(str(answer))
    if isinstance(answer, Permanent):
        raise Permanent(str(answer))
    return answer
