"""Answers of the review server are used again for a minute."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from service.domain.errors import Transient
from service.steps.reviewers.recent_answers import RecentAnswers


@dataclass
class Server:
    """A server with a clock beside it; ``answer`` is an error or None, which is an answer too."""

    answer: Transient | None = None
    now: float = 0.0
    asked: list[str] = field(default_factory=list)

    def ask(self, question: str) -> str | None:
        self.asked.append(question)
        if self.answer is not None:
            raise self.answer
        return None if question == "nobody" else question.upper()


@pytest.fixture
def server() -> Server:
    return Server()


@pytest.fixture
def answers(server: Server) -> RecentAnswers[str, str | None]:
    return RecentAnswers(server.ask, lambda: server.now)


@pytest.mark.parametrize("question", ["bob", "nobody"])
def test_a_question_is_asked_once_in_a_minute(
    server: Server, answers: RecentAnswers[str, str | None], question: str
) -> None:
    first = answers.get(question)
    server.now = 59.0
    assert answers.get(question) == first
    assert server.asked == [question]
    server.now = 60.0
    assert answers.get(question) == first
    assert server.asked == [question, question]


def test_each_question_has_its_own_answer(server: Server, answers: RecentAnswers[str, str | None]) -> None:
    assert [answers.get(name) for name in ("bob", "carol", "bob")] == ["BOB", "CAROL", "BOB"]
    assert server.asked == ["bob", "carol"]


def test_a_failure_is_raised_again_for_some_seconds(
    server: Server, answers: RecentAnswers[str, str | None]
) -> None:
    server.answer = Transient("down")
    for server.now in (0.0, 14.0):
        with pytest.raises(Transient, match="down"):
            answers.get("bob")
    assert server.asked == ["bob"]
    server.answer, server.now = None, 15.0
    assert answers.get("bob") == "BOB"
