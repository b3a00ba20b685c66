"""Answers of a review server are used again for a minute, and few threads ever wait for one."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from threading import Event
from typing import TYPE_CHECKING

import pytest

from service.adapters.access.recent_answers import KEPT_SECONDS, RecentAnswers
from service.adapters.system.circuit_breaker import AT_ONCE, MOST_WAITING, SILENT_SECONDS
from service.domain.review.change import Account
from service.domain.values.errors import BenchgateError, Permanent, Transient
from tests.support.waiting import eventually

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence
    from concurrent.futures import Future

LONG = 20.0  # seconds until a test fails


@dataclass
class Server:
    """A review server with a clock beside it; it answers while ``answers`` is set."""

    error: BenchgateError | None = None
    asked: list[object] = field(default_factory=list)
    answers: Event = field(default_factory=Event)
    now: float = 1000.0

    def __post_init__(self) -> None:
        self.answers.set()

    def account_of(self, email: str) -> Account | None:
        self._ask(email)
        return None if email == "nobody" else Account(email.upper(), email)

    def is_member(self, account: str, group: str) -> bool:
        self._ask((account, group))
        return (account, group) == ("BOB", "testers")

    def visible(self, account: str | None, numbers: Collection[int]) -> frozenset[int]:
        self._ask((account, frozenset(numbers)))
        return frozenset(number for number in numbers if number % 2)

    def can_read(self, account: str | None, project: str, branch: str) -> bool:
        raise NotImplementedError

    def _ask(self, question: object) -> None:
        self.asked.append(question)
        assert self.answers.wait(LONG)
        if self.error is not None:
            raise self.error


@pytest.fixture
def server() -> Server:
    return Server()


@pytest.fixture
def answers(server: Server) -> RecentAnswers:
    return RecentAnswers({"gerrit": server}, lambda: server.now)


@contextmanager
def asking(server: Server, questions: Sequence[Callable[[], object]]) -> Iterator[Sequence[Future[object]]]:
    """Ask from one thread each while the server hangs; it answers at the end."""
    server.answers.clear()
    with ThreadPoolExecutor(len(questions)) as threads:
        try:
            yield [threads.submit(question) for question in questions]
        finally:
            server.answers.set()


@pytest.mark.parametrize("email", ["bob", "nobody"])
def test_a_question_is_asked_once_in_a_minute(server: Server, answers: RecentAnswers, email: str) -> None:
    first = answers.account_of("gerrit", email)
    server.now += KEPT_SECONDS - 1
    assert answers.account_of("gerrit", email) == first
    assert server.asked == [email]
    server.now += 1
    assert answers.account_of("gerrit", email) == first
    assert server.asked == [email, email]


def test_each_question_has_its_own_answer(server: Server, answers: RecentAnswers) -> None:
    for _ in range(2):
        assert answers.account_of("gerrit", "bob") == Account("BOB", "bob")
        assert answers.account_of("gerrit", "nobody") is None
        assert answers.is_member("gerrit", "BOB", "testers")
        assert not answers.is_member("gerrit", "BOB", "owners")
        assert not answers.is_member("gerrit", "EVE", "testers")
    assert len(server.asked) == 5


def test_only_changes_without_an_answer_are_asked_about(server: Server, answers: RecentAnswers) -> None:
    assert answers.visible("gerrit", "BOB", [1, 2]) == {1}
    assert answers.visible("gerrit", "BOB", [1, 2, 3]) == {1, 3}
    assert answers.visible("gerrit", "BOB", []) == frozenset()
    assert server.asked == [("BOB", {1, 2}), ("BOB", {3})]


def test_one_account_number_on_two_servers_is_two_people() -> None:
    """The account BOB of the other server is in no group and sees nothing."""
    core, edge = Server(), Server(Permanent("unknown account"))
    answers = RecentAnswers({"core": core, "edge": edge})
    assert answers.is_member("core", "BOB", "testers")
    assert answers.visible("core", "BOB", [1]) == {1}
    with pytest.raises(Permanent, match="unknown account"):
        answers.is_member("edge", "BOB", "testers")
    assert answers.visible("edge", "BOB", [1]) == frozenset()
    assert edge.asked == [("BOB", "testers"), ("BOB", {1})]


def test_an_unconfigured_server_has_no_answers(answers: RecentAnswers) -> None:
    with pytest.raises(Permanent, match="the review server gone is not configured"):
        answers.account_of("gone", "bob")


def test_a_server_that_did_not_answer_is_asked_nothing_for_some_seconds(
    server: Server, answers: RecentAnswers
) -> None:
    server.error = Transient("down")
    for email in ("bob", "bob", "carol"):
        with pytest.raises(Transient, match="down"):
            answers.account_of("gerrit", email)
    assert answers.visible("gerrit", "BOB", [1]) == frozenset()
    assert server.asked == ["bob"]
    server.error = None
    server.now += SILENT_SECONDS
    assert answers.account_of("gerrit", "carol") == Account("CAROL", "carol")


def test_known_answers_are_used_while_the_server_does_not_answer(
    server: Server, answers: RecentAnswers
) -> None:
    assert answers.visible("gerrit", "BOB", [1]) == {1}
    server.error = Transient("down")
    assert answers.visible("gerrit", "BOB", [1, 3]) == {1}


def test_a_question_that_the_server_refuses_keeps_no_other_from_it(
    server: Server, answers: RecentAnswers
) -> None:
    server.error = Permanent("group owners cannot be read")
    for _ in range(2):
        with pytest.raises(Permanent, match="group owners cannot be read"):
            answers.is_member("gerrit", "BOB", "owners")
    server.error = None
    assert answers.is_member("gerrit", "BOB", "testers")
    server.now += SILENT_SECONDS
    assert not answers.is_member("gerrit", "BOB", "owners")
    assert server.asked == [("BOB", "owners"), ("BOB", "testers"), ("BOB", "owners")]


@pytest.mark.parametrize(("people", "asked_about"), [(1, 1), (40, AT_ONCE)])
def test_a_server_that_hangs_holds_up_a_few_threads(
    server: Server, answers: RecentAnswers, people: int, asked_about: int
) -> None:
    """They ask different questions, or wait for the answer to one."""
    emails = [f"p{number % people}" for number in range(40)]
    with asking(server, [partial(answers.account_of, "gerrit", email) for email in emails]) as asked:
        assert eventually(lambda: sum(each.done() for each in asked) == 40 - AT_ONCE - MOST_WAITING, LONG)
        assert len(server.asked) == asked_about
    refused = [str(error) for each in asked if (error := each.exception(LONG)) is not None]
    assert refused == ["too many requests wait for the review server gerrit"] * (40 - AT_ONCE - MOST_WAITING)
    assert answers.failure() == ""
    assert answers.account_of("gerrit", "p41") == Account("P41", "p41")


def test_a_server_that_works_answers_more_threads_than_have_a_place(
    server: Server, answers: RecentAnswers
) -> None:
    """The others wait for a place, also if the server takes a second for an answer."""
    emails = [f"p{number}" for number in range(AT_ONCE + MOST_WAITING)]
    with asking(server, [partial(answers.account_of, "gerrit", email) for email in emails]) as asked:
        assert not eventually(lambda: any(each.done() for each in asked), 1.0)
        server.answers.set()
        assert [each.result(LONG) for each in asked] == [Account(email.upper(), email) for email in emails]


def test_a_failure_ends_the_waiting_for_a_place(server: Server, answers: RecentAnswers) -> None:
    emails = [f"p{number}" for number in range(AT_ONCE + MOST_WAITING)]
    server.error = Transient("down")
    with asking(server, [partial(answers.account_of, "gerrit", email) for email in emails]) as asked:
        assert eventually(lambda: len(server.asked) == AT_ONCE, LONG)
        server.answers.set()
        assert {str(each.exception(LONG)) for each in asked} == {"down"}
    assert len(server.asked) == AT_ONCE
    assert answers.failure() == "down"
    server.now += SILENT_SECONDS
    assert answers.failure() == "", "the next question shows"


def test_servers_that_hang_together_hold_up_no_more_waiting_threads() -> None:
    core, edge = Server(), Server()
    answers = RecentAnswers({"core": core, "edge": edge})
    questions = [partial(answers.account_of, name, f"p{n}") for n in range(20) for name in ("core", "edge")]
    edge.answers.clear()
    with asking(core, questions) as asked:
        left = 40 - 2 * AT_ONCE - MOST_WAITING
        assert eventually(lambda: sum(each.done() for each in asked) == left, LONG)
        edge.answers.set()


def test_after_a_failure_one_thread_alone_tries_the_server_again(
    server: Server, answers: RecentAnswers
) -> None:
    server.error = Transient("down")
    with pytest.raises(Transient):
        answers.account_of("gerrit", "bob")
    server.now += SILENT_SECONDS
    server.error = None
    with asking(server, [lambda: answers.account_of("gerrit", "bob")]) as (first,):
        assert eventually(lambda: len(server.asked) == 2, LONG)
        for email in ("bob", "carol"):
            with pytest.raises(Transient, match="down"):
                answers.account_of("gerrit", email)
    assert first.result(LONG) == Account("BOB", "bob")
    assert answers.account_of("gerrit", "carol") == Account("CAROL", "carol")


def test_a_hung_server_keeps_nobody_from_another() -> None:
    hung, other = Server(), Server()
    answers = RecentAnswers({"hung": hung, "other": other})
    with asking(hung, [lambda: answers.account_of("hung", "bob")]):
        assert eventually(lambda: bool(hung.asked), LONG)
        assert answers.account_of("other", "bob") == Account("BOB", "bob")


def test_an_error_of_the_program_leaves_no_question_open(server: Server, answers: RecentAnswers) -> None:
    server.error = BenchgateError("nobody foresaw this")
    with pytest.raises(BenchgateError, match="nobody foresaw this"):
        answers.account_of("gerrit", "bob")
    server.error = None
    server.now += SILENT_SECONDS
    assert answers.account_of("gerrit", "bob") == Account("BOB", "bob")


def test_many_answers_push_old_ones_out(server: Server, answers: RecentAnswers) -> None:
    for start in range(0, 50_000, 10_000):
        answers.visible("gerrit", "BOB", range(start, start + 10_000))
    server.asked.clear()
    assert answers.visible("gerrit", "BOB", [1, 49_999]) == {1, 49_999}
    assert server.asked == [("BOB", {1})]
